/* SPDX-License-Identifier: BSD-3-Clause */
/* api_rma.c: puts and gets that the inline bodies of the headers pass on. */
#include "rma/rma.h"

#include "api/api.h"
#include "base/copy.h"
#include "boot/wait_state.h"
#include "job/checks.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "pen_config.h"
#include "rma/event.h"
#include "rma/watch.h"

#include <errno.h>
#include <gasnetex.h>
#include <stdlib.h>
#include <string.h>

/* Translates an event argument for the source buffer. */
static pen_local local_of(const char *call, const gex_Event_t *local, bool may_leaf, bool may_group)
{
    if (local == GEX_EVENT_NOW)
        return PEN_LOCAL_NOW;
    if (local == GEX_EVENT_DEFER)
        return PEN_LOCAL_DEFER;
    if (local == GEX_EVENT_GROUP && may_group)
        return PEN_LOCAL_GROUP;
    if (local == NULL || local == GEX_EVENT_GROUP || !may_leaf)
        pen_api_bad_event(call);
    return PEN_LOCAL_LEAF;
}

/* ---- checked builds: what a call is about to use --------------------------------------------- */

/* Checked builds: checks the place and the arguments of a call, and that no outstanding operation
 * uses the same memory. */
static void watch(pen_watch_call *call, gex_TM_t team, gex_Rank_t rank, gex_Flags_t flags)
{
    pen_api_check_peer(call->name, team, rank, flags & ~PEN_FLAG_GASNET1);
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && call->len != 0 && call->local == NULL)
        pen_api_misuse(call->name, "the local address is NULL, and the length %zu", call->len);
    call->thread = pen_api_thread(team->job);
    call->jobrank = pen_team_jobrank(team, rank);
    call->of_one_thread = (flags & PEN_FLAG_GASNET1) != 0;
    pen_watch_begin(call);
}

/* Begins a put or get: checks the call and returns the calling thread. what->name is the GASNet-EX
 * name; if the flags tell of a GASNet-1 call, it becomes gasnet1_name. */
static pen_thread *enter(pen_watch_call *what, const char *gasnet1_name, gex_TM_t team,
                         gex_Rank_t rank, gex_Flags_t flags)
{
    const char *call = what->name;
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED) {
        if ((flags & PEN_FLAG_GASNET1) != 0)
            what->name = gasnet1_name;
        watch(what, team, rank, flags);
    }
    pen_api_check_member(what->name, team, rank);
    pen_api_check_capable(call, team, rank, GEX_EP_CAPABILITY_RMA);
    pen_api_go_on(job);
    return pen_api_thread(job);
}

/* ---- blocking -------------------------------------------------------------------------------- */

int pen_api_put(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source, size_t len,
                gex_Flags_t flags)
{
    pen_watch_call what = { .name = "gex_RMA_PutBlocking",
                            .kind = PEN_WATCH_PUT,
                            .remote = dest,
                            .local = source,
                            .len = len };
    pen_thread *thread = enter(&what, "gasnet_put", team, rank, flags);
    return pen_rma_put(thread, team, rank, dest, source, len, flags & GEX_FLAG_IMMEDIATE);
}

int pen_api_get(gex_TM_t team, void *dest, gex_Rank_t rank, const void *source, size_t len,
                gex_Flags_t flags)
{
    pen_watch_call what = { .name = "gex_RMA_GetBlocking",
                            .kind = PEN_WATCH_GET,
                            .remote = source,
                            .local = dest,
                            .len = len };
    pen_thread *thread = enter(&what, "gasnet_get", team, rank, flags);
    return pen_rma_get(thread, team, dest, rank, source, len, flags & GEX_FLAG_IMMEDIATE);
}

