/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.h: checked builds: the operations that a client has begun and not synchronised yet, and
 * conflicts of a new operation with them.
 *
 * A client may not rely on an operation before it has synchronised it, even if its bytes have
 * arrived. So an operation is outstanding until then, also when a copy in shared memory moved the
 * bytes at once: its event is a real one. Each outstanding operation keeps its call, its thread and
 * the two ranges of memory that it uses. If two operations use a range at once, and one of them
 * writes, that is reported, as is a source that was written meanwhile. An operation that does the
 * same as an outstanding one, byte for byte, is legal: memory is the same whichever comes last.
 *
 * api/ asks before it begins an operation and reports afterwards; rma/ ends records when events and
 * implicit operations are synchronised. One lock guards everything. On a mistake the job ends with
 * a line that names the call, the argument and the rule. */
#ifndef PEN_RMA_WATCH_H
#define PEN_RMA_WATCH_H

#include "base/status.h"
#include "job/job.h"
#include "job/thread.h"
#include "rma/rma.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_watched pen_watched; /* one outstanding operation */

typedef enum pen_watch_kind {
    PEN_WATCH_PUT,    /* writes remote memory, reads local memory */
    PEN_WATCH_GET,    /* reads remote memory, writes local memory */
    PEN_WATCH_ATOMIC, /* changes remote memory, as other atomics may at the same time; writes local
                         memory if it fetches */
    PEN_WATCH_OTHER,  /* ranges are unknown; only its synchronisation is watched */
} pen_watch_kind;

typedef struct pen_watch_call {
    const char *name; /* name of the call; a static string */
    pen_thread *thread;
    pen_watch_kind kind;
    uint32_t jobrank;   /* rank of the remote memory */
    const void *remote; /* an address of that rank */
    const void *local;  /* NULL: no local memory, as when a byte is put */
    size_t len;
    pen_local when;     /* PUT: until when the source is in use */
    bool of_one_thread; /* a GASNet-1 handle: only the thread that began it may synchronise it */
    uint64_t content;   /* PUT without local memory: a value that identifies the bytes; otherwise
                           pen_watch_begin sets it */
    bool repeats;       /* set by pen_watch_begin: it does the same as an outstanding one */
} pen_watch_call;

pen_status pen_watch_open(pen_job *job); /* for pen_rma_open; does nothing in other builds */
void pen_watch_close(pen_job *job);

/* Call before the operation, also before a blocking one: if any memory it uses is in use, ends the
 * job. */
void pen_watch_begin(pen_watch_call *call);

/* Call after the operation. Returns the event to give to the client, which is never DONE; NO_OP
 * stays NO_OP. leaf (may be NULL): becomes the leaf for the client. */
pen_event *pen_watch_event(const pen_watch_call *call, pen_event *event, pen_event **leaf);
/* Call after an implicit operation of this category (PEN_EC_...), in an access region or not. */
void pen_watch_implicit(const pen_watch_call *call, uint32_t category);

/* Returns the record that an event stands for, or NULL. */
const pen_watched *pen_watch_of(const pen_event *event);
/* Checks that this thread may synchronise the event; ends the job if not. call: the call that does.
 */
void pen_watch_check_thread(const char *call, const pen_thread *thread, const pen_event *event);

/* ---- called where operations end (rma/) ------------------------------------------------------ */

void pen_watch_end(pen_watched *watched);        /* the event was given back */
void pen_watch_source_end(pen_watched *watched); /* the leaf is synchronised */
bool pen_watch_keeps_source(
    pen_watched *watched); /* the event was not synchronised, though it may be done */
void pen_watch_implicit_end(pen_thread *thread,
                            uint32_t categories); /* the categories are synchronised */
/* Ends the thread's access region: its operations belong to event from now on. Returns the event to
 * give to the client. */
pen_event *pen_watch_region_end(pen_thread *thread, pen_event *event);

/* ---- the end of the job ---------------------------------------------------------------------- */

/* Prints a line for each call whose operations are outstanding, of this thread and of ended
 * threads. Returns the number of lines. what: for example "the job ends". */
unsigned pen_watch_report(pen_thread *thread, const char *what);
/* Prints these lines for a thread that ends, whose implicit operations cannot be synchronised any
 * more. */
unsigned pen_watch_report_implicit(pen_thread *thread, const char *what);

#endif
