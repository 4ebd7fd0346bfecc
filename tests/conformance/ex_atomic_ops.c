/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_atomic_ops.c: remote atomics on attached segments.
 *
 * TESTS: gex_AD_Create gex_AD_Destroy gex_AD_QueryFlags gex_AD_QueryTM gex_AD_QueryDT
 * gex_AD_QueryOps gex_AD_SetCData gex_AD_QueryCData gex_AD_OpNB_I32 gex_AD_OpNB_U32
 * gex_AD_OpNB_I64 gex_AD_OpNB_U64 gex_AD_OpNB_FLT gex_AD_OpNB_DBL gex_AD_OpNBI_I32
 * gex_AD_OpNBI_U32 gex_AD_OpNBI_I64 gex_AD_OpNBI_U64 gex_AD_OpNBI_FLT gex_AD_OpNBI_DBL
 */
#include "conformance/ex_atomic_ops.h"

int main(int argc, char **argv)
{
    char *targets[64];
    ex_begin(&argc, &argv, 0);
    (void)ex_attach(1 << 16);
    for (gex_Rank_t rank = 0; rank < (gex_Rank_t)check_size; rank++)
        targets[rank] = ex_base(rank);
    all_operations(targets);
    return check_end();
}
