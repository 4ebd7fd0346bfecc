/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_event.c: explicit events: their pools, and synchronising them alone and in arrays.
 *
 * The owner of a pool takes events from its private list. The thread that synchronises an event
 * returns it: in a client with one thread straight to that list, otherwise by a push on the pool's
 * second list. When the first list is empty, the owner takes the whole second list with one
 * exchange, so a push never meets a pop. */
#include "rma/event.h"

#include "base/compiler.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/checks.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/thread.h"
#include "os/lock.h"
#include "pen_config.h"
#include "progress/progress.h"
#include "rma/rma_internal.h"
#include "rma/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB_EVENTS = 255 }; /* with the slab's own line: 16 KiB */

struct pen_event_slab {
    pen_event_slab *next;
    pen_event_root events[SLAB_EVENTS];
};

/* ---- pools ----------------------------------------------------------------------------------- */

static PEN_COLD void pool_grow(pen_event_pool *pool)
{
    pen_event_slab *slab = aligned_alloc(EVENT_ALIGN, sizeof *slab);
    if (slab == NULL)
        pen_job_fatal(
            pool->job,
            "cannot make an event: aligned_alloc: %s; keep fewer operations in flight at once",
            strerror(errno));
    slab->next =
        atomic_load_explicit(&pool->slabs, memory_order_relaxed); /* only this thread writes it */
    for (uint32_t i = SLAB_EVENTS; i-- > 0;) {
        pen_event_root *root = &slab->events[i];
        *root = (pen_event_root){ .pool = pool, .next = pool->free };
        pool->free = root;
    }
    /* release: pairs with the acquire in pool_has; the slab's link and events are visible */
    atomic_store_explicit(&pool->slabs, slab, memory_order_release);
}

void pen_event_pool_close(pen_event_pool *pool)
{
    /* relaxed: the pool is unused now */
    pen_event_slab *slab = atomic_load_explicit(&pool->slabs, memory_order_relaxed);
    while (slab != NULL) {
        pen_event_slab *next = slab->next;
        free(slab);
        slab = next;
    }
    atomic_store_explicit(&pool->slabs, NULL, memory_order_relaxed);
    pool->free = NULL;
}

pen_event_root *pen_event_take(pen_event_pool *pool)
{
    if (pool->free == NULL) {
        /* acquire: pairs with the release in pen_event_give; the list's links are visible */
        pool->free = atomic_exchange_explicit(&pool->returned, NULL, memory_order_acquire);
        if (pool->free == NULL)
            pool_grow(pool);
    }
    pen_event_root *root = pool->free;
    pool->free = root->next;
    /* relaxed: the event is private until it is returned */
    atomic_store_explicit(&root->op.incomplete, 1, memory_order_relaxed);
    atomic_store_explicit(&root->op.source_busy, 0, memory_order_relaxed);
    root->op.shared = pool->job->concurrency != PEN_ALONE;
    root->op.then = NULL;
    root->parent = NULL;
    root->claimed = false;
    root->traced = 0;
    return root;
}

