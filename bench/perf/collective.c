/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.c: operations of all ranks together. A length is that of one rank's part. */
#include "perf.h"

#include <gasnet_coll.h>

#include <stdlib.h>
#include <string.h>

static unsigned char *sent, *received;

void perf_collective_room(size_t len_max)
{
    const size_t len = len_max * perf.size;
    sent = aligned_alloc(4096, (len + 4095) / 4096 * 4096);
    received = aligned_alloc(4096, (len + 4095) / 4096 * 4096);
    if (sent == NULL || received == NULL) {
        fprintf(stderr, "perf: no memory for 2 buffers of %zu bytes; give a smaller --max\n", len);
        gasnet_exit(1);
    }
    memset(sent, 0, len); /* touched, and zero is a number in every type */
    memset(received, 0, len);
}

void perf_barrier(uint64_t rounds, size_t len)
{
    (void)len;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_Event_Wait(gex_Coll_BarrierNB(perf.team, 0));
}

void perf_barrier_blocking(uint64_t rounds, size_t len)
{
    (void)len;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_Coll_BarrierBlocking(perf.team, 0);
}

void perf_barrier_gasnet1(uint64_t rounds, size_t len)
{
    (void)len;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
        (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    }
}

/* The roots take turns, so that no rank runs ahead of the others by more than a collective. */
static gex_Rank_t root_of(uint64_t round_i) { return (gex_Rank_t)(round_i % perf.size); }

void perf_broadcast(uint64_t rounds, size_t len)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_Event_Wait(gex_Coll_BroadcastNB(perf.team, root_of(round_i), received, sent, len, 0));
}

void perf_reduce_to_one(uint64_t rounds, size_t len)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_Event_Wait(gex_Coll_ReduceToOneNB(perf.team, root_of(round_i), received, sent,
                                              GEX_DT_DBL, sizeof(double), len / sizeof(double),
                                              GEX_OP_ADD, NULL, NULL, 0));
}

void perf_reduce_to_all(uint64_t rounds, size_t len)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_Event_Wait(gex_Coll_ReduceToAllNB(perf.team, received, sent, GEX_DT_DBL, sizeof(double),
                                              len / sizeof(double), GEX_OP_ADD, NULL, NULL, 0));
}

void perf_gather(uint64_t rounds, size_t len)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_Event_Wait(pen_Coll_GatherToOneNB(perf.team, root_of(round_i), received, sent, len, 0));
}

void perf_gather_to_all(uint64_t rounds, size_t len)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_Event_Wait(pen_Coll_GatherToAllNB(perf.team, received, sent, len, 0));
}

void perf_all_to_all(uint64_t rounds, size_t len)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_Event_Wait(pen_Coll_AllToAllNB(perf.team, received, sent, len, 0));
}