/* Counts long copies as several short ones. */
void pen_api_copy(void *to, const void *from, size_t len)
{
    const size_t weight = len / (PEN_COPY_CALL_MIN * 8);
    int32_t *left = pen_api_root.job != NULL && pen_api_root.job->mode == PEN_MODE_PAR
                        ? &pen_stores
                        : &pen_poll.stores;
    *left = weight < (size_t)(*left > 0 ? *left : 0) ? *left - (int32_t)weight : 0;
    static const pen_copy_table no_job;
    pen_copy(pen_api_root.job != NULL ? &pen_api_root.job->copies : &no_job, to, from, len);
}

/* ---- with an event --------------------------------------------------------------------------- */

gex_Event_t pen_api_put_nb(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source,
                           size_t len, gex_Event_t *local, gex_Flags_t flags)
{
    static const char call[] = "gex_RMA_PutNB";
    pen_local when = local_of(call, local, true, false);
    pen_watch_call what = { .name = call,
                            .kind = PEN_WATCH_PUT,
                            .remote = dest,
                            .local = source,
                            .len = len,
                            .when = when };
    const char *gasnet1_name = when == PEN_LOCAL_NOW ? "gasnet_put_nb" : "gasnet_put_nb_bulk";
    pen_thread *thread = enter(&what, gasnet1_name, team, rank, flags);
    pen_event *leaf = PEN_EVENT_DONE;
    pen_event *event = pen_rma_put_nb(thread, team, rank, dest, source, len, when, &leaf,
                                      flags & GEX_FLAG_IMMEDIATE);
    if (PEN_CHECKED)
        event = pen_watch_event(&what, event, &leaf);
    if (when == PEN_LOCAL_LEAF && event != PEN_EVENT_NO_OP)
        *local = leaf;
    return event;
}

gex_Event_t pen_api_get_nb(gex_TM_t team, void *dest, gex_Rank_t rank, const void *source,
                           size_t len, gex_Flags_t flags)
{
    pen_watch_call what = {
        .name = "gex_RMA_GetNB", .kind = PEN_WATCH_GET, .remote = source, .local = dest, .len = len
    };
    pen_thread *thread = enter(&what, "gasnet_get_nb", team, rank, flags);
    pen_event *event =
        pen_rma_get_nb(thread, team, dest, rank, source, len, flags & GEX_FLAG_IMMEDIATE);
    return PEN_CHECKED ? pen_watch_event(&what, event, NULL) : event;
}

/* ---- implicit -------------------------------------------------------------------------------- */

int pen_api_put_nbi(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source, size_t len,
                    gex_Event_t *local, gex_Flags_t flags)
{
    static const char call[] = "gex_RMA_PutNBI";
    pen_local when = local_of(call, local, false, true);
    pen_watch_call what = { .name = call,
                            .kind = PEN_WATCH_PUT,
                            .remote = dest,
                            .local = source,
                            .len = len,
                            .when = when };
    const char *gasnet1_name = when == PEN_LOCAL_NOW ? "gasnet_put_nbi" : "gasnet_put_nbi_bulk";
    pen_thread *thread = enter(&what, gasnet1_name, team, rank, flags);
    int refused =
        pen_rma_put_nbi(thread, team, rank, dest, source, len, when, flags & GEX_FLAG_IMMEDIATE);
    if (PEN_CHECKED && !refused)
        pen_watch_implicit(&what, PEN_EC_PUT);
    return refused;
}

int pen_api_get_nbi(gex_TM_t team, void *dest, gex_Rank_t rank, const void *source, size_t len,
                    gex_Flags_t flags)
{
    pen_watch_call what = {
        .name = "gex_RMA_GetNBI", .kind = PEN_WATCH_GET, .remote = source, .local = dest, .len = len
    };
    pen_thread *thread = enter(&what, "gasnet_get_nbi", team, rank, flags);
    int refused =
        pen_rma_get_nbi(thread, team, dest, rank, source, len, flags & GEX_FLAG_IMMEDIATE);
    if (PEN_CHECKED && !refused)
        pen_watch_implicit(&what, PEN_EC_GET);
    return refused;
}

