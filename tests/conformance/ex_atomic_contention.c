/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_atomic_contention.c: remote atomics of all ranks and threads on the same words of a segment.
 *
 * TESTS: gex_AD_OpNB_U64 gex_AD_OpNBI_U64 gex_AD_OpNBI_I32 gex_AD_OpNBI_U32 gex_AD_OpNBI_DBL
 * gex_AD_OpNBI_FLT
 */
#include "conformance/ex_atomic_contention.h"

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    char *mine = ex_attach((sizeof(shared_words) + GASNET_PAGESIZE) & ~(GASNET_PAGESIZE - 1ul));
    memset(mine, 0, sizeof(shared_words));
    words = (shared_words *)(void *)ex_base(0);
    if (check_rank == 0)
        words->product = 1;
    ex_barrier();
    contend();
    return check_end();
}
