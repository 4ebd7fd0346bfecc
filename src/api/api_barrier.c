/* SPDX-License-Identifier: BSD-3-Clause */
/* api_barrier.c: the barriers of both interfaces. */
#include "coll/barrier.h"

#include "api/api.h"
#include "api/coll.h"
#include "api/coll_images.h"
#include "base/status.h"
#include "coll/coll.h"
#include "diag/log.h"
#include "job/checks.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "pen_config.h"
#include "progress/progress.h"
#include "rma/event.h"
#include "rma/watch.h"

#include <gasnet_coll.h>
#include <gasnetex.h>
#include <penstock/legacy_coll.h>

static pen_job *job_for(const char *call)
{
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_context(call);
    return job;
}

gex_Event_t gex_Coll_BarrierNB(gex_TM_t team, gex_Flags_t flags)
{
    static const char call[] = "gex_Coll_BarrierNB";
    pen_job *job = job_for(call);
    pen_api_check_team(call, team);
    if (flags != 0)
        pen_api_misuse(call, "flags 0x%x: must be 0", flags);
    pen_thread *thread = pen_api_thread(job);
    pen_event *event = pen_coll_barrier_nb(thread, team);
    if (PEN_CHECKED) {
        const pen_watch_call what = { .name = call, .thread = thread, .kind = PEN_WATCH_OTHER };
        event = pen_watch_event(&what, event, NULL);
    }
    return event;
}

void gex_Coll_BarrierBlocking(gex_TM_t team, gex_Flags_t flags)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, flags));
}

static int result_of(pen_status status)
{
    return status == PEN_OK          ? GASNET_OK
           : status == PEN_ERR_AGAIN ? GASNET_ERR_NOT_READY
                                     : GASNET_ERR_BARRIER_MISMATCH;
}

/* Checked builds: reports a mismatch. It is no error of the call, but rarely intended. */
static int checked_result(pen_job *job, const char *call, int name, int flags, int result)
{
    if (pen_api_checks(PEN_CHECK_BARRIER) && result == GASNET_ERR_BARRIER_MISMATCH &&
        (flags & GASNET_BARRIERFLAG_MISMATCH) == 0)
        pen_log_warn(&job->log,
                     "%s: name %d, flags 0x%x: barrier mismatch: not what this rank notified, or "
                     "what other ranks named; pass the same to notify and wait of all ranks",
                     call, name, (unsigned)flags);
    return result;
}

static void check_flags(const char *call, int flags)
{
    const int known = GASNET_BARRIERFLAG_MISMATCH | GASNET_BARRIERFLAG_IMAGES |
                      GASNET_BARRIERFLAG_UNNAMED; /* UNNAMED contains _ANONYMOUS */
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && (flags & ~known) != 0)
        pen_api_misuse(call, "flags 0x%x: this call does not accept 0x%x", (unsigned)flags,
                       (unsigned)(flags & ~known));
}

/* The threads of a process use one barrier in turns; each is counted as polling. */
static pen_job *enter(const char *call)
{
    pen_job *job = job_for(call);
    (void)pen_api_thread(job);
    return job;
}

void gasnet_barrier_notify(int name, int flags)
{
    static const char call[] = "gasnet_barrier_notify";
    pen_job *job = enter(call);
    check_flags(call, flags);
    pen_barrier_notify(job, name, flags);
}

static int wait_for(pen_job *job, const char *call, int name, int flags)
{
    if (!PEN_CHECKED)
        return result_of(pen_barrier_wait(job, name, flags));
    pen_api_occupy(job, call);
    int result = result_of(pen_barrier_wait(job, name, flags));
    pen_api_vacate(job);
    return checked_result(job, call, name, flags, result);
}

int gasnet_barrier_wait(int name, int flags)
{
    static const char call[] = "gasnet_barrier_wait";
    return wait_for(enter(call), call, name, flags);
}

int gasnet_barrier_try(int name, int flags)
{
    static const char call[] = "gasnet_barrier_try";
    pen_job *job = enter(call);
    int result = result_of(pen_barrier_try(job, name, flags));
    if (result == GASNET_ERR_NOT_READY) /* this call has polled, and may stand in a loop */
        pen_poller_count(&job->progress, &pen_api_thread(job)->poller, 0);
    return PEN_CHECKED ? checked_result(job, call, name, flags, result) : result;
}

int gasnet_barrier(int name, int flags)
{
    static const char call[] = "gasnet_barrier";
    pen_job *job = enter(call);
    check_flags(call, flags);
    pen_barrier_notify(job, name, flags);
    return wait_for(job, call, name, flags);
}

int gasnet_barrier_result(int *name)
{
    int agreed;
    if (!pen_barrier_result(pen_api_job("gasnet_barrier_result"), &agreed))
        return 1;
    if (name != NULL)
        *name = agreed;
    return 0;
}

/* ---- barriers of teams ------------------------------------------------------------------------
 */

static bool is_of_images(const pen_team *team, int flags)
{
    return (flags & GASNET_BARRIERFLAG_IMAGES) != 0 && pen_api_images_call(team, 0);
}

void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int name, int flags)
{
    static const char call[] = "gasnet_coll_barrier_notify";
    pen_thread *thread = pen_api_coll_enter(call, team);
    if (is_of_images(team, flags))
        pen_api_images_notify(call, thread);
    else
        pen_team_barrier_notify(thread, team, name, flags);
}

int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int name, int flags)
{
    static const char call[] = "gasnet_coll_barrier_wait";
    (void)pen_api_coll_enter(call, team);
    if (!is_of_images(team, flags))
        return result_of(pen_team_barrier_wait(team, name, flags));
    while (!pen_api_images_try(call))
        ;
    return GASNET_OK;
}

int gasnet_coll_barrier_try(gasnet_team_handle_t team, int name, int flags)
{
    static const char call[] = "gasnet_coll_barrier_try";
    pen_thread *thread = pen_api_coll_enter(call, team);
    if (is_of_images(team, flags))
        return pen_api_images_try(call) ? GASNET_OK : GASNET_ERR_NOT_READY;
    int result = result_of(pen_team_barrier_try(team, name, flags));
    if (result == GASNET_ERR_NOT_READY) /* this call has polled, and may stand in a loop */
        pen_poller_count(&thread->job->progress, &thread->poller, 0);
    return result;
}

int gasnet_coll_barrier(gasnet_team_handle_t team, int name, int flags)
{
    gasnet_coll_barrier_notify(team, name, flags);
    return gasnet_coll_barrier_wait(team, name, flags);
}

int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *name)
{
    static const char call[] = "gasnet_coll_barrier_result";
    (void)pen_api_job(call);
    pen_api_check_team(call, team);
    int agreed;
    if (!pen_team_barrier_result(team, &agreed))
        return 1;
    if (name != NULL)
        *name = agreed;
    return 0;
}
