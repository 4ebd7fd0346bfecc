/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.h: the poll loop, replies that found no room, and how a rank waits.
 *
 * A port is a link with what the engine keeps beside it. Polling a port: try its poll lock, send
 * what its backlog holds, poll the link. While the backlog holds a reply the link is polled without
 * the REQUEST lane, so a backlog never grows beyond what one poll produced and nobody blocks in a
 * handler.
 *
 * Waiting: enough cores for all polling threads of the host: spin, then yield, then sleep late;
 * oversubscribed: never spin, yield at once, sleep soon. A sleeper is woken by whoever sends to it. */
#ifndef PEN_PROGRESS_PROGRESS_H
#define PEN_PROGRESS_PROGRESS_H

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "os/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { PEN_PORTS_MAX = 4, PEN_SOURCES_MAX = 4, PEN_POLL_BUDGET = 32 };

typedef struct pen_backlog_entry pen_backlog_entry;

typedef struct pen_port {
    pen_link *link;
    pen_lock post_lock; /* round post, put, get, reserve..; unused when the link is thread-safe */
    pen_backlog_entry *backlog_first, *backlog_last; /* guarded by backlog_lock */
    _Atomic uint32_t backlog_count; /* read without the lock by the poll loop */
    pen_lock backlog_lock;
    PEN_CACHE_ALIGNED pen_lock poll_lock; /* try-locked round poll */
} pen_port;

/* Where this rank sleeps and how it learns how crowded the host is; words in the host page. */
typedef struct pen_sleeper {
    _Atomic uint32_t *sleeping, *wake; /* ours */
    _Atomic uint32_t *polling_total;   /* the host's polling threads */
    _Atomic uint64_t *progress;        /* ours, for the launcher's report; NULL: none */
    uint32_t cores;
} pen_sleeper;

/* GASNET_WAIT_...: what the client asked for with gasnet_set_waitmode. */
typedef enum pen_wait_mode { PEN_WAIT_SPIN, PEN_WAIT_BLOCK, PEN_WAIT_SPINBLOCK } pen_wait_mode;

/* Progress that no link reports: barriers through flag lines, gets by messages whose next piece found no
 * room. poll answers how many events it handled; it may post, and neither polls nor runs handlers. */
typedef struct pen_progress_source {
    unsigned (*poll)(void *ctx);
    void *ctx;
} pen_progress_source;

typedef struct pen_progress {
    pen_port ports[PEN_PORTS_MAX];
    uint32_t port_count;
    pen_concurrency concurrency;
    pen_wait_mode wait_mode;
    pen_sleeper sleeper;
    pen_counters *counters;
    pen_progress_source sources[PEN_SOURCES_MAX];
    uint32_t source_count;
    _Atomic uint32_t source_work; /* what waits for a source; 0: poll calls none. relaxed: a hint, the
                                     sources have locks or flags of their own */
    bool membarrier; /* the kernel grants the sleeper's half of the fence */
    bool may_sleep;  /* PENSTOCK_WAIT_SLEEP */
    uint64_t spin_ns, sleep_after_ns; /* the policy's limits, from knobs */
} pen_progress;

extern const pen_knob pen_progress_knobs[];
typedef struct pen_progress_config {
    double spin_s, sleep_after_s;
    bool sleep;
} pen_progress_config;

void pen_progress_init(pen_progress *progress, pen_concurrency concurrency,
                       const pen_progress_config *config, const pen_sleeper *sleeper,
                       pen_counters *counters);
pen_port *pen_progress_add(pen_progress *progress, pen_link *link); /* not thread-safe */
void pen_progress_close(pen_progress *progress); /* frees backlogs; links stay the caller's */

/* Not thread-safe: after pen_progress_init, before the first wait. */
static inline void pen_progress_add_source(pen_progress *progress, unsigned (*poll)(void *ctx),
                                           void *ctx)
{
    PEN_INVARIANT(progress->source_count < PEN_SOURCES_MAX);
    progress->sources[progress->source_count++] = (pen_progress_source){ poll, ctx };
}

/* Every pen_progress_poll ends with this; so does the last look before a rank sleeps. */
static inline unsigned pen_progress_poll_sources(pen_progress *progress)
{
    unsigned handled = 0;
    if (pen_likely(atomic_load_explicit(&progress->source_work, memory_order_relaxed) == 0))
        return 0;
    for (uint32_t i = 0; i < progress->source_count; i++)
        handled += progress->sources[i].poll(progress->sources[i].ctx);
    return handled;
}

/* Serves every port once; answers how many events were handled. Runs handlers. Never sleeps. Not
 * from a handler. */
unsigned pen_progress_poll(pen_progress *progress);

/* Posts under the port's lock. AGAIN is the caller's to deal with. */
static inline pen_post pen_port_post(pen_port *port, pen_peer to, pen_lane lane,
                                     const pen_frame *frame, pen_op *op)
{
    pen_lock_take(&port->post_lock);
    pen_post result = port->link->ops->post(port->link, to, lane, frame, op);
    pen_lock_drop(&port->post_lock);
    return result;
}

/* A reply or control frame that may not wait and may not fail: posts it, or copies it to the backlog.
 * PEN_ERR_MEMORY when there is no memory for the copy, PEN_ERR_PEER_LOST when the peer is gone. */
pen_status pen_port_post_or_queue(pen_port *port, pen_counters *counters, pen_peer to, pen_lane lane,
                                  const pen_frame *frame);

/* ---- waiting -------------------------------------------------------------------------------- */

typedef struct pen_waiter {
    pen_progress *progress;
    uint64_t since_ns;  /* when the fruitless polls began; 0: not taken yet */
    uint32_t fruitless; /* polls in a row that found nothing */
    uint32_t yields;
    bool may_sleep; /* false where memory may change without anybody waking us (BLOCKUNTIL) */
} pen_waiter;

static inline pen_waiter pen_waiter_of(pen_progress *progress, bool may_sleep)
{
    return (pen_waiter){ .progress = progress, .may_sleep = may_sleep };
}

PEN_COLD void pen_wait_idle(pen_waiter *waiter); /* after a fruitless poll, beyond the first spins */

/* Polls once, and gives the core away as the policy says when there was nothing to do. The caller
 * loops: while (!done) pen_wait_step(&waiter). */
static inline void pen_wait_step(pen_waiter *waiter)
{
    if (pen_progress_poll(waiter->progress) != 0) {
        waiter->fruitless = 0;
        waiter->yields = 0;
        waiter->since_ns = 0;
    } else {
        pen_wait_idle(waiter);
    }
}

#endif
