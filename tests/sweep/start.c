/* SPDX-License-Identifier: BSD-3-Clause */
/* start.c: start-up only: initialise, attach, meet once, report it, end. The failure sweep makes
 * each call of the library on this path fail in turn. */
#include <gasnetex.h>

#include <stdio.h>

__attribute__((weak)) void pen_fail_stop(void); /* there when fail.so is preloaded */

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_Segment_t segment;
    if (gex_Client_Init(&client, &endpoint, &team, "START", &argc, &argv, 0) != GASNET_OK ||
        gex_Segment_Attach(&segment, team, 1 << 20) != GASNET_OK)
        return 1;
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (pen_fail_stop)
        pen_fail_stop();
    printf("rank %u started\n", gex_TM_QueryRank(team));
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    return 0;
}
