/* SPDX-License-Identifier: BSD-3-Clause */
/* event.h: explicit events and implicit (NBI) operation sets.
 *
 * An event is one pen_op with, for puts that asked for it, a leaf that is done when the source
 * buffer may be reused. Events come from a per-thread pool and may be synchronised by any thread; a
 * finished operation needs none: PEN_EVENT_DONE (NULL) is the answer of everything that completed
 * at once, which in shared memory is all. A leaf is its root's address with bit 0 set; roots carry
 * a generation so that a leaf left in an array after its root was freed is recognised as done. */
#ifndef PEN_RMA_EVENT_H
#define PEN_RMA_EVENT_H

#include "job/job.h"

#include <penstock/abi.h>

typedef struct pen_event pen_event;
#define PEN_EVENT_DONE  ((pen_event *)NULL)
#define PEN_EVENT_NO_OP ((pen_event *)(uintptr_t)1)

/* The categories an implicit operation counts in: bits of gex_EC_t. */
enum { PEN_EC_GET = 1u << 0, PEN_EC_PUT = 1u << 1, PEN_EC_LC = 1u << 2, PEN_EC_RMW = 1u << 3 };

/* All of these: never from a handler. Test never polls; wait does. */
bool pen_event_test(pen_event *event); /* true: done and freed */
void pen_event_wait(pen_job *job, pen_event *event);
bool pen_event_test_all(pen_event **events,
                        size_t count); /* finished slots become DONE; empty: true */
bool pen_event_test_some(pen_event **events, size_t count); /* all-DONE or empty: true */
void pen_event_wait_all(pen_job *job, pen_event **events, size_t count);
void pen_event_wait_some(pen_job *job, pen_event **events, size_t count);
/* For modules that make operations of their own (coll/): an event in flight, and its end. */
pen_event *
pen_event_new(pen_thread *thread); /* incomplete == 1; fatal with a message when memory is short */
void pen_event_finish(pen_event *event); /* by any thread; lowers incomplete */

pen_event *pen_event_leaf(pen_event *root); /* DONE when it has none or it happened */

/* Implicit operations of one thread. */
bool pen_nbi_test(pen_thread *thread, uint32_t categories); /* true: all done */
void pen_nbi_wait(pen_thread *thread, uint32_t categories);
void pen_nbi_begin(
    pen_thread *thread); /* access region; misuse (nesting) is fatal with a message */
pen_event *pen_nbi_end(pen_thread *thread); /* DONE when all its operations are */

#endif
