/* SPDX-License-Identifier: BSD-3-Clause */
/* traced.c: a client whose trace is known: every rank sends MEDIUMS Mediums and makes PUTS puts to
 * the next rank, inside a region "step"; then come BARRIERS barriers, to which the last rank comes
 * late. With the word "flood" rank 0 sends until the job is ended. The payload contains the word
 * that trace.py looks for in the file. */
#include <gasnetex.h>

#include <gasnet_coll.h>
#include <penstock/trace.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MEDIUM = 200 };
enum { MEDIUMS = 500, PUTS = 300, BARRIERS = 5, MEDIUM_LEN = 128, PUT_LEN = 64 };
enum { LATE_US = 30000, SEGMENT_LEN = 1 << 16 };

static volatile unsigned arrived;

static void on_medium(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t number)
{
    (void)token, (void)data, (void)len, (void)number;
    arrived++;
}

static void step(gex_TM_t team, gex_Rank_t to, void *there)
{
    char payload[MEDIUM_LEN] = "payload-of-a-message";
    pen_trace_begin("step");
    for (int i = 0; i < MEDIUMS; i++)
        gex_AM_RequestMedium1(team, to, MEDIUM, payload, sizeof payload, GEX_EVENT_NOW, 0, i);
    for (int i = 0; i < PUTS; i++)
        gex_RMA_PutBlocking(team, to, there, payload, PUT_LEN, 0);
    GASNET_BLOCKUNTIL(arrived == MEDIUMS);
    pen_trace_end("step");
    pen_trace_mark("arrived");
    pen_trace_value("messages", (double)arrived);
}

static _Noreturn void flood(gex_TM_t team, gex_Rank_t me)
{
    for (;;) {
        if (me == 0)
            gex_AM_RequestMedium1(team, 1, MEDIUM, NULL, 0, GEX_EVENT_NOW, 0, 0);
        else
            gasnet_AMPoll();
    }
}

int main(int argc, char **argv)
{
    gex_AM_Entry_t handlers[] = {
        { MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL,
          "medium" },
    };
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t team;
    gex_Segment_t segment;
    gex_Client_Init(&client, &ep, &team, "traced", &argc, &argv, 0);
    gex_EP_RegisterHandlers(ep, handlers, 1);
    gex_Segment_Attach(&segment, team, SEGMENT_LEN);
    const gex_Rank_t me = gex_TM_QueryRank(team), size = gex_TM_QuerySize(team);
    const gex_Rank_t to = (me + 1) % size;
    void *there;
    gex_EP_QueryBoundSegmentNB(team, to, &there, NULL, NULL, 0);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    printf("rank %d is ready, traced %d\n", (int)me, pen_trace_is_on());
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "flood") == 0)
        flood(team, me);
    step(team, to, there);
    for (int i = 0; i < BARRIERS; i++) {
        if (me == size - 1)
            usleep(LATE_US);
        gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    }
    gasnet_exit(0);
}
