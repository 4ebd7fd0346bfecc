/* SPDX-License-Identifier: BSD-3-Clause */
/* hello.c: a whole program in a dozen lines. `penstock run -n 4 hello` starts four ranks of it. */
#include <gasnetex.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    if (gex_Client_Init(&client, &endpoint, &team, "HELLO", &argc, &argv, 0) != GASNET_OK)
        return 1; /* the library has already printed the reason */
    printf("hello from rank %u of %u\n", gex_TM_QueryRank(team), gex_TM_QuerySize(team));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
