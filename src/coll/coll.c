/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.c: opening and closing a team's part, and beginning collectives. */
#include "coll/coll.h"

#include "base/compiler.h"
#include "base/status.h"
#include "coll/shared.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "os/lock.h"
#include "rma/event.h"

#include <stdlib.h>
#include <strings.h>

/* ---- a team's part --------------------------------------------------------------------------- */

pen_status pen_coll_team_open(pen_team *team)
{
    pen_job *job = team->job;
    pen_coll *jobs = job->coll;
    pen_coll_team *coll = pen_job_calloc(job, 1, sizeof *coll, "a team's collectives");
    pen_coll_peer *peers =
        coll == NULL ? NULL
                     : pen_job_calloc(job, team->view.size, sizeof *peers, "a team's collectives");
    if (peers == NULL) {
        free(coll);
        return PEN_ERR_MEMORY;
    }
    coll->team = team;
    coll->job = job;
    coll->peers = peers;
    team->coll = coll;
    pen_lock_take(&jobs->lock);
    pen_coll_team **bucket = &jobs->teams[pen_coll_team_bucket(team->id)];
    coll->next = *bucket;
    *bucket = coll;
    pen_coll_orphans_adopt(coll);
    pen_lock_drop(&jobs->lock);
    return PEN_OK;
}

void pen_coll_team_close(pen_team *team)
{
    pen_coll_team *coll = team->coll;
    if (coll == NULL)
        return;
    pen_coll *jobs = team->job->coll;
    pen_lock_take(&jobs->lock);
    pen_coll_team **at = &jobs->teams[pen_coll_team_bucket(team->id)];
    while (*at != coll)
        at = &(*at)->next;
    *at = coll->next;
    if (coll->shared != NULL)
        pen_shared_close(coll->shared);
    pen_coll_team_end(coll);
    pen_lock_drop(&jobs->lock);
    team->coll = NULL;
}

/* ---- memory that members share --------------------------------------------------------------- */

void pen_coll_offer_make(pen_job *job, pen_coll_offer *out)
{
    pen_lock_take(&job->coll->lock);
    pen_shared_offer(job, out);
    pen_lock_drop(&job->coll->lock);
}

void pen_coll_offer_withdraw(pen_job *job, const pen_coll_offer *offer)
{
    pen_lock_take(&job->coll->lock);
    pen_shared_withdraw(job, offer);
    pen_lock_drop(&job->coll->lock);
}

pen_status pen_coll_team_share(pen_team *team, const pen_coll_offer *offers)
{
    if (!pen_shared_believable(team, offers)) {
        pen_coll_offer_withdraw(team->job, &offers[team->view.rank]);
        return PEN_OK;
    }
    team->coll->shared = pen_shared_open(team->coll, offers);
    return team->coll->shared != NULL ? PEN_OK : PEN_ERR_MEMORY;
}

