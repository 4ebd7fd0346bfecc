/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_legacy.c: collectives of the GASNet-1 era. */
#include "coll/barrier.h"
#include "coll/coll.h"

#include "api/api.h"

#include <gasnet_coll.h>

enum {
    IN_FLAGS = GASNET_COLL_IN_NOSYNC | GASNET_COLL_IN_MYSYNC | GASNET_COLL_IN_ALLSYNC,
    OUT_FLAGS = GASNET_COLL_OUT_NOSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_OUT_ALLSYNC,
};

static bool one_bit(int flags) { return flags != 0 && (flags & (flags - 1)) == 0; }

static pen_event *begin(const char *call, pen_team *team, pen_coll_move *move, int flags)
{
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_context(call);
    pen_api_check_team(call, team);
    if (!one_bit(flags & IN_FLAGS) || !one_bit(flags & OUT_FLAGS))
        pen_api_misuse(call,
                       "flags 0x%x: exactly one GASNET_COLL_IN_... and one "
                       "GASNET_COLL_OUT_... are needed",
                       flags);
    if (move->root != PEN_COLL_ALL && move->root >= team->view.size)
        pen_api_misuse(call, "there is no image %u in a team of %u", move->root, team->view.size);
    if (move->len > SIZE_MAX / team->view.size)
        pen_api_misuse(call, "%zu bytes from each of %u members are more than there can be",
                       move->len, team->view.size);
    move->together = (flags & GASNET_COLL_IN_ALLSYNC ? PEN_COLL_ENTER_TOGETHER : 0) |
                     (flags & GASNET_COLL_OUT_ALLSYNC ? PEN_COLL_LEAVE_TOGETHER : 0);
    return pen_coll_move_nb(pen_api_thread(job), team, move);
}

/* ---- moving ---------------------------------------------------------------------------------- */

static pen_coll_move move_of(pen_coll_kind kind, uint32_t root, void *dest, const void *source,
                             size_t len)
{
    return (
        pen_coll_move){ .kind = kind, .root = root, .dest = dest, .source = source, .len = len };
}

gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst,
                                              gasnet_image_t srcimage, void *src, size_t nbytes,
                                              int flags)
{
    pen_coll_move move = move_of(PEN_COLL_BROADCAST, srcimage, dst, src, nbytes);
    return begin("gasnet_coll_broadcast", team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst,
                                            gasnet_image_t srcimage, void *src, size_t nbytes,
                                            int flags)
{
    pen_coll_move move = move_of(PEN_COLL_SCATTER, srcimage, dst, src, nbytes);
    return begin("gasnet_coll_scatter", team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team, gasnet_image_t dstimage,
                                           void *dst, void *src, size_t nbytes, int flags)
{
    pen_coll_move move = move_of(PEN_COLL_GATHER, dstimage, dst, src, nbytes);
    return begin("gasnet_coll_gather", team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst, void *src,
                                               size_t nbytes, int flags)
{
    pen_coll_move move = move_of(PEN_COLL_GATHER, PEN_COLL_ALL, dst, src, nbytes);
    return begin("gasnet_coll_gather_all", team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst, void *src,
                                             size_t nbytes, int flags)
{
    pen_coll_move move = move_of(PEN_COLL_EXCHANGE, PEN_COLL_ALL, dst, src, nbytes);
    return begin("gasnet_coll_exchange", team, &move, flags);
}

void gasnet_coll_broadcast(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src,
                           size_t nbytes, int flags)
{
    gex_Event_Wait(gasnet_coll_broadcast_nb(team, dst, srcimage, src, nbytes, flags));
}

void gasnet_coll_scatter(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src,
                         size_t nbytes, int flags)
{
    gex_Event_Wait(gasnet_coll_scatter_nb(team, dst, srcimage, src, nbytes, flags));
}

void gasnet_coll_gather(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src,
                        size_t nbytes, int flags)
{
    gex_Event_Wait(gasnet_coll_gather_nb(team, dstimage, dst, src, nbytes, flags));
}

void gasnet_coll_gather_all(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
                            int flags)
{
    gex_Event_Wait(gasnet_coll_gather_all_nb(team, dst, src, nbytes, flags));
}

void gasnet_coll_exchange(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags)
{
    gex_Event_Wait(gasnet_coll_exchange_nb(team, dst, src, nbytes, flags));
}

/* ---- handles --------------------------------------------------------------------------------- */

void gasnet_coll_wait_sync(gasnet_coll_handle_t handle) { gex_Event_Wait(handle); }

void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t count)
{
    gex_Event_WaitSome(handles, count, 0);
}

void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t count)
{
    gex_Event_WaitAll(handles, count, 0);
}

int gasnet_coll_try_sync(gasnet_coll_handle_t handle)
{
    (void)gasnet_AMPoll();
    return gex_Event_Test(handle) == 0 ? GASNET_OK : GASNET_ERR_NOT_READY;
}

int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t count)
{
    (void)gasnet_AMPoll();
    return gex_Event_TestSome(handles, count, 0) == 0 ? GASNET_OK : GASNET_ERR_NOT_READY;
}

int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t count)
{
    (void)gasnet_AMPoll();
    return gex_Event_TestAll(handles, count, 0) == 0 ? GASNET_OK : GASNET_ERR_NOT_READY;
}

/* ---- barriers -------------------------------------------------------------------------------- */

static pen_thread *enter(const char *call, const pen_team *team)
{
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_context(call);
    pen_api_check_team(call, team);
    return pen_api_thread(job);
}

static int result_of(pen_status status)
{
    return status == PEN_OK          ? GASNET_OK
           : status == PEN_ERR_AGAIN ? GASNET_ERR_NOT_READY
                                     : GASNET_ERR_BARRIER_MISMATCH;
}

void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int name, int flags)
{
    pen_team_barrier_notify(enter("gasnet_coll_barrier_notify", team), team, name, flags);
}

int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int name, int flags)
{
    (void)enter("gasnet_coll_barrier_wait", team);
    return result_of(pen_team_barrier_wait(team, name, flags));
}

int gasnet_coll_barrier_try(gasnet_team_handle_t team, int name, int flags)
{
    pen_thread *thread = enter("gasnet_coll_barrier_try", team);
    int result = result_of(pen_team_barrier_try(team, name, flags));
    if (result == GASNET_ERR_NOT_READY) /* it has polled, and may be called in a loop */
        pen_poller_count(&thread->job->progress, &thread->poller, 0);
    return result;
}

int gasnet_coll_barrier(gasnet_team_handle_t team, int name, int flags)
{
    pen_team_barrier_notify(enter("gasnet_coll_barrier", team), team, name, flags);
    return result_of(pen_team_barrier_wait(team, name, flags));
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

/* ---- tuning ---------------------------------------------------------------------------------- */

void gasnet_coll_loadTuningState(const char *filename, gasnet_team_handle_t team)
{
    (void)filename;
    (void)team;
}

void gasnet_coll_dumpTuningState(const char *filename, gasnet_team_handle_t team)
{
    (void)filename;
    (void)team;
}

void gasnet_coll_dumpProfile(const char *filename, gasnet_team_handle_t team)
{
    (void)filename;
    (void)team;
}
