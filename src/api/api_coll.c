/* SPDX-License-Identifier: BSD-3-Clause */
/* api_coll.c: collectives of GASNet-EX, and Penstock's additions. */
#include "api/coll.h"

#include "api/api.h"
#include "base/compiler.h"
#include "coll/coll.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "pen_config.h"
#include "rma/event.h"
#include "rma/watch.h"

#include <gasnet_coll.h>
#include <strings.h>

pen_thread *pen_api_coll_enter(const char *call, const pen_team *team)
{
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_context(call);
    pen_api_check_team(call, team);
    return pen_api_thread(job);
}

static pen_thread *enter(const char *call, const pen_team *team, gex_Flags_t flags)
{
    pen_thread *thread = pen_api_coll_enter(call, team);
    if (pen_unlikely(flags != 0))
        pen_api_misuse(call, "flags 0x%x: must be 0", flags);
    return thread;
}

/* Checked builds: the client has to synchronise the event, even if the collective is done already.
 */
static gex_Event_t begun(pen_thread *thread, const char *call, pen_event *event)
{
    if (!PEN_CHECKED)
        return event;
    const pen_watch_call what = { .name = call, .thread = thread, .kind = PEN_WATCH_OTHER };
    return pen_watch_event(&what, event, NULL);
}

void pen_api_coll_check_root(const char *call, const pen_team *team, uint32_t root)
{
    if (pen_unlikely(root >= team->view.size))
        pen_api_misuse(call, "there is no rank %u to be the root in a team of %u", root,
                       team->view.size);
}

static void check_memory(const char *call, const char *name, const void *memory, size_t len)
{
    if (pen_unlikely(memory == NULL && len != 0))
        pen_api_misuse(call, "%s is NULL, for %zu bytes", name, len);
}

/* ---- moving ---------------------------------------------------------------------------------- */

gex_Event_t pen_api_coll_move(const char *call, pen_thread *thread, pen_team *team,
                              const pen_coll_move *move)
{
    bool is_root = move->root == team->view.rank || move->root == PEN_COLL_ALL;
    if (pen_unlikely(move->kind != PEN_COLL_BROADCAST && move->len > SIZE_MAX / team->view.size))
        pen_api_misuse(call, "%zu bytes from each of %u members are more than there can be",
                       move->len, team->view.size);
    if (is_root || move->kind != PEN_COLL_GATHER)
        check_memory(call, "dst", move->dest, move->len);
    if (is_root || move->kind == PEN_COLL_GATHER)
        check_memory(call, "src", move->source, move->len);
    return begun(thread, call, pen_coll_move_nb(thread, team, move));
}

/* Begins a collective with a root; collectives without one pass PEN_COLL_ALL. */
static gex_Event_t move_rooted(const char *call, pen_team *team, gex_Flags_t flags,
                               const pen_coll_move *move)
{
    pen_thread *thread = enter(call, team, flags);
    pen_api_coll_check_root(call, team, move->root);
    return pen_api_coll_move(call, thread, team, move);
}

gex_Event_t gex_Coll_BroadcastNB(gex_TM_t team, gex_Rank_t root, void *dst, const void *src,
                                 size_t nbytes, gex_Flags_t flags)
{
    const pen_coll_move move = { PEN_COLL_BROADCAST, root, dst, src, nbytes, 0 };
    return move_rooted("gex_Coll_BroadcastNB", team, flags, &move);
}

gex_Event_t pen_Coll_GatherToOneNB(gex_TM_t team, gex_Rank_t root, void *dst, const void *src,
                                   size_t nbytes, gex_Flags_t flags)
{
    const pen_coll_move move = { PEN_COLL_GATHER, root, dst, src, nbytes, 0 };
    return move_rooted("pen_Coll_GatherToOneNB", team, flags, &move);
}

gex_Event_t pen_Coll_GatherToAllNB(gex_TM_t team, void *dst, const void *src, size_t nbytes,
                                   gex_Flags_t flags)
{
    static const char call[] = "pen_Coll_GatherToAllNB";
    const pen_coll_move move = { PEN_COLL_GATHER, PEN_COLL_ALL, dst, src, nbytes, 0 };
    return pen_api_coll_move(call, enter(call, team, flags), team, &move);
}

gex_Event_t pen_Coll_ScatterNB(gex_TM_t team, gex_Rank_t root, void *dst, const void *src,
                               size_t nbytes, gex_Flags_t flags)
{
    const pen_coll_move move = { PEN_COLL_SCATTER, root, dst, src, nbytes, 0 };
    return move_rooted("pen_Coll_ScatterNB", team, flags, &move);
}

gex_Event_t pen_Coll_AllToAllNB(gex_TM_t team, void *dst, const void *src, size_t nbytes,
                                gex_Flags_t flags)
{
    static const char call[] = "pen_Coll_AllToAllNB";
    const pen_coll_move move = { PEN_COLL_EXCHANGE, PEN_COLL_ALL, dst, src, nbytes, 0 };
    return pen_api_coll_move(call, enter(call, team, flags), team, &move);
}

/* ---- reducing -------------------------------------------------------------------------------- */

/* Sizes, indexed by the bit of GEX_DT_... */
static const uint8_t type_lens[] = { 4, 4, 8, 8, 4, 8 };

static void check_type(const char *call, const pen_reduction *reduction)
{
    uint32_t type = reduction->type;
    size_t len = reduction->element_len;
    if (type == GEX_DT_USER) {
        if (len == 0 && reduction->count != 0)
            pen_api_misuse(call, "dt_sz is 0");
        return;
    }
    if (type == 0 || (type & (type - 1)) != 0 || type > GEX_DT_USER)
        pen_api_misuse(call, "dt 0x%x is no data type", type);
    if (len != type_lens[ffs((int)type) - 1])
        pen_api_misuse(call, "dt_sz is %zu, but an element of type 0x%x has %u bytes", len, type,
                       type_lens[ffs((int)type) - 1]);
}

