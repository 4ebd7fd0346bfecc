/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_barrier_hsl.c: the GASNet-EX barrier, alone and several at a time, beside the GASNet-1
 * barrier; locks that handlers may hold; wait modes and poll.
 *
 * TESTS: gex_Coll_BarrierNB gex_Coll_BarrierBlocking gex_HSL_Init gex_HSL_Destroy gex_HSL_Lock
 * gex_HSL_Unlock TESTS: gex_HSL_Trylock gasnet_AMPoll gasnet_set_waitmode gex_Event_Test
 * gasnet_QueryGexObjects
 */
#include <gasnet.h>
#include <string.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { ADD = 220, ROUNDS = 200, SEGMENT_LEN = 65536 };

static gex_HSL_t lock = GEX_HSL_INITIALIZER;
static uint64_t guarded[2]; /* equal whenever the lock is free */
static check_count handled;

static void bump(void)
{
    gex_HSL_Lock(&lock);
    guarded[0]++;
    CHECK(guarded[0] == guarded[1] + 1, "GASNet-EX HSL: one holder at a time");
    guarded[1]++;
    gex_HSL_Unlock(&lock);
}

static void add(gex_Token_t token)
{
    (void)token;
    bump();
    check_add(&handled, 1);
}

static void worker(unsigned thread_i)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        bump();
        gex_AM_RequestShort0(ex_tm, check_next(1 + (thread_i + i) % (unsigned)check_size), ADD, 0);
        gasnet_AMPoll();
    }
}

/* After a barrier every rank sees what every other put before it. */
static void barrier_order(char *base)
{
    volatile uint32_t *seen = (volatile uint32_t *)(void *)base;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        for (gex_Rank_t r = 0; r < (gex_Rank_t)check_size; r++)
            gex_RMA_PutNBIVal(ex_tm, r, ex_base(r) + 4 * check_rank, round, 4, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        gex_Event_t event = gex_Coll_BarrierNB(ex_tm, 0);
        if (round % 3 == 0) {
            while (gex_Event_Test(event) != 0)
                gasnet_AMPoll();
        } else {
            gex_Event_Wait(event);
        }
        for (int r = 0; r < check_size; r++)
            CHECK_EQ(seen[r], round, "GASNet-EX Coll: a barrier orders what completed before it");
        if (round % 2)
            gex_Coll_BarrierBlocking(ex_tm, 0);
        else
            check_barrier();
    }
}

static void several_outstanding(void)
{
    gex_Event_t events[8];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++)
            events[i] = gex_Coll_BarrierNB(ex_tm, 0);
        gex_Event_WaitAll(events, 8, 0);
    }
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, GEX_FLAG_USES_GASNET1);
    gex_Client_t client = GEX_CLIENT_INVALID;
    gex_EP_t ep = GEX_EP_INVALID;
    gex_TM_t tm = GEX_TM_INVALID;
    gasnet_QueryGexObjects(&client, &ep, &tm, NULL);
    CHECK(client == ex_client && ep == ex_ep && tm == ex_tm,
          "GASNet-1 interoperability: the primordial objects");
    CHECK(gex_Client_QueryFlags(ex_client) & GEX_FLAG_USES_GASNET1,
          "GASNet-EX Client: flags are echoed");
    gex_AM_Entry_t entry = {
        ADD, (gex_AM_Fn_t)add, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, NULL
    };
    ex_register(&entry, 1);
    char *base = ex_attach(SEGMENT_LEN);

    for (int mode = GASNET_WAIT_SPIN; mode <= GASNET_WAIT_SPINBLOCK; mode++) {
        CHECK_EQ(gasnet_set_waitmode(mode), GASNET_OK, "GASNet-1 Core: wait modes");
        several_outstanding();
    }
    barrier_order(base);

    gex_HSL_t dynamic;
    memset(&dynamic, 0xa5, sizeof dynamic); /* Init may find any bytes in the lock */
    gex_HSL_Init(&dynamic);
    CHECK_EQ(gex_HSL_Trylock(&dynamic), GASNET_OK, "GASNet-EX HSL: a free lock is taken");
    gex_HSL_Unlock(&dynamic);
    gex_HSL_Destroy(&dynamic);
    check_on_threads(worker);
    CHECK_WAIT(handled, CHECK_THREADS * ROUNDS);
    ex_barrier();
    CHECK_EQ(guarded[0], 2 * CHECK_THREADS * ROUNDS, "GASNet-EX HSL: nothing was lost");
    return check_end();
}
