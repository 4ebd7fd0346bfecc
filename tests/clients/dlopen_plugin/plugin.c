/* SPDX-License-Identifier: BSD-3-Clause */
/* plugin.c: a shared object that uses GASNet-EX and is the only part of its program that knows of
 * it. It sums numbers over the ranks, and leaves the job when the host program closes it. */
#include <gasnet_coll.h>
#include <gasnetex.h>

static gex_TM_t world;
static gex_Rank_t ranks;

int plugin_open(int *rank, int *size)
{
    gex_Client_t client;
    gex_EP_t ep;
    if (gex_Client_Init(&client, &ep, &world, "PLUGIN", NULL, NULL, 0) != GASNET_OK)
        return -1;
    *rank = (int)gex_TM_QueryRank(world);
    *size = (int)(ranks = gex_TM_QuerySize(world));
    return 0;
}

long plugin_sum(long value)
{
    int64_t in = value, out = 0;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(world, &out, &in, GEX_DT_I64, sizeof(in), 1, GEX_OP_ADD,
                                          NULL, NULL, 0));
    return (long)out;
}

int plugin_close(void) { return pen_finalize(); }
