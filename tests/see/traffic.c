/* SPDX-License-Identifier: BSD-3-Clause */
/* traffic.c: a client with known traffic: rank 0 sends MEDIUMS Mediums and LONGS Longs, makes PUTS
 * puts by inline code where memory is shared, and gets GETS pieces with the library's vector call.
 * Then rank 0 waits in a barrier that rank 1 does not enter. live.py compares the counters. With
 * the word "stream" rank 0 sends Mediums until the job is ended, with "puts" it puts 8 bytes. */
#include <gasnetex.h>

#include <gasnet_vis.h>
#include <stdio.h>
#include <unistd.h>

enum { MEDIUM = 200, LONG };
enum { MEDIUMS = 1000, LONGS = 10, PUTS = 1280, GETS = 20 };
enum { MEDIUM_LEN = 300, LONG_LEN = 60000, SEGMENT_LEN = 1 << 17 };

static volatile unsigned arrived;

static void on_medium(gex_Token_t token, void *data, size_t len)
{
    (void)token, (void)data, (void)len;
    arrived++;
}

static void on_long(gex_Token_t token, void *data, size_t len)
{
    (void)token, (void)data, (void)len;
    arrived++;
}

static _Noreturn void stream(gex_TM_t team, char *there, int puts)
{
    static char source[MEDIUM_LEN];
    for (;;) {
        if (puts)
            gex_RMA_PutBlocking(team, 1, there, source, 8, 0);
        else
            gex_AM_RequestMedium0(team, 1, MEDIUM, source, MEDIUM_LEN, GEX_EVENT_NOW, 0);
    }
}

static void send_all(gex_TM_t team, char *there)
{
    static char source[LONG_LEN];
    for (unsigned i = 0; i < MEDIUMS; i++)
        gex_AM_RequestMedium0(team, 1, MEDIUM, source, MEDIUM_LEN, GEX_EVENT_NOW, 0);
    for (unsigned i = 0; i < LONGS; i++)
        gex_AM_RequestLong0(team, 1, LONG, source, LONG_LEN, there, GEX_EVENT_NOW, 0);
    for (unsigned i = 0; i < PUTS; i++)
        gex_RMA_PutBlocking(team, 1, there, source, 8, 0);
    for (unsigned i = 0; i < GETS; i++) {
        gex_Memvec_t to = { source, 1000 }, from = { there, 1000 };
        gex_VIS_VectorGetBlocking(team, 1, &to, 1, 1, &from, 0);
    }
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_Segment_t segment;
    void *there = NULL;
    gex_AM_Entry_t table[] = {
        { MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL, "m" },
        { LONG, (gex_AM_Fn_t)on_long, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 0, NULL, "l" },
    };
    gex_Client_Init(&client, &endpoint, &team, "traffic", &argc, &argv, 0);
    gex_EP_RegisterHandlers(endpoint, table, sizeof table / sizeof table[0]);
    gex_Segment_Attach(&segment, team, SEGMENT_LEN);
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, 1, &there, NULL, NULL, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (gex_TM_QueryRank(team) == 0 && argc > 1)
        stream(team, there, argv[1][0] == 'p');
    if (gex_TM_QueryRank(team) == 0)
        send_all(team, there);
    else if (gex_TM_QueryRank(team) == 1)
        GASNET_BLOCKUNTIL(arrived == MEDIUMS + LONGS && argc == 1);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    printf("done\n");
    (void)fflush(stdout);
    if (gex_TM_QueryRank(team) == 1)
        (void)sleep(600);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    return 0;
}
