/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h: the state of a client thread. */
#ifndef PEN_JOB_THREAD_H
#define PEN_JOB_THREAD_H

#include "progress/progress.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pen_job pen_job;

/* The state of a client thread: implicit operations, event pool, position in handlers. SEQ and
 * PARSYNC use the job's first one. In PAR, api/ finds it through a thread-local pointer. */
typedef struct pen_thread {
    pen_job *job;
    struct pen_thread *next;          /* all threads of the job; guarded by threads_lock */
    struct pen_rma_thread *rma;       /* rma/'s part; made on first use */
    struct pen_vis_peer *vis;         /* vis/'s part; made on first use */
    struct pen_source_desc *prepared; /* am/'s part: its negotiated message; made on first use */
    pen_poller poller;                /* progress/'s part: the client's own polls */
    pen_wait block;                   /* api/'s part: the current GASNET_BLOCKUNTIL */
    uint32_t handler_depth;           /* > 0: inside a handler */
    const void *handler_token;        /* checked builds: the innermost pen_token */
    bool handler_is_request;          /* the kind of the innermost handler */
    bool in_use; /* false: the thread has ended; the next new thread reuses this */
} pen_thread;

/* Returns a thread's state. SEQ and PARSYNC: always the first. PAR: an unused or a new one,
 * owned by the caller until it closes it. Returns NULL if GASNET_MAX_THREADS threads are live.
 * If there is no memory, ends the job. */
pen_thread *pen_job_thread_open(pen_job *job);
void pen_job_thread_close(pen_thread *thread);

#endif
