/* SPDX-License-Identifier: BSD-3-Clause */
/* api_vis.c: put and get of memory in pieces: brings the arguments of each call into one form. */
#include "vis/vis.h"

#include "api/api.h"
#include "job/checks.h"
#include "job/job.h"
#include "job/thread.h"
#include "pen_config.h"
#include "rma/event.h"
#include "rma/watch.h"

#include <gasnet_vis.h>

_Static_assert(GEX_VIS_MAX_PEERCOMPLETION == PEN_VIS_PAYLOAD_MAX, "the payload's bound is public");

/* Begins every call: checks, and the calling thread. */
static pen_thread *enter(pen_vis_call *call, uint32_t flags)
{
    pen_job *job = pen_api_job(call->name);
    if (PEN_CHECKED)
        pen_api_check_peer(call->name, call->team, call->rank,
                           call->is_put ? flags & ~GEX_FLAG_ENABLE_LEAF_LC : flags);
    pen_api_check_member(call->name, call->team, call->rank);
    pen_api_check_capable(call->name, call->team, call->rank, GEX_EP_CAPABILITY_VIS);
    call->flags = flags & GEX_FLAG_IMMEDIATE;
    pen_api_go_on(job);
    return pen_api_thread(job);
}

/* Checked builds: does not compare the memory of the pieces with outstanding operations. */
static pen_watch_call watched(pen_thread *thread, const pen_vis_call *call)
{
    return (pen_watch_call){ .name = call->name, .thread = thread, .kind = PEN_WATCH_OTHER };
}

static gex_Event_t with_event(pen_thread *thread, const pen_vis_call *call)
{
    pen_event *event = pen_vis_nb(thread, call);
    if (!PEN_CHECKED)
        return event;
    const pen_watch_call what = watched(thread, call);
    return pen_watch_event(&what, event, NULL);
}

static int implicit(pen_thread *thread, const pen_vis_call *call)
{
    int refused = pen_vis_nbi(thread, call);
    if (PEN_CHECKED && !refused) {
        const pen_watch_call what = watched(thread, call);
        pen_watch_implicit(&what, call->is_put ? PEN_EC_PUT : PEN_EC_GET);
    }
    return refused;
}

/* The parameters of a call of each shape, with the same names in all six calls. */
#define VECTOR_CALL(call_name, puts)                           \
    {                                                          \
        .name = (call_name),                                   \
        .team = team,                                          \
        .rank = rank,                                          \
        .is_put = (puts),                                      \
        .shape = PEN_VIS_VECTOR,                               \
        .dest = { .vector = dest, .count = dest_count },       \
        .source = { .vector = source, .count = source_count }, \
    }
#define INDEXED_CALL(call_name, puts)                                           \
    {                                                                           \
        .name = (call_name),                                                    \
        .team = team,                                                           \
        .rank = rank,                                                           \
        .is_put = (puts),                                                       \
        .shape = PEN_VIS_INDEXED,                                               \
        .dest = { .list = dest, .count = dest_count, .len = dest_len },         \
        .source = { .list = source, .count = source_count, .len = source_len }, \
    }
#define STRIDED_CALL(call_name, puts)                                               \
    {                                                                               \
        .name = (call_name),                                                        \
        .team = team,                                                               \
        .rank = rank,                                                               \
        .is_put = (puts),                                                           \
        .shape = PEN_VIS_STRIDED,                                                   \
        .dest = { .base = dest, .strides = dest_strides },                          \
        .source = { .base = (char *)(uintptr_t)source, .strides = source_strides }, \
        .elem_len = elem_len,                                                       \
        .counts = counts,                                                           \
        .levels = levels,                                                           \
    }

/* ---- vector ---------------------------------------------------------------------------------- */

int gex_VIS_VectorPutBlocking(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                              gex_Memvec_t const dest[], size_t source_count,
                              gex_Memvec_t const source[], gex_Flags_t flags)
{
    pen_vis_call call = VECTOR_CALL("gex_VIS_VectorPutBlocking", true);
    return pen_vis_blocking(enter(&call, flags), &call);
}

