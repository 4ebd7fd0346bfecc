/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_everything.c: GASNET_SEGMENT_EVERYTHING: any address of a peer is legal, in put, get and Long,
 * on child teams as well.
 *
 * TESTS: gex_Segment_Attach gex_RMA_PutBlocking gex_RMA_GetBlocking gex_RMA_PutNBI
 * gex_AM_RequestLong0 TESTS: gasnet_getMaxLocalSegmentSize gasnet_getMaxGlobalSegmentSize
 */
#define GASNET_SEGMENT_EVERYTHING 1
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { LEN = 300000, ADDRESS = 200, LONG = 201, RANKS_MAX = 64 };

static char target[LEN];              /* static data, */
static char *addresses[2][RANKS_MAX]; /* ... heap of each rank */
static check_count told, longs;

static void address(gex_Token_t token, gex_AM_Arg_t which, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    addresses[which][info.gex_srcrank] =
        (char *)(uintptr_t)(((uint64_t)(uint32_t)high << 32) | (uint32_t)low);
    check_add(&told, 1);
}

static void long_arrived(gex_Token_t token, void *buffer, size_t len)
{
    (void)token;
    CHECK(len == 5000 && check_filled(buffer, len, 3),
          "GASNet-EX Segments: a Long to any address under EVERYTHING");
    check_add(&longs, 1);
}

/* Every length to every address, in turns on the primordial team and on one in the opposite order.
 */
static void put_and_get(gex_Rank_t peer, char *source, char *back)
{
    const size_t lens[] = { 1, 8, 1000, 4096, 65536, LEN };
    gex_TM_t teams[2] = { ex_tm, GEX_TM_INVALID };
    gex_TM_Split(&teams[1], ex_tm, 0, -check_rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < 6; i++) {
            gex_TM_t team = teams[(i + which) % 2];
            gex_Rank_t rank = gex_TM_TranslateJobrankToRank(team, peer);
            check_fill(source, lens[i], (unsigned)i);
            gex_RMA_PutBlocking(team, rank, addresses[which][peer], source, lens[i], 0);
            gex_RMA_GetBlocking(team, back, rank, addresses[which][peer], lens[i], 0);
            CHECK(check_filled(back, lens[i], (unsigned)i),
                  "GASNet-EX RMA: any address of a peer under EVERYTHING");
        }
    gex_TM_Destroy(teams[1], NULL, 0);
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    CHECK(gasnet_getMaxLocalSegmentSize() == (uintptr_t)-1 &&
              gasnet_getMaxGlobalSegmentSize() == (uintptr_t)-1,
          "GASNet-1 Core: EVERYTHING has no limit");
    gex_AM_Entry_t entries[] = {
        { ADDRESS, (gex_AM_Fn_t)address, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3, NULL, NULL },
        { LONG, (gex_AM_Fn_t)long_arrived, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 0, NULL, NULL },
    };
    ex_register(entries, 2);
    gex_Segment_t segment = (gex_Segment_t)&told;
    CHECK_EQ(gex_Segment_Attach(&segment, ex_tm, 4096), GASNET_OK,
             "GASNet-EX Segments: Attach under EVERYTHING");
    CHECK(segment == GEX_SEGMENT_INVALID, "GASNet-EX Segments: ... gives GEX_SEGMENT_INVALID");

    char *heap = (char *)malloc(LEN), *back = (char *)malloc(LEN), *source = (char *)malloc(LEN);
    char *mine[2] = { target, heap };
    for (gex_Rank_t r = 0; r < (gex_Rank_t)check_size; r++)
        for (int which = 0; which < 2; which++)
            gex_AM_RequestShort3(ex_tm, r, ADDRESS, 0, which,
                                 (gex_AM_Arg_t)((uintptr_t)mine[which] >> 32),
                                 (gex_AM_Arg_t)(uintptr_t)mine[which]);
    CHECK_WAIT(told, 2 * (unsigned)check_size);
    ex_barrier();

    gex_Rank_t peer = check_next(1);
    put_and_get(peer, source, back);
    for (unsigned i = 0; i < 100; i++)
        gex_RMA_PutNBI(ex_tm, peer, addresses[0][peer] + 1000 * i, source + 1000 * i, 1000,
                       GEX_EVENT_DEFER, 0);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    ex_barrier();
    CHECK(check_filled(target, 100000, 5), "GASNet-EX RMA: implicit puts to any address");
    check_fill(source, 5000, 3);
    gex_AM_RequestLong0(ex_tm, peer, LONG, source, 5000, addresses[1][peer] + 100, GEX_EVENT_NOW,
                        0);
    CHECK_WAIT(longs, 1);
    ex_barrier();
    free(source);
    free(back);
    free(heap);
    return check_end();
}