void pen_event_give(pen_event_root *root)
{
    pen_event_pool *pool = root->pool;
    if (PEN_CHECKED && root->watched != NULL) {
        pen_watch_end(root->watched);
        root->watched = NULL;
    }
    if (pen_unlikely(root->traced != 0))
        pen_rma_trace_done(root);
    root->generation = (root->generation + 1) % EVENT_GENERATIONS;
    if (!root->op.shared) {
        root->next = pool->free;
        pool->free = root;
        return;
    }
    root->next = atomic_load_explicit(&pool->returned, memory_order_relaxed);
    /* release: pairs with the exchange in pen_event_take */
    while (!atomic_compare_exchange_weak_explicit(&pool->returned, &root->next, root,
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

/* ---- one event ------------------------------------------------------------------------------- */

static bool slab_has(const pen_event_slab *slab, const pen_event_root *root)
{
    return slab != NULL && (uintptr_t)root >= (uintptr_t)&slab->events[0] &&
           (uintptr_t)root < (uintptr_t)&slab->events[SLAB_EVENTS];
}

static bool pool_has(pen_event_pool *pool, const pen_event_root *root)
{
    /* acquire, here and below: pairs with the release in pool_grow; slabs stay until the end */
    if (slab_has(atomic_load_explicit(&pool->looked_at, memory_order_acquire), root))
        return true;
    pen_event_slab *slab = atomic_load_explicit(&pool->slabs, memory_order_acquire);
    while (slab != NULL && !slab_has(slab, root))
        slab = slab->next;
    if (slab != NULL) /* release: passes on what the load above acquired */
        atomic_store_explicit(&pool->looked_at, slab, memory_order_release);
    return slab != NULL;
}

static bool is_stale(const pen_event *event)
{
    uint32_t generation =
        (uint32_t)((uintptr_t)event >> EVENT_GENERATION_SHIFT) % EVENT_GENERATIONS;
    return generation != pen_event_root_of(event)->generation;
}

pen_event_state pen_event_look(pen_job *job, const pen_event *event)
{
    bool found = false;
    pen_lock_take(&job->threads_lock);
    for (pen_thread *thread = &job->first_thread; !found && thread != NULL; thread = thread->next)
        found = thread->rma != NULL && pool_has(&thread->rma->pool, pen_event_root_of(event));
    pen_lock_drop(&job->threads_lock);
    if (!found)
        return PEN_EVENT_UNKNOWN;
    return is_stale(event) ? PEN_EVENT_STALE : PEN_EVENT_LIVE;
}

static bool checks_events(const pen_event *event)
{
    return (pen_event_root_of(event)->pool->job->checks_off & PEN_CHECK_EVENT) == 0;
}

/* Checked builds: tests for a handle whose event was synchronised, and perhaps taken again, since.
 */
static void event_check(const pen_event *event)
{
    if (PEN_CHECKED && pen_unlikely(is_stale(event)) && checks_events(event))
        pen_job_fatal(pen_event_root_of(event)->pool->job,
                      "event %p was synchronised before; each event, or its root, may be "
                      "synchronised once",
                      (const void *)event);
}

static bool root_is_done(pen_event_root *root) { return pen_count_is_zero(&root->op.incomplete); }

static bool leaf_is_done(pen_event_root *root)
{
    bool done = pen_count_is_zero(&root->op.source_busy);
    if (PEN_CHECKED && done && root->watched != NULL)
        pen_watch_source_end(root->watched);
    return done;
}

pen_event *pen_event_new(pen_thread *thread)
{
    return pen_event_handle(pen_event_take(&pen_rma_thread_of(thread)->pool));
}

void pen_event_finish(pen_event *event) { pen_op_done(&pen_event_root_of(event)->op); }

pen_event *pen_event_settle(pen_event_root *root, pen_event **leaf)
{
    pen_event *handle = pen_event_handle(root);
    bool source_busy = !pen_count_is_zero(&root->op.source_busy);
    bool done = pen_count_drop(&root->op.incomplete, root->op.shared) == 0;
    if (leaf != NULL)
        *leaf = done || !source_busy ? PEN_EVENT_DONE : pen_event_leaf_handle(handle);
    if (!done)
        return handle;
    pen_event_give(root);
    return PEN_EVENT_DONE;
}

pen_op *pen_event_op(pen_event *event) { return &pen_event_root_of(event)->op; }

pen_event *pen_event_started(pen_event *event, pen_event **leaf)
{
    return pen_event_settle(pen_event_root_of(event), leaf);
}

pen_event *pen_event_leaf(pen_event *event)
{
    if (event == PEN_EVENT_DONE || pen_event_is_leaf(event))
        return event;
    event_check(event);
    pen_event_root *root = pen_event_root_of(event);
    if (PEN_CHECKED && root->watched != NULL && pen_watch_keeps_source(root->watched))
        return pen_event_leaf_handle(event); /* until the client has synchronised it */
    return leaf_is_done(root) ? PEN_EVENT_DONE : pen_event_leaf_handle(event);
}

bool pen_event_test(pen_event *event)
{
    if (event == PEN_EVENT_DONE)
        return true;
    event_check(event);
    pen_event_root *root = pen_event_root_of(event);
    if (pen_event_is_leaf(event))
        return leaf_is_done(root);
    if (!root_is_done(root))
        return false;
    pen_event_give(root);
    return true;
}

void pen_event_wait(pen_job *job, pen_event *event, pen_call call)
{
    if (event == PEN_EVENT_DONE)
        return;
    pen_wait what =
        pen_wait_for(call, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, &pen_event_root_of(event)->op);
    pen_waiter waiter = pen_waiter_for(&job->progress, true, &what);
    while (!pen_event_test(event))
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* An array may hold a root together with its leaf, in any order, and the root may end during this
 * call. So roots that are done are claimed first. Then leaves are tested; leaves of claimed roots
 * are done. Then the claimed roots are freed: no leaf outlives its root in the array. */

static void array_claim(pen_event **events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (events[i] == PEN_EVENT_DONE)
            continue;
        event_check(events[i]);
        if (!pen_event_is_leaf(events[i]) && root_is_done(pen_event_root_of(events[i])))
            pen_event_root_of(events[i])->claimed = true;
    }
}

static size_t array_clear_leaves(pen_event **events, size_t count)
{
    size_t cleared = 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i] == PEN_EVENT_DONE || !pen_event_is_leaf(events[i]))
            continue;
        pen_event_root *root = pen_event_root_of(events[i]);
        if (root->claimed || leaf_is_done(root)) {
            events[i] = PEN_EVENT_DONE;
            cleared++;
        }
    }
    return cleared;
}

