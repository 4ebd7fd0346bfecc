/* SPDX-License-Identifier: BSD-3-Clause */
/* rma.c: puts and gets that the headers' inline bodies pass on. */
#include "rma/rma.h"

#include "api/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What an event argument says about the source buffer. */
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

int pen_api_put(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source, size_t len,
                gex_Flags_t flags)
{
    pen_job *job = pen_api_job("put");
    if (PEN_CHECKED)
        pen_api_check_peer("put", team, rank, flags);
    return pen_rma_put(pen_api_thread(job), team, rank, dest, source, len,
                       flags & GEX_FLAG_IMMEDIATE);
}

int pen_api_get(gex_TM_t team, void *dest, gex_Rank_t rank, const void *source, size_t len,
                gex_Flags_t flags)
{
    pen_job *job = pen_api_job("get");
    if (PEN_CHECKED)
        pen_api_check_peer("get", team, rank, flags);
    return pen_rma_get(pen_api_thread(job), team, dest, rank, source, len,
                       flags & GEX_FLAG_IMMEDIATE);
}

gex_Event_t pen_api_put_nb(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source,
                           size_t len, gex_Event_t *local, gex_Flags_t flags)
{
    static const char call[] = "gex_RMA_PutNB";
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_peer(call, team, rank, flags);
    pen_local when = local_of(call, local, true, false);
    pen_event *leaf = PEN_EVENT_DONE;
    pen_event *event = pen_rma_put_nb(pen_api_thread(job), team, rank, dest, source, len, when,
                                      &leaf, flags & GEX_FLAG_IMMEDIATE);
    if (when == PEN_LOCAL_LEAF && event != PEN_EVENT_NO_OP)
        *local = leaf;
    return event;
}

gex_Event_t pen_api_get_nb(gex_TM_t team, void *dest, gex_Rank_t rank, const void *source,
                           size_t len, gex_Flags_t flags)
{
    pen_job *job = pen_api_job("gex_RMA_GetNB");
    if (PEN_CHECKED)
        pen_api_check_peer("gex_RMA_GetNB", team, rank, flags);
    return pen_rma_get_nb(pen_api_thread(job), team, dest, rank, source, len,
                          flags & GEX_FLAG_IMMEDIATE);
}

int pen_api_put_nbi(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source, size_t len,
                    gex_Event_t *local, gex_Flags_t flags)
{
    static const char call[] = "gex_RMA_PutNBI";
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_peer(call, team, rank, flags);
    return pen_rma_put_nbi(pen_api_thread(job), team, rank, dest, source, len,
                           local_of(call, local, false, true), flags & GEX_FLAG_IMMEDIATE);
}

int pen_api_get_nbi(gex_TM_t team, void *dest, gex_Rank_t rank, const void *source, size_t len,
                    gex_Flags_t flags)
{
    pen_job *job = pen_api_job("gex_RMA_GetNBI");
    if (PEN_CHECKED)
        pen_api_check_peer("gex_RMA_GetNBI", team, rank, flags);
    return pen_rma_get_nbi(pen_api_thread(job), team, dest, rank, source, len,
                           flags & GEX_FLAG_IMMEDIATE);
}

/* ---- GASNet-1 only -------------------------------------------------------------------------- */

void pen_api_set(gex_TM_t team, gex_Rank_t rank, void *dest, int value, size_t len)
{
    gex_Event_Wait(pen_api_set_nb(team, rank, dest, value, len));
}

gex_Event_t pen_api_set_nb(gex_TM_t team, gex_Rank_t rank, void *dest, int value, size_t len)
{
    pen_job *job = pen_api_job("gasnet_memset");
    if (PEN_CHECKED)
        pen_api_check_peer("gasnet_memset", team, rank, 0);
    return pen_rma_set_nb(pen_api_thread(job), team, rank, dest, value, len);
}

void pen_api_set_nbi(gex_TM_t team, gex_Rank_t rank, void *dest, int value, size_t len)
{
    pen_job *job = pen_api_job("gasnet_memset_nbi");
    if (PEN_CHECKED)
        pen_api_check_peer("gasnet_memset_nbi", team, rank, 0);
    (void)pen_rma_set_nbi(pen_api_thread(job), team, rank, dest, value, len);
}

/* A get whose destination is ours until somebody asks for the value. */
struct pen_valget_op {
    gex_RMA_Value_t value;
    gex_Event_t event;
};

pen_valget pen_api_valget(gex_TM_t team, gex_Rank_t rank, const void *source, size_t len)
{
    static const char call[] = "gasnet_get_nb_val";
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_peer(call, team, rank, 0);
    if (len == 0 || len > sizeof(gex_RMA_Value_t))
        pen_api_misuse(call, "%zu bytes: a value has 1 to %zu", len, sizeof(gex_RMA_Value_t));
    struct pen_valget_op *op = calloc(1, sizeof *op);
    if (op == NULL)
        pen_job_fatal(job, "%s: calloc: %s; wait for handles before getting more", call,
                      strerror(errno));
    op->event = pen_rma_get_nb(pen_api_thread(job), team, pen_rma_low_bytes(&op->value, len), rank,
                               source, len, 0);
    return (pen_valget){ 0, op };
}

gex_RMA_Value_t pen_api_valget_wait(pen_valget handle)
{
    gex_Event_Wait(handle.op->event);
    gex_RMA_Value_t value = handle.op->value;
    free(handle.op);
    return value;
}
