/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_wrong.c [case]: frequent calls with a rank that does not exist, an invalid team, domain or
 * event, in release builds; wrong.py plays the cases and reads how the job ends. Without a case all
 * calls are right.
 *
 * TESTS: gex_AM_RequestShort gex_AM_RequestMedium gex_AM_RequestLong gex_Event_Wait
 */
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { HANDLER = 200, LEN = 64 };
#define FAR ((gex_Rank_t)0x40000000)

static char data[LEN];
static char *base;
static gex_Rank_t beyond; /* the first rank beyond the team */

static void handler(gex_Token_t token) { (void)token; }
static void payload_handler(gex_Token_t token, void *payload, size_t len)
{
    (void)token, (void)payload, (void)len;
}

static gex_AM_Entry_t table[] = {
    { HANDLER, (gex_AM_Fn_t)handler, 0, 0, NULL, "handler" },
    { HANDLER + 1, (gex_AM_Fn_t)payload_handler, 0, 0, NULL, "payload_handler" },
};

static void request_short(gex_TM_t team, gex_Rank_t rank)
{
    gex_AM_RequestShort0(team, rank, HANDLER, 0);
}

static void request_medium(gex_TM_t team, gex_Rank_t rank)
{
    gex_AM_RequestMedium0(team, rank, HANDLER + 1, data, LEN, GEX_EVENT_NOW, 0);
}

static void request_long(gex_TM_t team, gex_Rank_t rank)
{
    gex_AM_RequestLong0(team, rank, HANDLER + 1, data, LEN, base, GEX_EVENT_NOW, 0);
}

static void request_event(gex_TM_t team, gex_Rank_t rank)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    gex_AM_RequestMedium0(team, rank, HANDLER + 1, data, LEN, &event, 0);
    gex_Event_Wait(event);
}

static void prepare(gex_TM_t team, gex_Rank_t rank)
{
    gex_AM_CancelRequestMedium(gex_AM_PrepareRequestMedium(team, rank, NULL, LEN, LEN, NULL, 0, 0),
                               0);
}

static void put(gex_TM_t team, gex_Rank_t rank)
{
    gex_RMA_PutBlocking(team, rank, base, data, LEN, 0);
}

static void pieces(gex_TM_t team, gex_Rank_t rank)
{
    const ptrdiff_t stride = 16;
    const size_t count = 2;
    gex_VIS_StridedPutBlocking(team, rank, base, &stride, data, &stride, 8, &count, 1, 0);
}

static void atomic(gex_TM_t team, gex_Rank_t rank)
{
    gex_AD_t domain;
    (void)team;
    gex_AD_Create(&domain, ex_tm, GEX_DT_U64, GEX_OP_ADD, 0);
    gex_Event_Wait(gex_AD_OpNB_U64(domain, NULL, rank, base, GEX_OP_ADD, 1, 0, 0));
    gex_AD_Destroy(domain);
}

static void barrier(gex_TM_t team, gex_Rank_t rank)
{
    (void)rank;
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void event_garbage(gex_TM_t team, gex_Rank_t rank)
{
    gex_Event_Wait((gex_Event_t)(uintptr_t)(team == NULL ? 0x10000 + rank : 0));
}

static const struct {
    const char *name;
    void (*act)(gex_TM_t team, gex_Rank_t rank);
} calls[] = {
    { "short", request_short }, { "medium", request_medium }, { "long", request_long },
    { "local", request_event }, { "prepare", prepare },       { "put", put },
    { "pieces", pieces },       { "atomic", atomic },         { "barrier", barrier },
    { "event", event_garbage },
};

/* rank: one beyond the team; far: one far beyond; team: GEX_TM_INVALID. */
int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    ex_register(table, 2);
    (void)ex_attach(GASNET_PAGESIZE);
    ex_barrier();
    base = ex_base(0);
    beyond = (gex_Rank_t)check_size;
    const char *call = argc > 2 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
    const gex_TM_t team = strcmp(what, "team") == 0 ? GEX_TM_INVALID : ex_tm;
    const gex_Rank_t rank = strcmp(what, "rank") == 0 ? beyond : strcmp(what, "far") == 0 ? FAR : 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (argc <= 2 || (strcmp(calls[i].name, call) == 0 && check_rank == 0))
            calls[i].act(team, rank);
    ex_barrier();
    return check_end();
}
