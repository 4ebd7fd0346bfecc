/* SPDX-License-Identifier: BSD-3-Clause */
/* clang_flags.c: a client that takes single variables from pkg-config and compiles with another
 * compiler than the library's. Each rank computes with the mathematics library without linking it
 * itself. */
#include <gasnet_coll.h>
#include <gasnetex.h>

#include <math.h>

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t team;
    gex_Client_Init(&client, &ep, &team, "CLANG", &argc, &argv, 0);
    double part = ceil(gex_TM_QueryRank(team) + 0.5) + floor(argc + 0.25), sum = 0;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &sum, &part, GEX_DT_DBL, sizeof(double), 1,
                                          GEX_OP_ADD, NULL, NULL, 0));
    double n = gex_TM_QuerySize(team);
    if (sum != n * (n - 1) / 2 + 2 * n) {
        fprintf(stderr, "the sum is %g\n", sum);
        gasnet_exit(1);
    }
    printf("rank %u of %u: good\n", gex_TM_QueryRank(team), gex_TM_QuerySize(team));
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
