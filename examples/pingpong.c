/* SPDX-License-Identifier: BSD-3-Clause */
/* pingpong.c: an active message there and back. Rank 0 sends a request, the handler at the last
 * rank replies, the reply's handler lets rank 0 go on. With one rank the message goes to itself.
 *
 *     penstock run -n 2 pingpong [ROUNDS] */
#include <gasnetex.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PING = GEX_AM_INDEX_BASE, PONG, WARM_UP_ROUNDS = 1000, ROUNDS_MAX = 100000000 };

/* Handlers run inside calls of the library, in SEQ on this thread: a plain counter is enough, and
 * volatile makes the waiting loop look again. */
static volatile int32_t pongs;

static void ping(gex_Token_t token, gex_AM_Arg_t round)
{
    gex_AM_ReplyShort1(token, PONG, 0, round);
}

static void pong(gex_Token_t token, gex_AM_Arg_t round)
{
    (void)token;
    pongs = round;
}

static gex_AM_Entry_t handlers[] = {
    { PING, (gex_AM_Fn_t)ping, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "ping" },
    { PONG, (gex_AM_Fn_t)pong, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, "pong" },
};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Mean nanoseconds of one round trip. */
static double play(gex_TM_t team, gex_Rank_t peer, int32_t rounds)
{
    pongs = 0;
    const double start_ns = now_ns();
    for (int32_t round = 1; round <= rounds; round++) {
        gex_AM_RequestShort1(team, peer, PING, 0, round);
        GASNET_BLOCKUNTIL(pongs == round);
    }
    return (now_ns() - start_ns) / rounds;
}

/* Rounds asked for, or 0 when the arguments make no sense. */
static int32_t rounds_of(int argc, char **argv)
{
    if (argc == 1)
        return 100000;
    char *end = NULL;
    const long rounds = strtol(argv[1], &end, 10);
    return argc == 2 && *end == '\0' && rounds >= 1 && rounds <= ROUNDS_MAX ? (int32_t)rounds : 0;
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_Client_Init(&client, &endpoint, &team, "PINGPONG", &argc, &argv, 0);
    gex_EP_RegisterHandlers(endpoint, handlers, sizeof(handlers) / sizeof(handlers[0]));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); /* nobody sends before all have registered */

    if (gex_TM_QueryRank(team) == 0) {
        const int32_t rounds = rounds_of(argc, argv);
        if (rounds == 0) {
            fprintf(stderr, "pingpong: want one argument, the rounds, from 1 to %d\n", ROUNDS_MAX);
            gasnet_exit(2);
        }
        const gex_Rank_t peer = gex_TM_QuerySize(team) - 1;
        play(team, peer, WARM_UP_ROUNDS);
        printf("%d round trips between rank 0 and rank %u: %.0f ns each\n", rounds, peer,
               play(team, peer, rounds));
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