int gex_VIS_VectorGetBlocking(gex_TM_t team, size_t dest_count, gex_Memvec_t const dest[],
                              gex_Rank_t rank, size_t source_count, gex_Memvec_t const source[],
                              gex_Flags_t flags)
{
    pen_vis_call call = VECTOR_CALL("gex_VIS_VectorGetBlocking", false);
    return pen_vis_blocking(enter(&call, flags), &call);
}

gex_Event_t gex_VIS_VectorPutNB(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                                gex_Memvec_t const dest[], size_t source_count,
                                gex_Memvec_t const source[], gex_Flags_t flags)
{
    pen_vis_call call = VECTOR_CALL("gex_VIS_VectorPutNB", true);
    return with_event(enter(&call, flags), &call);
}

gex_Event_t gex_VIS_VectorGetNB(gex_TM_t team, size_t dest_count, gex_Memvec_t const dest[],
                                gex_Rank_t rank, size_t source_count, gex_Memvec_t const source[],
                                gex_Flags_t flags)
{
    pen_vis_call call = VECTOR_CALL("gex_VIS_VectorGetNB", false);
    return with_event(enter(&call, flags), &call);
}

int gex_VIS_VectorPutNBI(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                         gex_Memvec_t const dest[], size_t source_count,
                         gex_Memvec_t const source[], gex_Flags_t flags)
{
    pen_vis_call call = VECTOR_CALL("gex_VIS_VectorPutNBI", true);
    return implicit(enter(&call, flags), &call);
}

int gex_VIS_VectorGetNBI(gex_TM_t team, size_t dest_count, gex_Memvec_t const dest[],
                         gex_Rank_t rank, size_t source_count, gex_Memvec_t const source[],
                         gex_Flags_t flags)
{
    pen_vis_call call = VECTOR_CALL("gex_VIS_VectorGetNBI", false);
    return implicit(enter(&call, flags), &call);
}

/* ---- indexed --------------------------------------------------------------------------------- */

int gex_VIS_IndexedPutBlocking(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                               void *const dest[], size_t dest_len, size_t source_count,
                               void *const source[], size_t source_len, gex_Flags_t flags)
{
    pen_vis_call call = INDEXED_CALL("gex_VIS_IndexedPutBlocking", true);
    return pen_vis_blocking(enter(&call, flags), &call);
}

int gex_VIS_IndexedGetBlocking(gex_TM_t team, size_t dest_count, void *const dest[],
                               size_t dest_len, gex_Rank_t rank, size_t source_count,
                               void *const source[], size_t source_len, gex_Flags_t flags)
{
    pen_vis_call call = INDEXED_CALL("gex_VIS_IndexedGetBlocking", false);
    return pen_vis_blocking(enter(&call, flags), &call);
}

gex_Event_t gex_VIS_IndexedPutNB(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                                 void *const dest[], size_t dest_len, size_t source_count,
                                 void *const source[], size_t source_len, gex_Flags_t flags)
{
    pen_vis_call call = INDEXED_CALL("gex_VIS_IndexedPutNB", true);
    return with_event(enter(&call, flags), &call);
}

gex_Event_t gex_VIS_IndexedGetNB(gex_TM_t team, size_t dest_count, void *const dest[],
                                 size_t dest_len, gex_Rank_t rank, size_t source_count,
                                 void *const source[], size_t source_len, gex_Flags_t flags)
{
    pen_vis_call call = INDEXED_CALL("gex_VIS_IndexedGetNB", false);
    return with_event(enter(&call, flags), &call);
}

int gex_VIS_IndexedPutNBI(gex_TM_t team, gex_Rank_t rank, size_t dest_count, void *const dest[],
                          size_t dest_len, size_t source_count, void *const source[],
                          size_t source_len, gex_Flags_t flags)
{
    pen_vis_call call = INDEXED_CALL("gex_VIS_IndexedPutNBI", true);
    return implicit(enter(&call, flags), &call);
}

