/* SPDX-License-Identifier: BSD-3-Clause */
/* event.h: explicit events and implicit (NBI) operation sets.
 *
 * An event is one pen_op with, for puts whose source is still busy, a leaf that is done when the
 * source may be reused. Events come from a per-thread pool and may be synchronised by any thread; a
 * finished operation needs none: PEN_EVENT_DONE (NULL) is the answer of everything that completed
 * at once, which in shared memory is all. A handle is the event's address with a generation in the
 * low bits, by which checked builds recognise one that was synchronised before; a leaf is its
 * root's handle with bit 0 set. Synchronising the root ends its leaf too. */
#ifndef PEN_RMA_EVENT_H
#define PEN_RMA_EVENT_H

#include "job/job.h"

#include <penstock/abi.h>

typedef struct pen_event pen_event;
#define PEN_EVENT_DONE  ((pen_event *)NULL)
#define PEN_EVENT_NO_OP ((pen_event *)(uintptr_t)1)

/* The categories an implicit operation counts in: bits of gex_EC_t. */
enum { PEN_EC_GET = 1u << 0, PEN_EC_PUT = 1u << 1, PEN_EC_LC = 1u << 2, PEN_EC_RMW = 1u << 3 };

/* All of these: never from a handler. Test never polls; wait does. True: done, and freed. */
bool pen_event_test(pen_event *event);
void pen_event_wait(pen_job *job, pen_event *event, pen_call call); /* call: for reports */

/* Slots of finished events become DONE. An array may hold a root and its leaf, in any order: both
 * are cleared when the root is. all: is everything done (so in an empty array)? some: is at least
 * one, or was there nothing left to wait for? */
bool pen_event_test_all(pen_event **events, size_t count);
bool pen_event_test_some(pen_event **events, size_t count);
void pen_event_wait_all(pen_job *job, pen_event **events, size_t count);
void pen_event_wait_some(pen_job *job, pen_event **events, size_t count);

/* What a handle is, that is neither DONE nor NO_OP; for checks. */
typedef enum pen_event_state {
    PEN_EVENT_LIVE,
    PEN_EVENT_STALE,   /* it, or its root, was synchronised */
    PEN_EVENT_UNKNOWN, /* no event at all */
} pen_event_state;

pen_event_state pen_event_look(pen_job *job, const pen_event *event);

/* For modules that make operations of their own (coll/): an event in flight, and its end, which any
 * thread may bring about. Fatal with a message when memory is short. */
pen_event *pen_event_new(pen_thread *thread);
void pen_event_finish(pen_event *event);

/* The operation behind an event that pen_event_new made: modules whose operation has parts raise
 * its counts before each, and lower them (pen_op_source_done, pen_op_done) as conduits do. The
 * event starts with incomplete 1, for its maker, whom pen_event_finish counts as done. */
pen_op *pen_event_op(pen_event *event);

/* In place of pen_event_finish, by the maker once all parts are started: DONE, and the event freed,
 * when they are over already. leaf (may be NULL) receives the event of the source buffer, DONE when
 * that is not busy. */
pen_event *pen_event_started(pen_event *event, pen_event **leaf);

/* What the thread's next implicit operation of a category (PEN_EC_...) counts in: the implicit set
 * or the open access region. Raise incomplete (GROUPed local completion: source_busy) before
 * starting, lower it when done; any thread may. */
pen_op *pen_nbi_op(pen_thread *thread, uint32_t category);

/* A count that somebody else may lower meanwhile goes up. relaxed: whoever lowers it learns of the
 * operation through a lock or a release of its own */
static inline void pen_count_raise(_Atomic uint32_t *count, bool shared)
{
    if (shared)
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    else
        atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

/* acquire: pairs with the release of pen_count_drop; what the operation wrote is visible after it
 */
static inline bool pen_count_is_zero(_Atomic uint32_t *count)
{
    return atomic_load_explicit(count, memory_order_acquire) == 0;
}

pen_event *pen_event_leaf(pen_event *event); /* DONE when it has none or it happened */

/* Implicit operations of one thread. Test is true when all of the categories are done; PUT
 * includes local completion. Inside an access region both are fatal with a message, as is a region
 * in a region. end answers DONE when all operations of the region are. */
bool pen_nbi_test(pen_thread *thread, uint32_t categories);
void pen_nbi_wait(pen_thread *thread, uint32_t categories);
void pen_nbi_begin(pen_thread *thread);
pen_event *pen_nbi_end(pen_thread *thread);

/* For modules whose operation is made of many (vis/): the thread's implicit operations between
 * these two count in an event of their own, within an access region too, which goes on afterwards.
 */
typedef struct pen_nbi_outer {
    struct pen_event_root *region;
    bool region_open;
} pen_nbi_outer;

void pen_nbi_group_begin(pen_thread *thread, pen_nbi_outer *outer);
pen_event *pen_nbi_group_end(pen_thread *thread, const pen_nbi_outer *outer);

#endif