static void check_operation(const char *call, pen_reduction *reduction)
{
    uint32_t operation = reduction->operation;
    if (operation == GEX_OP_USER || operation == GEX_OP_USER_NC) {
        if (reduction->function == NULL)
            pen_api_misuse(call, "op is GEX_OP_USER or GEX_OP_USER_NC, but fn is NULL");
        return;
    }
    if (reduction->type == GEX_DT_USER)
        pen_api_misuse(call,
                       "op 0x%x: elements of GEX_DT_USER are combined by GEX_OP_USER or "
                       "GEX_OP_USER_NC",
                       operation);
    if (!pen_coll_can_combine(reduction->type, operation))
        pen_api_misuse(call, "op 0x%x: no reduction with this operation exists for dt 0x%x",
                       operation, reduction->type);
    reduction->function = NULL;
}

void pen_api_coll_check_reduction(const char *call, pen_reduction *reduction)
{
    check_type(call, reduction);
    check_operation(call, reduction);
    if (reduction->element_len != 0 && reduction->count > SIZE_MAX / reduction->element_len)
        pen_api_misuse(call, "%zu elements of %zu bytes are more than there can be",
                       reduction->count, reduction->element_len);
}

/* Elements are read and written in their own type. */
static void check_elements(const char *call, const char *what, const void *memory,
                           const pen_reduction *reduction)
{
    check_memory(call, what, memory, reduction->count * reduction->element_len);
    if (reduction->type != GEX_DT_USER && (uintptr_t)memory % reduction->element_len != 0)
        pen_api_misuse(call, "%s at %p is not aligned for elements of %zu bytes", what, memory,
                       reduction->element_len);
}

static pen_reduction reduction_of(gex_DT_t dt, size_t dt_sz, size_t count, gex_OP_t op,
                                  gex_Coll_ReduceFn_t fn, void *cdata)
{
    return (pen_reduction){ .type = dt,
                            .operation = op,
                            .element_len = dt_sz,
                            .count = count,
                            .function = fn,
                            .context = cdata };
}

gex_Event_t pen_api_coll_reduce(const char *call, pen_thread *thread, pen_team *team, uint32_t root,
                                void *dst, const void *src, pen_reduction *reduction)
{
    pen_api_coll_check_reduction(call, reduction);
    check_elements(call, "src", src, reduction);
    if (root == team->view.rank || root == PEN_COLL_ALL)
        check_elements(call, "dst", dst, reduction);
    return begun(thread, call, pen_coll_reduce_nb(thread, team, root, dst, src, reduction));
}

gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t team, gex_Rank_t root, void *dst, const void *src,
                                   gex_DT_t dt, size_t dt_sz, size_t count, gex_OP_t op,
                                   gex_Coll_ReduceFn_t fn, void *cdata, gex_Flags_t flags)
{
    static const char call[] = "gex_Coll_ReduceToOneNB";
    pen_thread *thread = enter(call, team, flags);
    pen_reduction reduction = reduction_of(dt, dt_sz, count, op, fn, cdata);
    pen_api_coll_check_root(call, team, root);
    return pen_api_coll_reduce(call, thread, team, root, dst, src, &reduction);
}

gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t team, void *dst, const void *src, gex_DT_t dt,
                                   size_t dt_sz, size_t count, gex_OP_t op, gex_Coll_ReduceFn_t fn,
                                   void *cdata, gex_Flags_t flags)
{
    static const char call[] = "gex_Coll_ReduceToAllNB";
    pen_thread *thread = enter(call, team, flags);
    pen_reduction reduction = reduction_of(dt, dt_sz, count, op, fn, cdata);
    return pen_api_coll_reduce(call, thread, team, PEN_COLL_ALL, dst, src, &reduction);
}

static gex_Event_t scan(const char *call, pen_thread *thread, pen_team *team, void *dst,
                        const void *src, pen_reduction *reduction, bool exclusive)
{
    pen_api_coll_check_reduction(call, reduction);
    check_elements(call, "src", src, reduction);
    if (!exclusive || team->view.rank != 0)
        check_elements(call, "dst", dst, reduction);
    return begun(thread, call, pen_coll_scan_nb(thread, team, dst, src, reduction, exclusive));
}

gex_Event_t pen_Coll_ScanNB(gex_TM_t team, void *dst, const void *src, gex_DT_t dt, size_t dt_sz,
                            size_t count, gex_OP_t op, gex_Coll_ReduceFn_t fn, void *cdata,
                            gex_Flags_t flags)
{
    static const char call[] = "pen_Coll_ScanNB";
    pen_thread *thread = enter(call, team, flags);
    pen_reduction reduction = reduction_of(dt, dt_sz, count, op, fn, cdata);
    return scan(call, thread, team, dst, src, &reduction, false);
}

gex_Event_t pen_Coll_ExclusiveScanNB(gex_TM_t team, void *dst, const void *src, gex_DT_t dt,
                                     size_t dt_sz, size_t count, gex_OP_t op,
                                     gex_Coll_ReduceFn_t fn, void *cdata, gex_Flags_t flags)
{
    static const char call[] = "pen_Coll_ExclusiveScanNB";
    pen_thread *thread = enter(call, team, flags);
    pen_reduction reduction = reduction_of(dt, dt_sz, count, op, fn, cdata);
    return scan(call, thread, team, dst, src, &reduction, true);
}
