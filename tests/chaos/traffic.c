/* SPDX-License-Identifier: BSD-3-Clause */
/* traffic.c: a job under way when something happens to it. Every rank sends active messages to its
 * neighbours, puts into their segments and meets the others in barriers until the time is up; then
 * it checks that nothing was lost. One rank can be told to leave the stage in its own way; or rank
 * 0 tells of each meeting ("tell"), and the end of its input is the end of the time; or the time is
 * not up before the end of rank 0's input ("fed"). */
#include <gasnetex.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PING = 200, PONG = 201, SEGMENT_LEN = 1 << 20, BATCH = 64, ROUNDS_PER_LOOK = 16 };
enum { NAP_NS = 5000000 }; /* between meetings that are told: other jobs want the cores, too */

static gex_TM_t team;
static uint64_t pings_seen, pongs_seen;
static int *volatile nowhere; /* NULL, unknown to the compiler */

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
    int value = colon != NULL ? (int)strtol(colon + 1, NULL, 10) : 0;
    if (strncmp(how, "exit:", 5) == 0)
        exit(value);
    if (strncmp(how, "_exit:", 6) == 0)
        _exit(value);
    if (strncmp(how, "gasnet_exit:", 12) == 0)
        gasnet_exit(value);
    if (strncmp(how, "raise:", 6) == 0)
        raise(value);
    if (strcmp(how, "null") == 0)
        *(volatile int *)nowhere = 1;
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

static void meet(void) { gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); }

/* A rank's own address of its segment. */
static char *segment_of(gex_Rank_t rank)
{
    void *base = NULL;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, &base, NULL, NULL, 0));
    return (char *)base;
}

/* Rank 0's clock decides for all, so that all ranks play the same number of rounds. */
static int is_over(const volatile int *stop, int my_time_is_over)
{
    if (gex_TM_QueryRank(team) == 0)
        for (gex_Rank_t rank = 0; rank < gex_TM_QuerySize(team); rank++)
            gex_RMA_PutBlocking(team, rank, segment_of(rank) + SEGMENT_LEN / 2, &my_time_is_over,
                                sizeof my_time_is_over, 0);
    meet();
    int over = *stop;
    meet();
    return over;
}

static int input_has_ended(void)
{
    struct pollfd input = { STDIN_FILENO, POLLIN, 0 };
    char byte;
    return poll(&input, 1, 0) == 1 && read(STDIN_FILENO, &byte, 1) <= 0;
}

/* Plays rounds, each of which ends with a meeting. Returns how many. */
static uint64_t play_and_tell(double seconds)
{
    gex_Rank_t me = gex_TM_QueryRank(team), peer = (me + 1) % gex_TM_QuerySize(team);
    char *peer_segment = segment_of(peer);
    const volatile int *stop = (volatile int *)(void *)(segment_of(me) + SEGMENT_LEN / 2);
    double begin = now_s();
    uint64_t rounds = 0;
    do {
        batch(peer_segment, peer);
        rounds++;
        if (me == 0) {
            printf("met %llu\n", (unsigned long long)rounds);
            fflush(stdout);
        }
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
    } while (!is_over(stop, now_s() - begin > seconds || (me == 0 && input_has_ended())));
    return rounds;
}

/* Returns how many rounds it played. leaver: -1 if no rank leaves. */
static uint64_t play(double seconds, int leaver, const char *how)
{
    gex_Rank_t me = gex_TM_QueryRank(team), peer = (me + 1) % gex_TM_QuerySize(team);
    char *peer_segment = segment_of(peer);
    const volatile int *stop = (volatile int *)(void *)(segment_of(me) + SEGMENT_LEN / 2);
    double begin = now_s();
    int fed = me == 0 && strcmp(how, "fed") == 0;
    int has_leaver = leaver >= 0 && leaver < (int)gex_TM_QuerySize(team); /* ranks that may begin
                                                                           * late */
    uint64_t rounds = 0;
    int over = 0;
    while (!over) {
        batch(peer_segment, peer);
        rounds++;
        if ((int)me == leaver && now_s() - begin > seconds / 2)
            leave(how);
        if (rounds % ROUNDS_PER_LOOK == 0)
            over = is_over(stop,
                           !has_leaver && now_s() - begin > seconds && (!fed || input_has_ended()));
    }
    return rounds;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    int leaver = argc > 3 ? (int)strtol(argv[2], NULL, 10) : -1;
    const char *how = argc > 2 ? argv[argc - 1] : "";
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
    meet();
    if (gex_TM_QueryRank(team) == 0) {
        printf("running\n");
        fflush(stdout);
    }
    uint64_t rounds =
        strcmp(how, "tell") == 0 ? play_and_tell(seconds) : play(seconds, leaver, how);
    GASNET_BLOCKUNTIL(pongs_seen == rounds * BATCH && pings_seen == rounds * BATCH);
    meet();
    if (gex_TM_QueryRank(team) == 0)
        printf("complete\n");
    return 0;
}
