/* SPDX-License-Identifier: BSD-3-Clause */
/* split.c: the split-phase barrier on any team: a reduction to all of the members' words. */
#include "base/compiler.h"
#include "base/status.h"
#include "boot/wait_state.h"
#include "coll/barrier.h"
#include "coll/engine.h"
#include "job/fatal.h"
#include "job/team.h"
#include "job/thread.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "rma/event.h"

enum { TYPE_USER = 1 << 6, OPERATION_USER = 1 << 30 };

static void combine_words(const void *left, void *right, size_t count, const void *cdata)
{
    (void)cdata;
    const uint64_t *from = left;
    uint64_t *to = right;
    for (size_t i = 0; i < count; i++)
        to[i] = pen_word_combine(from[i], to[i]);
}

static bool is_world(const pen_team *team) { return team == &team->job->world; }

static PEN_COLD _Noreturn void out_of_turn(const pen_team *team, const char *what)
{
    pen_job_fatal(team->job,
                  "%s; each gasnet_coll_barrier_notify on a team is to be followed by one "
                  "gasnet_coll_barrier_wait, or gasnet_coll_barrier_try until it succeeds",
                  what);
}

void pen_team_barrier_notify(pen_thread *thread, pen_team *team, int name, int flags)
{
    if (is_world(team)) {
        pen_barrier_notify(team->job, name, flags);
        return;
    }
    pen_coll_team *coll = team->coll;
    pen_lock *lock = &team->job->coll->lock;
    pen_lock_take(lock);
    if (coll->split.notified)
        out_of_turn(team, "gasnet_coll_barrier_notify was called twice");
    coll->split.notified = true;
    coll->split.word = pen_word_of_notice(name, flags);
    pen_lock_drop(lock);
    const pen_reduction reduction = { .type = TYPE_USER,
                                      .operation = OPERATION_USER,
                                      .element_len = sizeof coll->split.word,
                                      .count = 1,
                                      .function = combine_words,
                                      .is_barrier = true };
    coll->split.event = pen_coll_reduce_nb(thread, team, PEN_COLL_ALL, &coll->split.word,
                                           &coll->split.word, &reduction);
}

/* Until the event is done, the reduction may write the word. */
static pen_status finish(pen_team *team, int name, int flags)
{
    pen_coll_team *coll = team->coll;
    pen_lock *lock = &team->job->coll->lock;
    if (!coll->split.notified)
        out_of_turn(team,
                    "a team's barrier was waited for without gasnet_coll_barrier_notify before it");
    if (!pen_event_test(coll->split.event))
        return PEN_ERR_AGAIN;
    pen_lock_take(lock);
    uint64_t result = coll->split.last_result = coll->split.word & PEN_WORD_CONTENT;
    pen_status status = pen_word_judge(result, name, flags);
    coll->split.notified = false;
    pen_lock_drop(lock);
    return status;
}

pen_status pen_team_barrier_wait(pen_team *team, int name, int flags)
{
    if (is_world(team))
        return pen_barrier_wait(team->job, name, flags);
    pen_wait what = pen_wait_for(
        PEN_CALL_TEAM_BARRIER_WAIT, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY,
        team->coll->split.event == PEN_EVENT_DONE ? NULL : pen_event_op(team->coll->split.event));
    pen_waiter waiter = pen_waiter_for(&team->job->progress, true, &what);
    pen_status status;
    while ((status = finish(team, name, flags)) == PEN_ERR_AGAIN)
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
    return status;
}

pen_status pen_team_barrier_try(pen_team *team, int name, int flags)
{
    if (is_world(team))
        return pen_barrier_try(team->job, name, flags);
    pen_status status = finish(team, name, flags);
    if (status != PEN_ERR_AGAIN)
        return status;
    (void)pen_progress_poll(&team->job->progress);
    return finish(team, name, flags);
}

bool pen_team_barrier_result(pen_team *team, int *name_out)
{
    if (is_world(team))
        return pen_barrier_result(team->job, name_out);
    pen_lock *lock = &team->job->coll->lock;
    pen_lock_take(lock);
    uint64_t result = team->coll->split.last_result;
    pen_lock_drop(lock);
    return pen_word_name(result, name_out);
}
