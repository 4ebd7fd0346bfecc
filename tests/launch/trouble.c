/* SPDX-License-Identifier: BSD-3-Clause */
/* trouble.c: a client that gets into trouble, for debug.py: trouble WHAT, of which rank 1 is the
 * one that it happens to. */
#include <gasnetex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { HANDLER_OF_THE_LIBRARY = 5 };

static gex_TM_t team;

static void get_into(const char *what)
{
    if (strcmp(what, "fatal") == 0)
        (void)gex_AM_RequestShort0(team, 0, HANDLER_OF_THE_LIBRARY, 0);
    if (strcmp(what, "crash") == 0)
        (void)raise(SIGSEGV);
    for (volatile int forever = strcmp(what, "loop") == 0; forever;)
        gasnet_AMPoll();
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    if (gex_Client_Init(&client, &endpoint, &team, "TROUBLE", &argc, &argv, 0) != GASNET_OK)
        return 1;
    printf("rank %u is here\n", (unsigned)gex_TM_QueryRank(team));
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (gex_TM_QueryRank(team) == 1)
        get_into(argc > 1 ? argv[1] : "");
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    return 0;
}
