/* SPDX-License-Identifier: BSD-3-Clause */
/* nbi.c: implicit operations: each thread's sets by category, and access regions.
 *
 * A set is one pen_op in which any number of operations count: incomplete for the category,
 * source_busy of the puts for local completion. An access region is an event with the same counts,
 * made only if an operation in it is not done at once. */
#include "base/compiler.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/thread.h"
#include "os/lock.h"
#include "pen_config.h"
#include "progress/progress.h"
#include "rma/rma_internal.h"
#include "rma/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

pen_rma_thread *pen_rma_thread_of(pen_thread *thread)
{
    if (pen_likely(thread->rma != NULL))
        return thread->rma;
    pen_rma_thread *mine = calloc(1, sizeof *mine);
    if (mine == NULL)
        pen_job_fatal(thread->job,
                      "cannot start a thread's first operation: calloc: %s; use fewer threads or "
                      "ranks",
                      strerror(errno));
    bool shared = thread->job->concurrency != PEN_ALONE;
    mine->pool.job = thread->job;
    mine->get.shared = shared;
    mine->put.shared = shared;
    mine->rmw.shared = shared;
    thread->rma = mine;
    return mine;
}

pen_op *pen_nbi_op(pen_thread *thread, uint32_t category)
{
    pen_rma_thread *mine = pen_rma_thread_of(thread);
    if (mine->region_open) {
        if (mine->region == NULL)
            mine->region = pen_event_take(&mine->pool);
        return &mine->region->op;
    }
    if (category & PEN_EC_GET)
        return &mine->get;
    return category & PEN_EC_RMW ? &mine->rmw : &mine->put;
}

static void region_refuse(const pen_thread *thread, const char *what)
{
    if (thread->rma != NULL && thread->rma->region_open)
        pen_job_fatal(
            thread->job,
            "%s inside an access region of the same thread: regions do not nest and are not "
            "waited for in parts; end the region first",
            what);
}

bool pen_nbi_test(pen_thread *thread, uint32_t categories)
{
    pen_rma_thread *mine = thread->rma;
    if (mine == NULL)
        return true;
    region_refuse(thread, "implicit operations are synchronised");
    if ((categories & PEN_EC_GET) && !pen_count_is_zero(&mine->get.incomplete))
        return false;
    if ((categories & PEN_EC_PUT) && !pen_count_is_zero(&mine->put.incomplete))
        return false;
    if ((categories & PEN_EC_RMW) && !pen_count_is_zero(&mine->rmw.incomplete))
        return false;
    if ((categories & (PEN_EC_PUT | PEN_EC_LC)) && !pen_count_is_zero(&mine->put.source_busy))
        return false;
    if (PEN_CHECKED && mine->watched != NULL)
        pen_watch_implicit_end(thread, categories);
    return true;
}

/* Collects the operations that a wait is for, for reports. */
typedef struct nbi_wait {
    pen_rma_thread *mine;
    uint32_t categories;
} nbi_wait;

static const pen_op *nbi_op(const void *waits, size_t i)
{
    const nbi_wait *wait = waits;
    pen_op *const ops[] = { &wait->mine->get, &wait->mine->put, &wait->mine->rmw };
    static const uint32_t categories[] = { PEN_EC_GET, PEN_EC_PUT | PEN_EC_LC, PEN_EC_RMW };
    return (wait->categories & categories[i]) != 0 ? ops[i] : NULL;
}

void pen_nbi_wait(pen_thread *thread, uint32_t categories)
{
    nbi_wait waits = { pen_rma_thread_of(thread), categories };
    pen_wait what = pen_wait_for(PEN_CALL_NBI_WAIT, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, &waits);
    what.op_at = nbi_op;
    what.count = 3;
    pen_waiter waiter = pen_waiter_for(&thread->job->progress, true, &what);
    while (!pen_nbi_test(thread, categories)) {
        PEN_ASSERT(thread->handler_depth == 0); /* a handler may ask when all operations are done */
        pen_wait_step(&waiter);
    }
    pen_wait_end(&waiter);
}

void pen_nbi_begin(pen_thread *thread)
{
    region_refuse(thread, "an access region is begun");
    pen_rma_thread_of(thread)->region_open = true;
}

pen_event *pen_nbi_end(pen_thread *thread)
{
    pen_rma_thread *mine = pen_rma_thread_of(thread);
    if (!mine->region_open)
        pen_job_fatal(thread->job, "an access region is ended that was not begun by this thread");
    pen_event_root *region = mine->region;
    mine->region_open = false;
    mine->region = NULL;
    return region == NULL ? PEN_EVENT_DONE : pen_event_settle(region, NULL);
}

void pen_nbi_group_begin(pen_thread *thread, pen_nbi_outer *outer)
{
    pen_rma_thread *mine = pen_rma_thread_of(thread);
    *outer = (pen_nbi_outer){ mine->region, mine->region_open };
    mine->region = NULL;
    mine->region_open = true;
}

pen_event *pen_nbi_group_end(pen_thread *thread, const pen_nbi_outer *outer)
{
    pen_event *event = pen_nbi_end(thread);
    thread->rma->region = outer->region;
    thread->rma->region_open = outer->region_open;
    return event;
}
