/* SPDX-License-Identifier: BSD-3-Clause */
/* event.h: explicit events and implicit (NBI) operation sets.
 *
 * An event is one pen_op. A put whose source is still in use also has a leaf, which is done when
 * the source may be reused. Events come from a per-thread pool; any thread may synchronise them. An
 * operation that completed at once needs no event: it returns PEN_EVENT_DONE (NULL), as all
 * operations in shared memory do. A handle is the event's address with a generation in the low
 * bits, by which checked builds recognise an event that was synchronised before. A leaf is its
 * root's handle with bit 0 set. Synchronising the root also ends its leaf. */
#ifndef PEN_RMA_EVENT_H
#define PEN_RMA_EVENT_H

#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/job.h"
#include "job/thread.h"

#include <penstock/abi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_event pen_event;
#define PEN_EVENT_DONE  ((pen_event *)NULL)
#define PEN_EVENT_NO_OP ((pen_event *)(uintptr_t)1)

/* Categories that an implicit operation counts in: bits of gex_EC_t. */
enum { PEN_EC_GET = 1u << 0, PEN_EC_PUT = 1u << 1, PEN_EC_LC = 1u << 2, PEN_EC_RMW = 1u << 3 };

/* Never call these from a handler. Test never polls; wait polls. Test returns true if the event is
 * done, and frees it. */
bool pen_event_test(pen_event *event);
void pen_event_wait(pen_job *job, pen_event *event,
                    pen_call call); /* call: name of the call, for reports */

/* Synchronise an array: slots of finished events become DONE. An array may hold a root and its
 * leaf, in any order: both are cleared with the root. all: returns whether everything is done (also
 * in an empty array). some: returns whether at least one is done, or all slots are DONE. */
bool pen_event_test_all(pen_event **events, size_t count);
bool pen_event_test_some(pen_event **events, size_t count);
void pen_event_wait_all(pen_job *job, pen_event **events, size_t count);
void pen_event_wait_some(pen_job *job, pen_event **events, size_t count);

/* Classifies a handle that is neither DONE nor NO_OP, for checks. */
typedef enum pen_event_state {
    PEN_EVENT_LIVE,
    PEN_EVENT_STALE,   /* the event or its root was synchronised */
    PEN_EVENT_UNKNOWN, /* no event at all */
} pen_event_state;

pen_event_state pen_event_look(pen_job *job, const pen_event *event);

/* For modules that make operations of their own (coll/): make an event in flight, and end it from
 * any thread. If memory is short, the job ends with a message. */
pen_event *pen_event_new(pen_thread *thread);
void pen_event_finish(pen_event *event);

/* Returns the operation behind an event of pen_event_new. A module whose operation has parts raises
 * its counts before each part, and lowers them (pen_op_source_done, pen_op_done) as conduits do.
 * The event starts with incomplete 1 for its maker; pen_event_finish lowers it. */
pen_op *pen_event_op(pen_event *event);

/* Call in place of pen_event_finish once all parts are started. If the parts are over already,
 * frees the event and returns DONE. leaf (may be NULL) receives the event of the source buffer,
 * DONE if the source is not in use. */
pen_event *pen_event_started(pen_event *event, pen_event **leaf);

/* Returns the operation in which the thread's next implicit operation of a category (PEN_EC_...)
 * counts: the implicit set or the open access region. Raise incomplete (GROUPed local completion:
 * source_busy) before starting; any thread may lower it when done. */
pen_op *pen_nbi_op(pen_thread *thread, uint32_t category);

/* Raises a count; shared: another thread may lower it meanwhile. relaxed: the thread that lowers it
 * learns of the operation through a lock or a release of its own */
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

pen_event *pen_event_leaf(pen_event *event); /* DONE if the event has no leaf or the leaf is done */

/* Implicit operations of one thread. Test returns true if all operations of the categories are
 * done; PUT includes local completion. Inside an access region both end the job with a message, as
 * does a region in a region. end returns DONE if all operations of the region are done. */
bool pen_nbi_test(pen_thread *thread, uint32_t categories);
void pen_nbi_wait(pen_thread *thread, uint32_t categories);
void pen_nbi_begin(pen_thread *thread);
pen_event *pen_nbi_end(pen_thread *thread);

/* For modules whose operation has many parts (vis/): between these two calls, the thread's implicit
 * operations count in a separate event. An open access region continues afterwards. */
typedef struct pen_nbi_outer {
    struct pen_event_root *region;
    bool region_open;
} pen_nbi_outer;

void pen_nbi_group_begin(pen_thread *thread, pen_nbi_outer *outer);
pen_event *pen_nbi_group_end(pen_thread *thread, const pen_nbi_outer *outer);

#endif