void pen_coll_team_quiesced(const pen_team *team)
{
    if (team->coll->shared != NULL)
        pen_shared_give_back(team->coll->shared);
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Parameters of a collective besides its buffers. */
typedef struct coll_plan {
    pen_coll_kind kind;
    uint32_t root;
    size_t len, section_len;
    bool settles;
    unsigned together;
    uint32_t kind_more; /* for pen_coll_what.kind */
    const pen_reduction *reduction;
    void (*build)(pen_coll_op *op, pen_coll_section *section);
} coll_plan;

static bool is_barrier(const coll_plan *plan)
{
    return plan->kind == PEN_COLL_BARRIER ||
           (plan->reduction != NULL && plan->reduction->is_barrier);
}

static pen_event *begin_shared(pen_thread *thread, pen_shared *shared, void *dest,
                               const void *source, const coll_plan *plan)
{
    pen_coll *jobs = thread->job->coll;
    pen_lock_take(&jobs->lock);
    pen_shared_op *op = pen_shared_op_new(shared);
    op->what.root = op->root = plan->root;
    op->what.len = op->len = plan->len;
    op->what.kind = (uint32_t)plan->kind | plan->kind_more;
    op->dest = dest;
    op->source = source;
    op->sweeps = is_barrier(plan);
    if (plan->reduction != NULL)
        op->reduction = *plan->reduction;
    pen_event *event = pen_shared_begin(thread, shared, op);
    pen_lock_drop(&jobs->lock);
    return event;
}

static pen_event *begin(pen_thread *thread, pen_team *team, void *dest, const void *source,
                        const coll_plan *plan)
{
    pen_coll *jobs = thread->job->coll;
    PEN_ASSERT(thread->handler_depth == 0);
    if (is_barrier(plan))
        pen_coll_hand_over(thread->job, team->coll->shared == NULL);
    if (pen_likely(team->coll->shared != NULL))
        return begin_shared(thread, team->coll->shared, dest, source, plan);
    pen_event *event = pen_event_new(thread);
    /* One count for the caller, one for the engine. relaxed: the lock passes the event on */
    atomic_fetch_add_explicit(&pen_event_op(event)->incomplete, 1, memory_order_relaxed);
    pen_lock_take(&jobs->lock);
    pen_coll_op *op = pen_coll_op_new(team->coll);
    op->event = event;
    op->dest = dest;
    op->source = source;
    op->len = plan->len;
    op->root = plan->root;
    op->build = plan->build;
    op->settles = plan->settles || plan->together != 0;
    op->together = plan->together;
    op->sweeps = is_barrier(plan);
    if (plan->reduction != NULL)
        op->reduction = *plan->reduction;
    op->what = (pen_coll_what){ .root = plan->root,
                                .len = plan->len,
                                .kind = (uint32_t)plan->kind | plan->kind_more };
    op->section_len = plan->section_len;
    op->section_count = 1;
    if (plan->len == 0 && plan->kind != PEN_COLL_BARRIER && plan->together == 0)
        op->section_count = 0;
    else if (plan->section_len < plan->len)
        op->section_count = (uint32_t)((plan->len + plan->section_len - 1) / plan->section_len);
    if (op->section_count == 0)
        op->settles = false; /* it completes locally, without messages */
    pen_coll_op_begin(op);
    pen_lock_drop(&jobs->lock);
    return pen_event_started(event, NULL);
}

pen_event *pen_coll_barrier_nb(pen_thread *thread, pen_team *team)
{
    if (team == &thread->job->world)
        return pen_coll_world_barrier_nb(thread);
    const coll_plan plan = { .kind = PEN_COLL_BARRIER,
                             .settles = true,
                             .build = pen_coll_build_barrier };
    return begin(thread, team, NULL, NULL, &plan);
}

pen_event *pen_coll_move_nb(pen_thread *thread, pen_team *team, const pen_coll_move *move)
{
    static void (*const build[PEN_COLL_KINDS])(pen_coll_op *op, pen_coll_section *section) = {
        [PEN_COLL_BROADCAST] = pen_coll_build_broadcast,
        [PEN_COLL_GATHER] = pen_coll_build_gather,
        [PEN_COLL_SCATTER] = pen_coll_build_scatter,
        [PEN_COLL_EXCHANGE] = pen_coll_build_exchange,
    };
    const coll_plan plan = { .kind = move->kind,
                             .root = move->root,
                             .len = move->len,
                             .section_len = move->len,
                             .settles = move->root == PEN_COLL_ALL,
                             .together = move->together,
                             .kind_more = move->together << PEN_COLL_TOGETHER_SHIFT,
                             .build = build[move->kind] };
    return begin(thread, team, move->dest, move->source, &plan);
}

pen_event *pen_coll_broadcast_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                                 const void *source, size_t len)
{
    const pen_coll_move move = { PEN_COLL_BROADCAST, root, dest, source, len, 0 };
    return pen_coll_move_nb(thread, team, &move);
}

pen_event *pen_coll_gather_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                              const void *source, size_t len)
{
    const pen_coll_move move = { PEN_COLL_GATHER, root, dest, source, len, 0 };
    return pen_coll_move_nb(thread, team, &move);
}

pen_event *pen_coll_scatter_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                               const void *source, size_t len)
{
    const pen_coll_move move = { PEN_COLL_SCATTER, root, dest, source, len, 0 };
    return pen_coll_move_nb(thread, team, &move);
}

pen_event *pen_coll_exchange_nb(pen_thread *thread, pen_team *team, void *dest, const void *source,
                                size_t len)
{
    const pen_coll_move move = { PEN_COLL_EXCHANGE, PEN_COLL_ALL, dest, source, len, 0 };
    return pen_coll_move_nb(thread, team, &move);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Divides a collective into sections of whole elements. */
static size_t section_len(const pen_reduction *reduction)
{
    size_t elements = PEN_COLL_SECTION_LEN / reduction->element_len;
    return (elements == 0 ? 1 : elements) * reduction->element_len;
}

static pen_event *begin_reduction(pen_thread *thread, pen_team *team, void *dest,
                                  const void *source, coll_plan *plan)
{
    const pen_reduction *reduction = plan->reduction;
    plan->len = reduction->count * reduction->element_len;
    plan->section_len = reduction->element_len == 0 ? 0 : section_len(reduction);
    plan->together = reduction->together;
    plan->kind_more |= reduction->together << PEN_COLL_TOGETHER_SHIFT |
                       ((uint32_t)ffs((int)reduction->type) - 1) << 8 |
                       ((uint32_t)ffs((int)reduction->operation) - 1) << 16;
    return begin(thread, team, dest, source, plan);
}

pen_event *pen_coll_reduce_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                              const void *source, const pen_reduction *reduction)
{
    coll_plan plan = { .kind = PEN_COLL_REDUCE,
                       .root = root,
                       .settles = root == PEN_COLL_ALL,
                       .reduction = reduction,
                       .build = pen_coll_build_reduce };
    return begin_reduction(thread, team, dest, source, &plan);
}

pen_event *pen_coll_scan_nb(pen_thread *thread, pen_team *team, void *dest, const void *source,
                            const pen_reduction *reduction, bool exclusive)
{
    coll_plan plan = { .kind = PEN_COLL_SCAN,
                       .root = PEN_COLL_ALL,
                       .kind_more = exclusive ? PEN_COLL_EXCLUSIVE : 0,
                       .reduction = reduction,
                       .build = pen_coll_build_scan };
    return begin_reduction(thread, team, dest, source, &plan);
}
