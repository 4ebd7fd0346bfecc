/* SPDX-License-Identifier: BSD-3-Clause */
/* explain.c: describes the collective that a wait is for, with a member that it waits for. The
 * slow part of the wait calls it. */
#include "coll/shared.h"

#include "boot/departed.h"
#include "boot/wait_state.h"
#include "job/job.h"
#include "job/team.h"
#include "job/waits.h"
#include "os/lock.h"
#include "rma/event.h"
#include "trace/event.h"
#include "trace/ring.h"

static void note_collective(const pen_coll_team *coll, const pen_coll_what *what, uint32_t peer,
                            pen_wait_note *note)
{
    note->awaited = PEN_AWAITED_COLLECTIVE;
    note->team = coll->team->id;
    note->number = what->number;
    note->peer = peer;
}

/* Finds the first member that has not posted for the team's current turn. */
static uint32_t shared_peer(const pen_shared *shared)
{
    for (uint32_t i = 0; i + 1 < shared->size && !shared->claimed; i++) {
        uint32_t rank = pen_shared_other(shared, i);
        const pen_shared_slot *slot = &shared->shares[rank]->slots[shared->turn % PEN_SHARED_SLOTS];
        /* relaxed: only printed for people */
        if (atomic_load_explicit(&slot->turn, memory_order_relaxed) < shared->base + shared->turn)
            return pen_team_jobrank(shared->coll->team, rank);
    }
    return PEN_WAIT_NOBODY;
}

static bool find_shared(const pen_coll_team *coll, const void *object, pen_wait_note *note)
{
    const pen_shared *shared = coll->shared;
    for (const pen_shared_op *op = shared->first; op != NULL; op = op->next) {
        if (op->event == NULL || pen_event_op(op->event) != object)
            continue;
        note_collective(coll, &op->what, shared_peer(shared), note);
        return true;
    }
    return false;
}

/* Finds the sender of the first piece that has not arrived. */
static uint32_t sender(const pen_coll_op *op)
{
    for (uint32_t i = 0; i < PEN_COLL_SECTIONS && !op->claimed; i++) {
        const pen_coll_section *section = &op->sections[i];
        for (uint32_t step_i = 0; section->open && step_i < section->count; step_i++) {
            const pen_coll_step *step = &section->steps[step_i];
            if (step->action == PEN_COLL_RECEIVE && !step->complete)
                return pen_team_jobrank(op->coll->team, step->peer);
        }
    }
    return PEN_WAIT_NOBODY;
}

static bool find_op(const pen_coll_team *coll, const void *object, pen_wait_note *note)
{
    for (uint32_t i = 0; i < coll->table_len; i++) {
        const pen_coll_op *op = coll->table[i];
        if (op == NULL || pen_event_op(op->event) != object)
            continue;
        note_collective(coll, &op->what, sender(op), note);
        return true;
    }
    return false;
}

static bool find_barrier(const pen_coll *coll, const void *object, pen_wait_note *note)
{
    const pen_meet *named = &coll->meets[PEN_MEET_NAMED];
    if (object == named) {
        note->awaited = PEN_AWAITED_NAMED;
        note->number = named->phase - 1;
        return true;
    }
    const pen_coll_queue *queue = &coll->queue;
    for (uint32_t i = 0; i < queue->count; i++) {
        const pen_coll_waiting *waiting = &queue->items[(queue->first + i) & (queue->len - 1)];
        if (pen_event_op(waiting->event) != object)
            continue;
        note->awaited = PEN_AWAITED_BARRIER;
        note->number = waiting->number;
        return true;
    }
    return false;
}

static bool explain(pen_job *job, const void *object, pen_wait_note *note)
{
    pen_coll *coll = job->coll;
    pen_lock_take(&coll->lock);
    bool found = find_barrier(coll, object, note);
    for (uint32_t i = 0; !found && i < PEN_COLL_TEAM_BUCKETS; i++) {
        for (pen_coll_team *team = coll->teams[i]; !found && team != NULL; team = team->next)
            found = (team->shared != NULL && find_shared(team, object, note)) ||
                    find_op(team, object, note);
    }
    pen_lock_drop(&coll->lock);
    return found;
}

void pen_coll_trace_entered(const pen_job *job, pen_trace_meet meet, uint64_t team, uint32_t kind,
                            uint32_t number)
{
    const pen_trace_event event = { .at = pen_trace_ticks(),
                                    .kind = PEN_TRACE_ENTER,
                                    .detail = (uint8_t)meet,
                                    .what = (uint16_t)kind,
                                    .number = number,
                                    .value = team };
    pen_trace_write(job->trace, &event);
}

void pen_coll_depart(pen_job *job, pen_departed *out)
{
    pen_coll *coll = job->coll;
    pen_lock_take(&coll->lock);
    out->named = coll->meets[PEN_MEET_NAMED].phase;
    out->begun = job->world.coll->begun;
    out->team_count = 0;
    for (uint32_t i = 0; i < PEN_COLL_TEAM_BUCKETS; i++) {
        for (const pen_coll_team *team = coll->teams[i];
             team != NULL && out->team_count < PEN_DEPARTED_TEAMS; team = team->next)
            if (team->team != &job->world)
                out->teams[out->team_count++] =
                    (pen_departed_team){ .id = team->team->id, .begun = team->begun };
    }
    pen_lock_drop(&coll->lock);
}

void pen_coll_explain_open(pen_job *job) { pen_job_add_explainer(job, explain); }
