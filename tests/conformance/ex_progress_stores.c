/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_progress_stores.c: a rank that makes nothing but puts, gets, atomics or requests, and never
 * polls by itself, still serves its peers: it goes on until a handler of its own sets a
 * flag, and the message for that handler comes from another rank while it goes on. Without
 * progress in these calls the program would hang.
 *
 * TESTS: gex_RMA_PutBlocking gex_RMA_GetBlocking gex_RMA_PutNB gex_RMA_GetNB gex_RMA_PutNBI
 * TESTS: gex_RMA_GetNBI gex_RMA_PutBlockingVal gex_RMA_GetBlockingVal gex_VIS_StridedPutBlocking
 */
#include <gasnet.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { STOP = 200, COUNT, LEN = 64, LONG_LEN = 1 << 16 };

static check_count stops, counted;
static gex_AD_t domain;
static char *theirs; /* in the segment of the peer; each rank writes to one rank only */
static gex_Rank_t peer;
static char local[LONG_LEN];

static void stop(gex_Token_t token)
{
    (void)token;
    check_add(&stops, 1);
}

static void count(gex_Token_t token)
{
    (void)token;
    check_add(&counted, 1);
}

static gex_AM_Entry_t table[] = {
    { STOP, (gex_AM_Fn_t)stop, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "stop" },
    { COUNT, (gex_AM_Fn_t)count, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "count" },
};

/* ---- what a rank does all the time ------------------------------------------------------------
 */

static void put(void) { gex_RMA_PutBlocking(ex_tm, peer, theirs, local, LEN, 0); }
static void get(void) { gex_RMA_GetBlocking(ex_tm, local, peer, theirs, LEN, 0); }
static void put_long(void) { gex_RMA_PutBlocking(ex_tm, peer, theirs, local, LONG_LEN, 0); }
static void put_value(void) { gex_RMA_PutBlockingVal(ex_tm, peer, theirs, 7, 8, 0); }
static void get_value(void) { (void)gex_RMA_GetBlockingVal(ex_tm, peer, theirs, 8, 0); }
static void get_own(void)
{
    (void)gex_RMA_GetBlockingVal(ex_tm, (gex_Rank_t)check_rank, ex_base((gex_Rank_t)check_rank), 8,
                                 0);
}

static void put_nb(void)
{
    gex_Event_Wait(gex_RMA_PutNB(ex_tm, peer, theirs, local, LEN, GEX_EVENT_NOW, 0));
}

static void get_nb(void) { gex_Event_Wait(gex_RMA_GetNB(ex_tm, local, peer, theirs, LEN, 0)); }

static void put_nbi(void)
{
    gex_RMA_PutNBI(ex_tm, peer, theirs, local, LEN, GEX_EVENT_NOW, 0);
    gex_NBI_Wait(GEX_EC_PUT, 0);
}

static void get_nbi(void)
{
    gex_RMA_GetNBI(ex_tm, local, peer, theirs, LEN, 0);
    gex_NBI_Wait(GEX_EC_GET, 0);
}

static void fill(void) { gasnet_memset(peer, theirs, 3, LEN); }

static void add(void)
{
    uint64_t old;
    gex_Event_Wait(gex_AD_OpNB_U64(domain, &old, peer, theirs, GEX_OP_FADD, 1, 0, 0));
}

static void put_pieces(void)
{
    const size_t extent = 2;
    const ptrdiff_t stride = 16;
    gex_VIS_StridedPutBlocking(ex_tm, peer, theirs, &stride, local, &stride, 8, &extent, 1, 0);
}

static void request(void) { gex_AM_RequestShort0(ex_tm, peer, COUNT, 0); }

static void (*const actions[])(void) = {
    put,    get,     put_long, put_value, get_value, get_own,    put_nb,
    get_nb, put_nbi, get_nbi,  fill,      add,       put_pieces, request,
};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

/* Each of two ranks both goes on and sends meanwhile, so neither polls. Rank 0 begins, and stops
 * last. */
static void exchange(void (*act)(void))
{
    const unsigned before = check_counted(&stops);
    ex_barrier();
    if (check_rank % 2 == 0) {
        for (int i = 0; i < 1000; i++)
            act();
        gex_AM_RequestShort0(ex_tm, peer, STOP, 0);
    }
    while (check_counted(&stops) == before)
        act();
    if (check_rank % 2 != 0)
        gex_AM_RequestShort0(ex_tm, peer, STOP, 0);
    ex_barrier();
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, GEX_FLAG_USES_GASNET1);
    ex_register(table, 2);
    (void)ex_attach(LONG_LEN);
    ex_barrier();
    peer = (gex_Rank_t)(check_rank ^ 1) < (gex_Rank_t)check_size ? (gex_Rank_t)(check_rank ^ 1)
                                                                 : (gex_Rank_t)check_rank;
    theirs = ex_base(peer);
    gex_AD_Create(&domain, ex_tm, GEX_DT_U64, GEX_OP_FADD, 0);
    for (int i = 0; i < ACTIONS; i++)
        exchange(actions[i]);
    gex_AD_Destroy(domain);
    return check_end();
}