/* Frees events that are done and clears their slots. Returns how many; *left: events that are left.
 */
static size_t array_sweep(pen_event **events, size_t count, size_t *left_out)
{
    array_claim(events, count);
    size_t cleared = array_clear_leaves(events, count), left = 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i] == PEN_EVENT_DONE)
            continue;
        pen_event_root *root = pen_event_root_of(events[i]);
        if (pen_event_is_leaf(events[i]) || !root->claimed) {
            left++;
            continue;
        }
        event_check(events[i]); /* the array holds the event twice: it was freed just now */
        pen_event_give(root);
        events[i] = PEN_EVENT_DONE;
        cleared++;
    }
    *left_out = left;
    return cleared;
}

bool pen_event_test_all(pen_event **events, size_t count)
{
    size_t left;
    (void)array_sweep(events, count, &left);
    return left == 0;
}

bool pen_event_test_some(pen_event **events, size_t count)
{
    size_t left;
    return array_sweep(events, count, &left) != 0 || left == 0;
}

/* Returns the operation of an event of the array, for reports; NULL: it is done. */
static const pen_op *array_op(const void *events, size_t i)
{
    const pen_event *event = ((pen_event *const *)events)[i];
    return event != PEN_EVENT_DONE ? &pen_event_root_of(event)->op : NULL;
}

static pen_wait array_wait(pen_call call, pen_event **events, size_t count)
{
    pen_wait what = pen_wait_for(call, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, events);
    what.op_at = array_op;
    what.count = count;
    return what;
}

void pen_event_wait_all(pen_job *job, pen_event **events, size_t count)
{
    pen_wait what = array_wait(PEN_CALL_EVENT_WAIT_ALL, events, count);
    pen_waiter waiter = pen_waiter_for(&job->progress, true, &what);
    while (!pen_event_test_all(events, count))
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
}

void pen_event_wait_some(pen_job *job, pen_event **events, size_t count)
{
    pen_wait what = array_wait(PEN_CALL_EVENT_WAIT_SOME, events, count);
    what.any = true;
    pen_waiter waiter = pen_waiter_for(&job->progress, true, &what);
    while (!pen_event_test_some(events, count))
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
}
