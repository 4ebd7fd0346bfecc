/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.c: describes the wait of this rank when it has lasted for a while, and shows it in the
 * host page. */
#include "job/job_internal.h"

#include "base/compiler.h"
#include "boot/boot.h"
#include "boot/departed.h"
#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "os/lock.h"
#include "progress/progress.h"

enum { OPERATIONS_MAX = 256 }; /* operations of one wait that are examined */

void pen_job_add_explainer(pen_job *job, pen_explain explain)
{
    PEN_INVARIANT(job->explainer_count < PEN_EXPLAINERS_MAX);
    job->explainers[job->explainer_count++] = explain;
}

static bool is_done(const pen_op *op)
{
    /* relaxed: only printed for people */
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

/* ---- waits that will not end ----------------------------------------------------------------- */

/* Gets the departed rank's count of entered collectives of that team. Returns false if unknown. */
static bool begun_of(const pen_departed *gone, uint64_t team, uint32_t *begun_out)
{
    *begun_out = gone->begun;
    if (team == 0)
        return true;
    for (uint32_t i = 0; i < gone->team_count && i < PEN_DEPARTED_TEAMS; i++) {
        *begun_out = gone->teams[i].begun;
        if (gone->teams[i].id == team)
            return true;
    }
    return false;
}

/* Compares counts modulo 2^32. */
static bool is_behind(uint32_t count, uint32_t wanted) { return (int32_t)(count - wanted) < 0; }

static bool is_missing(const pen_job *job, const pen_departed *gone, const pen_wait_note *note)
{
    uint32_t begun;
    switch (note->awaited) {
    case PEN_AWAITED_NAMED:
        return is_behind(gone->named, note->number + 1);
    case PEN_AWAITED_BARRIER:
    case PEN_AWAITED_COLLECTIVE:
        return begun_of(gone, note->team, &begun) && is_behind(begun, note->number + 1);
    case PEN_AWAITED_RANKS: {
        pen_host_rank *row = pen_host_row(job->boot.page, job->rank);
        /* relaxed: this rank's own */
        return is_behind(gone->meets, job->boot.meets) ||
               is_behind(gone->meetings,
                         atomic_load_explicit(&row->meetings, memory_order_relaxed));
    }
    default: /* the departed rank still serves its peers */
        return false;
    }
}

/* Finds a member that has left without entering the collective in the note, or PEN_WAIT_NOBODY.
 * A rank that is not a member has no record of the team. */
static uint32_t departed_member(const pen_job *job, const pen_wait_note *note)
{
    for (uint32_t rank = 0; rank < job->size; rank++) {
        const pen_departed *gone = pen_departed_of(job->boot.page, rank);
        if (rank != job->rank && gone != NULL && is_missing(job, gone, note))
            return rank;
    }
    return PEN_WAIT_NOBODY;
}

/* Does a departed rank keep the wait from ending? If all operations have to end, it is enough
 * that one cannot; if one is enough, none may be able to. */
static uint32_t blocker(pen_job *job, const pen_wait *wait)
{
    uint32_t by = PEN_WAIT_NOBODY;
    for (size_t i = 0; i < wait->count && i < OPERATIONS_MAX; i++) {
        const pen_op *op = wait->op_at(wait->object, i);
        pen_wait_note note = { .awaited = PEN_AWAITED_UNKNOWN };
        if (is_done(op))
            continue;
        uint32_t of_this = explain(job, op, &note) ? departed_member(job, &note) : PEN_WAIT_NOBODY;
        if (wait->any && of_this == PEN_WAIT_NOBODY)
            return PEN_WAIT_NOBODY;
        if (of_this != PEN_WAIT_NOBODY)
            by = of_this;
    }
    return by;
}

static void look_for_departed(pen_job *job, const pen_wait *wait, const pen_wait_note *note)
{
    if (!pen_departed_any(job->boot.page))
        return;
    uint32_t by = wait->op_at != NULL ? blocker(job, wait) : departed_member(job, note);
    if (by != PEN_WAIT_NOBODY)
        pen_boot_blocked(&job->boot, by, note->call);
}

/* ---- showing --------------------------------------------------------------------------------- */

/* The first operation that is not complete is named. */
void pen_job_describe_wait(pen_job *job, const pen_wait *wait, pen_wait_note *note)
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

/* A loop of polls may have ended unnoticed, so any other wait replaces it. */
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
    if (!over) {
        pen_job_describe_wait(job, wait, &note);
        look_for_departed(job, wait, &note);
    }
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
