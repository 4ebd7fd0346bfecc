/* SPDX-License-Identifier: BSD-3-Clause */
/* traffic.c: a job under way when something happens to it. Every rank sends active messages to its
 * neighbours, puts into their segments and meets the others in barriers until the time is up; then
 * it checks that nothing was lost. One rank can be told to leave the stage in its own way. */
#include <gasnetex.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PING = 200, PONG = 201, SEGMENT_LEN = 1 << 20, BATCH = 64 };

static gex_TM_t team;
static uint64_t pings_seen, pongs_seen;

static void ping(gex_Token_t token, gex_AM_Arg_t value)
{
    pings_seen++;
    gex_AM_ReplyShort1(token, PONG, 0, value);
}

static void pong(gex_Token_t token, gex_AM_Arg_t value)
{
    (void)token;
    (void)value;
    pongs_seen++;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Leaves as told: "exit:7", "_exit:9", "gasnet_exit:3", "raise:11", "null", "return". */
static void leave(const char *how)
{
    const char *colon = strchr(how, ':');
    int value = colon != NULL ? atoi(colon + 1) : 0;
    if (strncmp(how, "exit:", 5) == 0)
        exit(value);
    if (strncmp(how, "_exit:", 6) == 0)
        _exit(value);
    if (strncmp(how, "gasnet_exit:", 12) == 0)
        gasnet_exit(value);
    if (strncmp(how, "raise:", 6) == 0)
        raise(value);
    if (strcmp(how, "null") == 0)
        *(volatile int *)(uintptr_t)8 = 1;
    fprintf(stderr, "traffic: do not know how to leave by '%s'\n", how);
    exit(2);
}

static void batch(char *peer_segment, gex_Rank_t peer)
{
    uint64_t word = pings_seen;
    for (int i = 0; i < BATCH; i++) {
        gex_AM_RequestShort1(team, peer, PING, 0, i);
        gex_RMA_PutNBI(team, peer, peer_segment + 8 * i, &word, sizeof word, GEX_EVENT_NOW, 0);
    }
    gex_NBI_Wait(GEX_EC_ALL, 0);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    int leaver = argc > 3 ? atoi(argv[2]) : -1;
    const char *how = argc > 3 ? argv[3] : "";
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_Segment_t segment;
    gex_AM_Entry_t handlers[] = {
        { PING, (gex_AM_Fn_t)ping, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "ping" },
        { PONG, (gex_AM_Fn_t)pong, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, "pong" },
    };
    if (gex_Client_Init(&client, &endpoint, &team, "TRAFFIC", &argc, &argv, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(endpoint, handlers, 2) != GASNET_OK ||
        gex_Segment_Attach(&segment, team, SEGMENT_LEN) != GASNET_OK)
        return 99;
    gex_Rank_t me = gex_TM_QueryRank(team), size = gex_TM_QuerySize(team), peer = (me + 1) % size;
    void *peer_segment = NULL;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, peer, &peer_segment, NULL, NULL, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (me == 0) {
        printf("running\n");
        fflush(stdout);
    }

    double begin = now_s();
    uint64_t rounds = 0;
    int go_on = 1;
    while (go_on) {
        batch((char *)peer_segment, peer);
        rounds++;
        if ((int)me == leaver && now_s() - begin > seconds / 2)
            leave(how);
        if (rounds % 16 == 0) { /* rank 0's clock decides for all, so that rounds are equal */
            int *stop = (int *)((char *)gex_Segment_QueryAddr(segment) + SEGMENT_LEN / 2);
            if (me == 0) {
                int done = now_s() - begin > seconds;
                for (gex_Rank_t r = 0; r < size; r++) {
                    void *there = NULL;
                    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, r, &there, NULL, NULL, 0));
                    gex_RMA_PutBlocking(team, r, (char *)there + SEGMENT_LEN / 2, &done,
                                        sizeof done, 0);
                }
            }
            gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
            go_on = !*(volatile int *)stop;
            gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
        }
    }
    GASNET_BLOCKUNTIL(pongs_seen == rounds * BATCH && pings_seen == rounds * BATCH);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (me == 0)
        printf("complete\n");
    return 0;
}
