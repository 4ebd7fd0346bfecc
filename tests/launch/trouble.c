/* SPDX-License-Identifier: BSD-3-Clause */
/* trouble.c: a client that gets into trouble, for debug.py and again.py: trouble WHAT, of which
 * rank 1 is the one that it happens to. */
#include <gasnetex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { HANDLER = 200, RANK_OF_NOBODY = 1000, LEN = 1 << 20 };

static gex_TM_t team;
static char memory[LEN], source[LEN];

/* A put that is carried by messages is not over before this rank has polled. */
static void leave_too_early(void)
{
    void *there = NULL;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, 0, &there, NULL, NULL, 0));
    (void)gex_RMA_PutNBI(team, 0, there, source, LEN, GEX_EVENT_DEFER, 0);
    (void)pen_finalize();
}

static void get_into(const char *what)
{
    if (strcmp(what, "fatal") == 0)
        (void)gex_AM_RequestShort0(team, RANK_OF_NOBODY, HANDLER, 0);
    if (strcmp(what, "leave") == 0)
        leave_too_early();
    if (strcmp(what, "crash") == 0)
        (void)raise(SIGSEGV);
    for (volatile int forever = strcmp(what, "loop") == 0; forever;)
        gasnet_AMPoll();
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_Segment_t segment;
    if (gex_Client_Init(&client, &endpoint, &team, "TROUBLE", &argc, &argv, 0) != GASNET_OK)
        return 1;
    if (gex_Segment_Create(&segment, client, memory, LEN, GEX_MK_HOST, 0) != GASNET_OK ||
        gex_EP_BindSegment(endpoint, segment, 0) != GASNET_OK ||
        gex_EP_PublishBoundSegment(team, &endpoint, 1, 0) != GASNET_OK)
        return 1;
    printf("rank %u is here\n", (unsigned)gex_TM_QueryRank(team));
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (gex_TM_QueryRank(team) == 1)
        get_into(argc > 1 ? argv[1] : "");
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    return 0;
}
