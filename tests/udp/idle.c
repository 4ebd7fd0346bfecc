/* SPDX-License-Identifier: BSD-3-Clause */
/* idle.c: a rank that waits over a network sleeps. Rank 0 is away for a while, in no call of the
 * library. All other ranks wait for it: in GASNET_BLOCKUNTIL, then for the answer to a message that
 * it does not even acknowledge, and use little processor time. The event that ends their wait also
 * ends their sleep: round trips between a sleeping and an awake rank are short. */
#include <gasnetex.h>

#include <gasnet_coll.h>
#include <stdio.h>
#include <time.h>

enum { NOTE = GEX_AM_INDEX_BASE, QUESTION, ANSWER, ROUNDS = 200 };
#define AWAY_S      0.25
#define USED_MAX    0.1  /* share of a processor, while rank 0 is away */
#define ROUND_S_MAX 1e-3 /* one round has to be as short: others may have our core in many */

static volatile unsigned notes, answers;

static void note(gex_Token_t token)
{
    (void)token;
    notes = notes + 1;
}

static void question(gex_Token_t token) { gex_AM_ReplyShort0(token, ANSWER, 0); }

static void answer(gex_Token_t token)
{
    (void)token;
    answers = answers + 1;
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void be_away(double s)
{
    struct timespec nap = { 0, (long)(s * 1e9) };
    while (nanosleep(&nap, &nap) != 0)
        continue;
}

static void tell_all(gex_TM_t team, gex_Rank_t size)
{
    for (gex_Rank_t to = 1; to < size; to++)
        gex_AM_RequestShort0(team, to, NOTE, 0);
}

/* Processor time used since; non-zero: too much. */
static int judge(gex_Rank_t rank, const char *what, double since_s, double used_before_s)
{
    const double used =
        (seconds(CLOCK_PROCESS_CPUTIME_ID) - used_before_s) / (seconds(CLOCK_MONOTONIC) - since_s);
    printf("rank %u, %s: %.1f %% of a processor\n", rank, what, 100 * used);
    return used > USED_MAX;
}

static int wait_for_rank0(gex_TM_t team, gex_Rank_t rank, int asks)
{
    const double since_s = seconds(CLOCK_MONOTONIC);
    const double used_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (asks)
        gex_AM_RequestShort0(team, 0, QUESTION, 0);
    GASNET_BLOCKUNTIL(notes > (unsigned)asks && (!asks || answers != 0));
    return judge(rank, asks ? "with a question open" : "waiting for a note", since_s, used_s);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    int failed = 0;
    gex_AM_Entry_t handlers[] = {
        { NOTE, (gex_AM_Fn_t)note, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "note" },
        { QUESTION, (gex_AM_Fn_t)question, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
          "question" },
        { ANSWER, (gex_AM_Fn_t)answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, "answer" },
    };
    if (gex_Client_Init(&client, &endpoint, &team, "IDLE", &argc, &argv, 0))
        return 1;
    gex_EP_RegisterHandlers(endpoint, handlers, 3);
    const gex_Rank_t rank = gex_TM_QueryRank(team), size = gex_TM_QuerySize(team);
    for (int asks = 0; asks < 2; asks++) {
        gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
        if (rank != 0) {
            failed |= wait_for_rank0(team, rank, asks);
            continue;
        }
        be_away(AWAY_S);
        tell_all(team, size);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    double least_s = 1e9;
    for (unsigned round = 0; rank == 0 && round < ROUNDS && least_s > ROUND_S_MAX; round++) {
        be_away(2e-3); /* all other ranks sleep */
        const double since_s = seconds(CLOCK_MONOTONIC);
        gex_AM_RequestShort0(team, 1, QUESTION, 0);
        GASNET_BLOCKUNTIL(answers > round);
        const double took_s = seconds(CLOCK_MONOTONIC) - since_s;
        least_s = took_s < least_s ? took_s : least_s;
    }
    if (rank == 0)
        printf("a round trip to who sleeps: %.3f ms at least\n", 1e3 * least_s);
    if (failed || (rank == 0 && least_s > ROUND_S_MAX))
        gasnet_exit(1); /* before a rank leaves with another status */
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
