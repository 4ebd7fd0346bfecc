/* SPDX-License-Identifier: BSD-3-Clause */
/* cost.c: prints the nanoseconds of processor time of an operation in rank 0, for cost.py: Shorts
 * one way, round trips, Mediums, puts of 8 bytes. The same program runs with and without a trace.
 */
#include <gasnetex.h>

#include <gasnet_coll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SINK = 200, ASK, ANSWER, MEDIUM };
enum { BLOCK = 512, SEGMENT_LEN = 1 << 16, MEDIUM_LEN = 256 };

static gex_TM_t team;
static gex_Rank_t me;
static void *there;
static volatile unsigned sunk, answered;

static void on_sink(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b)
{
    (void)token, (void)a, (void)b;
    sunk++;
}

static void on_medium(gex_Token_t token, void *data, size_t len)
{
    (void)token, (void)data, (void)len;
    sunk++;
}

static void on_ask(gex_Token_t token) { gex_AM_ReplyShort0(token, ANSWER, 0); }

static void on_answer(gex_Token_t token)
{
    (void)token;
    answered++;
}

/* Processor time, because other programs take the cores of a busy machine. */
static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* Rank 0 sends blocks, each of which rank 1 answers. */
static void send_block(int medium)
{
    static char payload[MEDIUM_LEN];
    const unsigned before = answered;
    for (int i = 0; i < BLOCK; i++) {
        if (medium)
            gex_AM_RequestMedium0(team, 1, MEDIUM, payload, sizeof payload, GEX_EVENT_NOW, 0);
        else
            gex_AM_RequestShort2(team, 1, SINK, 0, 1, i);
    }
    gex_AM_RequestShort0(team, 1, ASK, 0);
    GASNET_BLOCKUNTIL(answered != before);
}

static void ask(void)
{
    const unsigned before = answered;
    gex_AM_RequestShort0(team, 1, ASK, 0);
    GASNET_BLOCKUNTIL(answered != before);
}

static void put_block(void)
{
    static char source[8];
    for (int i = 0; i < BLOCK; i++)
        gex_RMA_PutBlocking(team, 1, there, source, sizeof source, 0);
}

static void measure(const char *name, int blocks, int kind)
{
    double begun = now_ns();
    for (int i = 0; i < blocks; i++) {
        if (kind == 0 || kind == 2)
            send_block(kind == 2);
        else if (kind == 1)
            ask();
        else
            put_block();
    }
    double operations = kind == 1 ? blocks : (double)blocks * BLOCK;
    printf("%s %.2f\n", name, (now_ns() - begun) / operations);
}

int main(int argc, char **argv)
{
    gex_AM_Entry_t handlers[] = {
        { SINK, (gex_AM_Fn_t)on_sink, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL, "sink" },
        { ASK, (gex_AM_Fn_t)on_ask, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "ask" },
        { ANSWER, (gex_AM_Fn_t)on_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL,
          "answer" },
        { MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL, "m" },
    };
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    gex_Client_Init(&client, &ep, &team, "cost", &argc, &argv, 0);
    gex_EP_RegisterHandlers(ep, handlers, sizeof handlers / sizeof handlers[0]);
    gex_Segment_Attach(&segment, team, SEGMENT_LEN);
    me = gex_TM_QueryRank(team);
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, 1, &there, NULL, NULL, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (me == 0) {
        const int blocks = argc > 1 ? 40 : 400;
        measure("short", blocks, 0);
        measure("round", 10 * blocks, 1);
        measure("medium", blocks, 2);
        measure("put", blocks, 3);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