int gex_VIS_IndexedGetNBI(gex_TM_t team, size_t dest_count, void *const dest[], size_t dest_len,
                          gex_Rank_t rank, size_t source_count, void *const source[],
                          size_t source_len, gex_Flags_t flags)
{
    pen_vis_call call = INDEXED_CALL("gex_VIS_IndexedGetNBI", false);
    return implicit(enter(&call, flags), &call);
}

/* ---- strided --------------------------------------------------------------------------------- */

int gex_VIS_StridedPutBlocking(gex_TM_t team, gex_Rank_t rank, void *dest,
                               const ptrdiff_t dest_strides[], const void *source,
                               const ptrdiff_t source_strides[], size_t elem_len,
                               const size_t counts[], size_t levels, gex_Flags_t flags)
{
    pen_vis_call call = STRIDED_CALL("gex_VIS_StridedPutBlocking", true);
    return pen_vis_blocking(enter(&call, flags), &call);
}

int gex_VIS_StridedGetBlocking(gex_TM_t team, void *dest, const ptrdiff_t dest_strides[],
                               gex_Rank_t rank, void *source, const ptrdiff_t source_strides[],
                               size_t elem_len, const size_t counts[], size_t levels,
                               gex_Flags_t flags)
{
    pen_vis_call call = STRIDED_CALL("gex_VIS_StridedGetBlocking", false);
    return pen_vis_blocking(enter(&call, flags), &call);
}

gex_Event_t gex_VIS_StridedPutNB(gex_TM_t team, gex_Rank_t rank, void *dest,
                                 const ptrdiff_t dest_strides[], const void *source,
                                 const ptrdiff_t source_strides[], size_t elem_len,
                                 const size_t counts[], size_t levels, gex_Flags_t flags)
{
    pen_vis_call call = STRIDED_CALL("gex_VIS_StridedPutNB", true);
    return with_event(enter(&call, flags), &call);
}

gex_Event_t gex_VIS_StridedGetNB(gex_TM_t team, void *dest, const ptrdiff_t dest_strides[],
                                 gex_Rank_t rank, void *source, const ptrdiff_t source_strides[],
                                 size_t elem_len, const size_t counts[], size_t levels,
                                 gex_Flags_t flags)
{
    pen_vis_call call = STRIDED_CALL("gex_VIS_StridedGetNB", false);
    return with_event(enter(&call, flags), &call);
}

int gex_VIS_StridedPutNBI(gex_TM_t team, gex_Rank_t rank, void *dest,
                          const ptrdiff_t dest_strides[], const void *source,
                          const ptrdiff_t source_strides[], size_t elem_len, const size_t counts[],
                          size_t levels, gex_Flags_t flags)
{
    pen_vis_call call = STRIDED_CALL("gex_VIS_StridedPutNBI", true);
    return implicit(enter(&call, flags), &call);
}

int gex_VIS_StridedGetNBI(gex_TM_t team, void *dest, const ptrdiff_t dest_strides[],
                          gex_Rank_t rank, void *source, const ptrdiff_t source_strides[],
                          size_t elem_len, const size_t counts[], size_t levels, gex_Flags_t flags)
{
    pen_vis_call call = STRIDED_CALL("gex_VIS_StridedGetNBI", false);
    return implicit(enter(&call, flags), &call);
}

/* ---- telling the target ---------------------------------------------------------------------- */

void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source, size_t len,
                                      gex_Flags_t flags)
{
    static const char call[] = "gex_VIS_SetPeerCompletionHandler";
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_context(call);
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && flags != 0)
        pen_api_misuse(call, "flags 0x%x: must be 0", flags);
    if (handler < GEX_AM_INDEX_BASE)
        pen_api_misuse(call, "handler index %u: a client's are %u to 255", handler,
                       GEX_AM_INDEX_BASE);
    if (len > GEX_VIS_MAX_PEERCOMPLETION)
        pen_api_misuse(call, "%zu bytes: the payload has at most GEX_VIS_MAX_PEERCOMPLETION, %d",
                       len, GEX_VIS_MAX_PEERCOMPLETION);
    pen_vis_set_peer_completion(pen_api_thread(job), handler, source, len);
}
