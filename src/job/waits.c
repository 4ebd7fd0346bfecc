/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.c: what this rank waits for, found out when a wait has lasted for a while, and shown in the
 * host page. */
#include "job/job_internal.h"

enum { OPERATIONS_MAX = 256 }; /* of one wait that are looked at */

void pen_job_add_explainer(pen_job *job, pen_explain explain)
{
    PEN_INVARIANT(job->explainer_count < PEN_EXPLAINERS_MAX);
    job->explainers[job->explainer_count++] = explain;
}

static bool is_done(const pen_op *op)
{
    /* relaxed: a picture for people */
    return op == NULL || (atomic_load_explicit(&op->incomplete, memory_order_relaxed) == 0 &&
                          atomic_load_explicit(&op->source_busy, memory_order_relaxed) == 0);
}

static bool explain(pen_job *job, const void *object, pen_wait_note *note)
{
    for (uint32_t i = 0; object != NULL && i < job->explainer_count; i++) {
        if (job->explainers[i](job, object, note))
            return true;
    }
    return false;
}

/* The first of its operations that is not over is the one that is named. */
static void describe(pen_job *job, const pen_wait *wait, pen_wait_note *note)
{
    *note = (pen_wait_note){
        .call = wait->call, .awaited = wait->awaited, .peer = wait->peer, .since_ns = wait->since_ns
    };
    if (wait->op_at == NULL) {
        (void)explain(job, wait->object, note);
        return;
    }
    for (size_t i = 0; i < wait->count && i < OPERATIONS_MAX; i++) {
        const pen_op *op = wait->op_at(wait->object, i);
        if (!is_done(op) && explain(job, op, note))
            return;
    }
}

static bool is_loop(const pen_wait *wait)
{
    return wait->call == PEN_CALL_POLL || wait->call == PEN_CALL_BLOCKUNTIL;
}

/* A loop of polls may have ended unseen, so any other wait takes its place. */
static bool may_show(const pen_job *job, const pen_wait *wait)
{
    return job->shown == NULL || job->shown == wait || job->shown_is_loop;
}

void pen_job_wait(void *ctx, pen_wait *wait, uint64_t now_ns, bool over)
{
    pen_job *job = ctx;
    pen_host_rank *row = pen_host_row(job->boot.page, job->rank);
    if (row == NULL)
        return;
    pen_wait_note note;
    if (!over)
        describe(job, wait, &note);
    pen_lock_take(&job->waits_lock);
    if (over) {
        if (job->shown == wait) {
            pen_wait_publish(&row->wait, NULL, now_ns);
            job->shown = NULL;
        }
        wait->shown = false;
    } else if (may_show(job, wait)) {
        pen_wait_publish(&row->wait, &note, now_ns);
        job->shown = wait;
        job->shown_is_loop = is_loop(wait);
        wait->shown = true;
    }
    pen_lock_drop(&job->waits_lock);
}