/* ---- GASNet-1 only -------------------------------------------------------------------------- */

/* Begins a memset: a put of bytes that have no address. */
static pen_watch_call set_of(const char *name, gex_TM_t team, gex_Rank_t rank, void *dest,
                             int value, size_t len)
{
    pen_api_check_peer(name, team, rank, 0);
    pen_watch_call what = { .name = name,
                            .thread = pen_api_thread(team->job),
                            .kind = PEN_WATCH_PUT,
                            .jobrank = pen_team_jobrank(team, rank),
                            .remote = dest,
                            .len = len,
                            .of_one_thread = true,
                            .content = (unsigned char)value };
    pen_watch_begin(&what);
    return what;
}

void pen_api_set(gex_TM_t team, gex_Rank_t rank, void *dest, int value, size_t len)
{
    pen_job *job = pen_api_job("gasnet_memset");
    pen_api_go_on(job);
    if (PEN_CHECKED)
        (void)set_of("gasnet_memset", team, rank, dest, value, len);
    pen_event_wait(job, pen_rma_set_nb(pen_api_thread(job), team, rank, dest, value, len),
                   PEN_CALL_SET);
}

gex_Event_t pen_api_set_nb(gex_TM_t team, gex_Rank_t rank, void *dest, int value, size_t len)
{
    static const char call[] = "gasnet_memset_nb";
    pen_job *job = pen_api_job(call);
    pen_api_go_on(job);
    pen_watch_call what;
    if (PEN_CHECKED)
        what = set_of(call, team, rank, dest, value, len);
    pen_event *event = pen_rma_set_nb(pen_api_thread(job), team, rank, dest, value, len);
    return PEN_CHECKED ? pen_watch_event(&what, event, NULL) : event;
}

void pen_api_set_nbi(gex_TM_t team, gex_Rank_t rank, void *dest, int value, size_t len)
{
    static const char call[] = "gasnet_memset_nbi";
    pen_job *job = pen_api_job(call);
    pen_api_go_on(job);
    pen_watch_call what;
    if (PEN_CHECKED)
        what = set_of(call, team, rank, dest, value, len);
    (void)pen_rma_set_nbi(pen_api_thread(job), team, rank, dest, value, len);
    if (PEN_CHECKED)
        pen_watch_implicit(&what, PEN_EC_PUT);
}

/* A get into memory of the library, until the client asks for the value. */
struct pen_valget_op {
    gex_RMA_Value_t value;
    gex_Event_t event;
};

pen_valget pen_api_valget(gex_TM_t team, gex_Rank_t rank, const void *source, size_t len)
{
    static const char call[] = "gasnet_get_nb_val";
    pen_job *job = pen_api_job(call);
    pen_api_go_on(job);
    if (len == 0 || len > sizeof(gex_RMA_Value_t))
        pen_api_misuse(call, "%zu bytes: a value has 1 to %zu", len, sizeof(gex_RMA_Value_t));
    struct pen_valget_op *op = calloc(1, sizeof *op);
    if (op == NULL)
        pen_job_fatal(job, "%s: calloc: %s; wait for handles before getting more", call,
                      strerror(errno));
    void *dest = pen_rma_low_bytes(&op->value, len);
    pen_watch_call what = {
        .name = call, .kind = PEN_WATCH_GET, .remote = source, .local = dest, .len = len
    };
    if (PEN_CHECKED)
        watch(&what, team, rank, PEN_FLAG_GASNET1);
    op->event = pen_rma_get_nb(pen_api_thread(job), team, dest, rank, source, len, 0);
    if (PEN_CHECKED)
        op->event = pen_watch_event(&what, op->event, NULL);
    return (pen_valget){ 0, op };
}

gex_RMA_Value_t pen_api_valget_wait(pen_valget handle)
{
    gex_Event_Wait(handle.op->event);
    gex_RMA_Value_t value = handle.op->value;
    free(handle.op);
    return value;
}
