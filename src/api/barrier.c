/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier.c: the barriers of both interfaces. */
#include "coll/barrier.h"

#include "api/api.h"

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
    return pen_coll_barrier_nb(pen_api_thread(job), team);
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

/* The threads of a process take turns at one barrier; each is counted as polling. */
static pen_job *enter(const char *call)
{
    pen_job *job = job_for(call);
    (void)pen_api_thread(job);
    return job;
}

void gasnet_barrier_notify(int name, int flags)
{
    pen_barrier_notify(enter("gasnet_barrier_notify"), name, flags);
}

int gasnet_barrier_wait(int name, int flags)
{
    return result_of(pen_barrier_wait(enter("gasnet_barrier_wait"), name, flags));
}

int gasnet_barrier_try(int name, int flags)
{
    return result_of(pen_barrier_try(enter("gasnet_barrier_try"), name, flags));
}

int gasnet_barrier(int name, int flags)
{
    pen_job *job = enter("gasnet_barrier");
    pen_barrier_notify(job, name, flags);
    return result_of(pen_barrier_wait(job, name, flags));
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
