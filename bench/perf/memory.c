/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c: rank 0 puts to and gets from rank 1's segment, in one piece and in many, and adds to a
 * word of it. */
#include "../raw_memory.h"
#include "perf.h"

#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

/* As a client has them: in variables of its own, not in memory that every fence makes it read. */
typedef struct target {
    gex_TM_t team;
    gex_Rank_t rank;
    unsigned char *bulk, *local;
} target;

static inline target the_target(void)
{
    return (target){ perf.team, perf.peer, perf.peer_bulk, perf.local };
}

void perf_put8(uint64_t rounds, size_t len)
{
    const target to = the_target();
    (void)len;
    if (perf.rank != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gex_RMA_PutBlocking(to.team, to.rank, to.bulk, &round_i, sizeof(round_i), 0);
        raw_compiler_fence();
    }
}

void perf_get8(uint64_t rounds, size_t len)
{
    const target from = the_target();
    uint64_t value = 0;
    (void)len;
    if (perf.rank != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        raw_compiler_fence();
        gex_RMA_GetBlocking(from.team, &value, from.rank, from.bulk, sizeof(value), 0);
        __asm__ volatile("" ::"r"(value));
    }
}

void perf_put(uint64_t rounds, size_t len)
{
    const target to = the_target();
    if (perf.rank != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gex_RMA_PutBlocking(to.team, to.rank, to.bulk, to.local, len, 0);
        raw_compiler_fence();
    }
}

void perf_put_stream(uint64_t rounds, size_t len)
{
    const target to = the_target();
    if (perf.rank != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_RMA_PutNBI(to.team, to.rank, to.bulk, to.local, len, GEX_EVENT_DEFER, 0);
    gex_NBI_Wait(GEX_EC_PUT, 0);
}

void perf_get(uint64_t rounds, size_t len)
{
    const target from = the_target();
    if (perf.rank != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gex_RMA_GetBlocking(from.team, from.local, from.rank, from.bulk, len, 0);
        raw_compiler_fence();
    }
}

void perf_fetch_add(uint64_t rounds, size_t len)
{
    const gex_AD_t domain = perf.domain;
    const gex_Rank_t rank = perf.peer;
    void *const counter = perf.peer_counter;
    uint64_t old = 0;
    (void)len;
    if (perf.rank != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gex_Event_Wait(gex_AD_OpNB_U64(domain, &old, rank, counter, GEX_OP_FADD, 1, 0, 0));
        __asm__ volatile("" ::"r"(old));
    }
}

/* As raw_put_pieces; pieces longer than RAW_PIECE_LEN lie four lengths apart, too. */
static ptrdiff_t stride_of(size_t len) { return (ptrdiff_t)len * (RAW_STRIDE / RAW_PIECE_LEN); }

void perf_put_pieces(uint64_t rounds, size_t len)
{
    const ptrdiff_t there = stride_of(len), here = (ptrdiff_t)len;
    const size_t count = RAW_PIECES;
    const target to = the_target();
    if (perf.rank != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gex_VIS_StridedPutBlocking(to.team, to.rank, to.bulk, &there, to.local, &here, len, &count,
                                   1, 0);
        raw_compiler_fence();
    }
}

void perf_get_pieces(uint64_t rounds, size_t len)
{
    const ptrdiff_t there = stride_of(len), here = (ptrdiff_t)len;
    const size_t count = RAW_PIECES;
    const target from = the_target();
    if (perf.rank != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gex_VIS_StridedGetBlocking(from.team, from.local, &here, from.rank, from.bulk, &there, len,
                                   &count, 1, 0);
        raw_compiler_fence();
    }
}
