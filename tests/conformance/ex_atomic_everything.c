/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_atomic_everything.c: remote atomics on any address under GASNET_SEGMENT_EVERYTHING, where the
 * target has to do them.
 *
 * TESTS: gex_AD_Create gex_AD_OpNB_U64 gex_AD_OpNBI_U64
 */
#define GASNET_SEGMENT_EVERYTHING 1
#include "conformance/ex_atomic_ops.h"

enum { ADDRESS = 200 };

static char target[24 * 64] __attribute__((aligned(8)));
static char *targets[64];
static check_count told;

static void address(gex_Token_t token, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    targets[info.gex_srcrank] =
        (char *)(uintptr_t)(((uint64_t)(uint32_t)high << 32) | (uint32_t)low);
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
    for (gex_Rank_t rank = 0; rank < (gex_Rank_t)check_size; rank++)
        gex_AM_RequestShort2(ex_tm, rank, ADDRESS, 0, (gex_AM_Arg_t)((uintptr_t)target >> 32),
                             (gex_AM_Arg_t)(uintptr_t)target);
    CHECK_WAIT(told, check_size);
    ex_barrier();
    all_operations(targets);
    return check_end();
}
