/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_internal.h: shared by the files of rma/: events and their pools, a thread's implicit sets,
 * transfers by messages. */
#ifndef PEN_RMA_RMA_INTERNAL_H
#define PEN_RMA_RMA_INTERNAL_H

#include "base/compiler.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/job.h"
#include "job/thread.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "reach/reach.h"
#include "rma/rma.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- events ---------------------------------------------------------------------------------- */

/* An event has a cache line, so that the low bits of a handle are free. Bit 0 marks a leaf. Bits
 * 1..5 carry the generation, by which a handle that was synchronised before is recognised. */
enum { EVENT_LEAF_BIT = 1u, EVENT_GENERATION_SHIFT = 1, EVENT_GENERATIONS = 32, EVENT_ALIGN = 64 };

typedef struct pen_event_pool pen_event_pool;

/* The object that a pen_event handle names. */
typedef struct pen_event_root {
    pen_op op;
    pen_event_pool *pool;        /* the pool it returns to */
    struct pen_event_root *next; /* next in a free list */
    pen_op *parent;              /* for a child: the operation it is a part of, else NULL */
    struct pen_watched *watched; /* checked builds: the client's operation, or NULL */
    uint32_t generation; /* 0..EVENT_GENERATIONS - 1; the thread that frees the event changes it */
    bool claimed;        /* the array call that found it done will free it */
    uint16_t traced;     /* number of the put or get in a trace; 0: none */
} __attribute__((aligned(EVENT_ALIGN))) pen_event_root;

/* An event is a line, and its pool's slabs are made of lines. */
_Static_assert(sizeof(pen_event_root) == EVENT_ALIGN, "the low bits of a handle are free");

typedef struct pen_event_slab pen_event_slab;

/* One thread takes events from it; any thread returns them. */
struct pen_event_pool {
    pen_job *job;
    pen_event_root *free;                /* only the owner uses it */
    _Atomic(pen_event_root *) returned;  /* pushed by any thread, taken whole by the owner */
    _Atomic(pen_event_slab *) slabs;     /* pushed by the owner; freed when the job is closed */
    _Atomic(pen_event_slab *) looked_at; /* slab in which the last check found an event */
};

void pen_event_pool_close(pen_event_pool *pool);
pen_event_root *pen_event_take(pen_event_pool *pool); /* incomplete 1, source_busy 0 */
void pen_event_give(pen_event_root *root);

static inline pen_event *pen_event_handle(const pen_event_root *root)
{
    return (pen_event *)((uintptr_t)root | (uintptr_t)root->generation << EVENT_GENERATION_SHIFT);
}

/* Take apart a handle that stands for an event. */
static inline pen_event_root *pen_event_root_of(const pen_event *event)
{
    PEN_INVARIANT(event != PEN_EVENT_NO_OP); /* GEX_EVENT_NO_OP stands for no operation */
    return (pen_event_root *)((uintptr_t)event & ~(uintptr_t)(EVENT_ALIGN - 1));
}

static inline bool pen_event_is_leaf(const pen_event *event)
{
    return ((uintptr_t)event & EVENT_LEAF_BIT) != 0;
}

static inline pen_event *pen_event_leaf_handle(const pen_event *event)
{
    return (pen_event *)((uintptr_t)event | EVENT_LEAF_BIT);
}

/* Finishes the start of a new operation: makes its leaf, and drops the caller's own count. If
 * everything is over already, frees the event and returns DONE. */
pen_event *pen_event_settle(pen_event_root *root, pen_event **leaf);

/* ---- a thread's part ------------------------------------------------------------------------- */

struct pen_rma_thread {
    pen_event_pool pool;
    pen_op get, put, rmw; /* implicit operations outside an access region */
    pen_event_root
        *region; /* event of the open access region; NULL: every operation in it was done at once */
    bool region_open;
    /* Checked builds: implicit operations, and those of the region; the watch's lock guards them.
     */
    struct pen_watched *watched, *region_watched;
};

typedef struct pen_rma_thread pen_rma_thread;

pen_rma_thread *pen_rma_thread_of(pen_thread *thread); /* made on first use */

/* rma_trace.c. For jobs that are traced: writes a put, get or memset that began at `at`; number 0:
 * it is complete, or implicit. Writes that the program has found a put or get complete. Returns a
 * number for an event. */
struct rma_call;
PEN_COLD void pen_rma_trace(const struct rma_call *call, uint64_t at, bool under_way,
                            uint16_t number);
PEN_COLD void pen_rma_trace_done(const pen_event_root *root);
PEN_COLD uint16_t pen_rma_trace_number(pen_job *job);

/* ---- operations ------------------------------------------------------------------------------ */

typedef enum rma_kind { RMA_PUT, RMA_GET, RMA_SET } rma_kind;

/* One call of the client. */
typedef struct rma_call {
    pen_thread *thread;
    pen_reach_ask ask; /* both sides. PUT: local is only read; SET: it is NULL */
    rma_kind kind;
    int value; /* SET */
    pen_local when;
    bool immediate;
    bool blocking;
} rma_call;

/* Describes a wait of the call, for reports. */
static inline pen_wait pen_rma_wait_for(const rma_call *call, pen_awaited awaited)
{
    pen_call name = call->kind == RMA_GET   ? PEN_CALL_GET
                    : call->kind == RMA_PUT ? PEN_CALL_PUT
                                            : PEN_CALL_SET;
    return pen_wait_for(name, awaited, call->ask.jobrank, NULL);
}

/* Starts a transfer by messages, and raises op for it. Returns false if immediate found no room;
 * then nothing happened. */
bool pen_rma_by_messages(const rma_call *call, uint32_t segment, uint64_t offset, pen_op *op);

PEN_COLD _Noreturn void pen_rma_refuse(pen_job *job, rma_kind kind, uint32_t jobrank,
                                       uint16_t ep_index, const void *remote, size_t len);

/* ---- the job's part -------------------------------------------------------------------------- */

typedef struct rma_transfer rma_transfer; /* rma_message.c */

typedef struct pen_rma {
    struct pen_watch *watch; /* checked builds: outstanding operations; else NULL */
    pen_lock lock;           /* guards everything below */
    char *staging;           /* piece_len bytes between a device and a frame; made on first use */
    rma_transfer *transfers; /* the table: answers name an entry by number and generation */
    uint32_t transfer_count, transfer_free; /* first free entry, or UINT32_MAX */
    uint32_t stalled_first, stalled_last;   /* gets with pieces not yet requested, or UINT32_MAX */
    uint32_t piece_len;                     /* longest piece of a put or get: what fits a frame */
    uint32_t window;                        /* pieces of one get in flight */
} pen_rma;

void pen_rma_messages_open(pen_job *job);

#endif
