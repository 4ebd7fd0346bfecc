/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_internal.h: what rma/'s files share: events and their pools, a thread's implicit sets,
 * transfers by messages. */
#ifndef PEN_RMA_RMA_INTERNAL_H
#define PEN_RMA_RMA_INTERNAL_H

#include "rma/rma.h"

/* ---- events ---------------------------------------------------------------------------------- */

/* A line each, so that the low bits of a handle are free: bit 0 marks a leaf, bits 1..5 carry the
 * generation by which a handle that was synchronised before is recognised. */
enum { EVENT_LEAF_BIT = 1u, EVENT_GENERATION_SHIFT = 1, EVENT_GENERATIONS = 32, EVENT_ALIGN = 64 };

typedef struct pen_event_pool pen_event_pool;

/* What a pen_event handle names. */
typedef struct pen_event_root {
    pen_op op;
    pen_event_pool *pool;        /* where it goes back to */
    struct pen_event_root *next; /* of a free list */
    pen_op *parent;              /* of a child: the operation it is a part of, else NULL */
    struct pen_watched *watched; /* checked builds: what the client knows it as; NULL: nothing */
    uint32_t generation;         /* 0..EVENT_GENERATIONS - 1; changed by whoever frees the event */
    bool claimed;                /* found done by the array call that will free it */
} __attribute__((aligned(EVENT_ALIGN))) pen_event_root;

/* An event is a line, and its pool's slabs are made of lines. */
_Static_assert(sizeof(pen_event_root) == EVENT_ALIGN, "the low bits of a handle are free");

typedef struct pen_event_slab pen_event_slab;

/* One thread takes events from it, any thread gives them back. */
struct pen_event_pool {
    pen_job *job;
    pen_event_root *free;                /* the owner's alone */
    _Atomic(pen_event_root *) returned;  /* pushed by any thread, taken whole by the owner */
    _Atomic(pen_event_slab *) slabs;     /* pushed by the owner; freed when the job is closed */
    _Atomic(pen_event_slab *) looked_at; /* that the last check found an event in */
};

void pen_event_pool_close(pen_event_pool *pool);
pen_event_root *pen_event_take(pen_event_pool *pool); /* incomplete 1, source_busy 0 */
void pen_event_give(pen_event_root *root);

static inline pen_event *pen_event_handle(const pen_event_root *root)
{
    return (pen_event *)((uintptr_t)root | (uintptr_t)root->generation << EVENT_GENERATION_SHIFT);
}

/* A handle's parts, for handles that stand for an event. */
static inline pen_event_root *pen_event_root_of(const pen_event *event)
{
    PEN_INVARIANT(event != PEN_EVENT_NO_OP); /* GEX_EVENT_NO_OP stands for no operation at all */
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

/* The event of a new operation that has been started: its leaf, and the caller's own count dropped.
 * DONE, and the event freed, when everything is over already. */
pen_event *pen_event_settle(pen_event_root *root, pen_event **leaf);

/* ---- a thread's part ------------------------------------------------------------------------- */

struct pen_rma_thread {
    pen_event_pool pool;
    pen_op get, put, rmw; /* implicit operations outside an access region */
    pen_event_root
        *region; /* of the open access region; NULL: every operation in it was done at once */
    bool region_open;
    /* Checked builds: implicit operations, and those in the region; guarded by the watch's lock. */
    struct pen_watched *watched, *region_watched;
};

typedef struct pen_rma_thread pen_rma_thread;

pen_rma_thread *pen_rma_thread_of(pen_thread *thread); /* made on first use */

/* ---- operations ------------------------------------------------------------------------------ */

typedef enum rma_kind { RMA_PUT, RMA_GET, RMA_SET } rma_kind;

/* One call of the client's. */
typedef struct rma_call {
    pen_thread *thread;
    pen_job *job;
    uint32_t jobrank;
    uint16_t ep_index; /* of the target */
    rma_kind kind;
    char *remote;       /* an address of the target's */
    char *local;        /* PUT: only read; SET: NULL */
    pen_region *region; /* that local lies in, if the link wants to know; NULL: it does not */
    pen_device *device; /* that local is an address of; NULL: host memory */
    size_t len;
    int value; /* SET */
    pen_local when;
    bool immediate;
    bool blocking;
} rma_call;

/* A wait of the call's, for reports. */
static inline pen_wait pen_rma_wait_for(const rma_call *call, pen_awaited awaited)
{
    pen_call name = call->kind == RMA_GET   ? PEN_CALL_GET
                    : call->kind == RMA_PUT ? PEN_CALL_PUT
                                            : PEN_CALL_SET;
    return pen_wait_for(name, awaited, call->jobrank, NULL);
}

/* Starts a transfer by messages; raises op for it. False: immediate and no room, nothing happened.
 */
bool pen_rma_by_messages(const rma_call *call, uint32_t segment, uint64_t offset, pen_op *op);

PEN_COLD _Noreturn void pen_rma_refuse(pen_job *job, rma_kind kind, uint32_t jobrank,
                                       uint16_t ep_index, const void *remote, size_t len);

/* What became of a copy to or from a device: anything but success ends the job. */
void pen_rma_device_check(pen_job *job, const pen_device *device, pen_status status, const void *at,
                          size_t len);

/* ---- the job's part -------------------------------------------------------------------------- */

typedef struct rma_transfer rma_transfer; /* message.c */

typedef struct pen_rma {
    struct pen_watch *watch;  /* checked builds: outstanding operations; else NULL */
    _Atomic bool cma_refused; /* the kernel said no once: never asked again */
    pen_lock lock;            /* guards everything below */
    char *staging;            /* piece_len bytes between a device and a frame; made on first use */
    rma_transfer *transfers;  /* the table that answers name by number and generation */
    uint32_t transfer_count, transfer_free; /* first free one; UINT32_MAX: none */
    uint32_t stalled_first, stalled_last; /* gets with pieces not yet requested; UINT32_MAX: none */
    uint32_t piece_len;                   /* of put and get: what fits a frame */
    uint32_t window;                      /* pieces of one get in flight */
} pen_rma;

void pen_rma_messages_open(pen_job *job);

#endif
