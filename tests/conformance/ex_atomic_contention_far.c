/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_atomic_contention_far.c: contention on memory that only rank 0 reaches: its own threads
 * operate on it while it carries out the operations of its peers.
 *
 * TESTS: gex_AD_OpNB_U64 gex_AD_OpNBI_U64 gex_AD_OpNBI_DBL
 */
#define GASNET_SEGMENT_EVERYTHING 1
#include "conformance/ex_atomic_contention.h"

enum { ADDRESS = 200 };

static shared_words here;
static check_count told;

static void address(gex_Token_t token, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    (void)token;
    words = (shared_words *)(uintptr_t)(((uint64_t)(uint32_t)high << 32) | (uint32_t)low);
    check_add(&told, 1);
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    gex_AM_Entry_t entry = {
        ADDRESS, (gex_AM_Fn_t)address, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL, NULL
    };
    ex_register(&entry, 1);
    CHECK_EQ(gex_Segment_Attach(&ex_segment, ex_tm, 4096), GASNET_OK,
             "GASNet-EX Segments: Attach under EVERYTHING");
    here.product = 1;
    for (gex_Rank_t rank = 0; check_rank == 0 && rank < (gex_Rank_t)check_size; rank++)
        gex_AM_RequestShort2(ex_tm, rank, ADDRESS, 0, (gex_AM_Arg_t)((uintptr_t)&here >> 32),
                             (gex_AM_Arg_t)(uintptr_t)&here);
    CHECK_WAIT(told, 1);
    ex_barrier();
    contend();
    return check_end();
}
