/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_team_life.c: teams come and go: used at once by the first rank that has one, ended while a put
 * is in
 * flight, ended without meeting, many at once and one after another, and by many threads.
 * PEN_RANKS: 1 2 3 8
 * PEN_MODES: seq parsync par
 * TESTS: gex_TM_Split gex_TM_Create gex_TM_Dup gex_TM_Destroy gex_Coll_BarrierNB
 * gex_Coll_BarrierBlocking gex_AM_RequestShort[M] gex_RMA_PutNB gex_Event_Wait gex_Event_Test
 * GEX_FLAG_GLOBALLY_QUIESCED */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"
#include "conformance/ex_team.h"

enum { GREETING = 201, PLAIN = GEX_FLAG_TM_NO_SCRATCH };
enum { TEAMS = 200, ROUNDS = 40, PUT_LEN = 1 << 20, RANKS_MAX = 8 };

static gex_Rank_t me, all;
static char *source;
static check_count greetings;

static void on_greeting(gex_Token_t token)
{
    (void)token;
    check_add(&greetings, 1);
}

static gex_AM_Entry_t handlers[] = { { GREETING, (gex_AM_Fn_t)on_greeting,
                                       GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
                                       "greeting" } };

static gex_TM_t split(gex_TM_t parent, int color, int key)
{
    gex_TM_t team = GEX_TM_INVALID;
    gex_TM_Split(&team, parent, color, key, NULL, 0, PLAIN);
    return team;
}

/* A new team is used at once: every member greets all members and begins barriers before the slow
 * ones have their team. */
static void at_once(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        gex_TM_t team = split(ex_tm, (int)(me + round) % 2, -(int)me);
        gex_Event_t early[3];
        for (unsigned i = 0; i < 3; i++)
            early[i] = gex_Coll_BarrierNB(team, 0);
        for (gex_Rank_t rank = 0; rank < gex_TM_QuerySize(team); rank++)
            gex_AM_RequestShort0(team, rank, GREETING, 0);
        gex_TM_t child = split(team, 0, 0);
        gex_Coll_BarrierBlocking(child, 0);
        gex_Event_WaitAll(early, 3, 0);
        CHECK_WAIT(greetings, gex_TM_QuerySize(team));
        ex_team_end(child);
        gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
        atomic_store_explicit(&greetings, 0, memory_order_relaxed); /* all are here */
        ex_team_end(team);
        ex_barrier();
    }
}

static void put_outlives_its_team(void)
{
    check_fill(source, PUT_LEN, me);
    for (unsigned round = 0; round < ROUNDS; round++) {
        gex_TM_t team = split(ex_tm, 0, -(int)me);
        gex_Rank_t rank = gex_TM_QuerySize(team) - 1 - (me + 1) % all;
        char *there = ex_base((me + 1) % all) + (size_t)me * PUT_LEN;
        gex_Event_t leaf = GEX_EVENT_INVALID;
        gex_Event_t put = gex_RMA_PutNB(team, rank, there, source, PUT_LEN / 2, &leaf, 0);
        gex_RMA_PutNBI(team, rank, there + PUT_LEN / 2, source + PUT_LEN / 2, PUT_LEN / 2,
                       GEX_EVENT_DEFER, 0);
        ex_team_end(team);
        gex_Event_Wait(leaf);
        gex_Event_Wait(put);
        gex_NBI_Wait(GEX_EC_PUT, 0);
    }
    ex_barrier();
    gex_Rank_t before = (me + all - 1) % all;
    CHECK(check_filled(ex_base(me) + (size_t)before * PUT_LEN, PUT_LEN, before),
          "GASNet-EX Teams: a put survives the team it was begun on");
}

static void without_meeting(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        gex_TM_t team = split(ex_tm, 0, 0);
        gex_Coll_BarrierBlocking(team, 0);
        ex_barrier(); /* now all members are through with the team */
        CHECK_EQ(gex_TM_Destroy(team, NULL, GEX_FLAG_GLOBALLY_QUIESCED), 0,
                 "GASNet-EX Teams: a team may end without a barrier");
    }
}

static void many(void)
{
    static gex_TM_t teams[TEAMS];
    for (unsigned i = 0; i < TEAMS; i++) {
        if (i % 3 == 0)
            gex_TM_Dup(&teams[i], i == 0 ? ex_tm : teams[i - 1], NULL, 0, PLAIN);
        else
            teams[i] = split(ex_tm, (int)(me % i), (int)(me * i % 5));
    }
    for (unsigned i = 0; i < TEAMS; i++)
        gex_Coll_BarrierBlocking(teams[i], 0);
    for (unsigned i = 0; i < TEAMS; i++)
        ex_team_end(teams[i * 7 % TEAMS]);
    for (unsigned i = 0; i < TEAMS; i++)
        ex_team_end(split(ex_tm, 0, 0));
}

/* ---- threads -------------------------------------------------------------------------------- */

static gex_TM_t own[CHECK_THREADS];
static check_count meetings[CHECK_THREADS];

static void meet(unsigned thread_i)
{
    gex_TM_t team = own[thread_i];
    for (unsigned round = 0; round < ROUNDS; round++) {
        gex_Event_t events[2] = { gex_Coll_BarrierNB(team, 0), gex_Coll_BarrierNB(team, 0) };
        gex_Event_WaitAll(events, 2, 0);
        gex_TM_t child = split(team, (int)me % 2, -(int)me);
        gex_Coll_BarrierBlocking(child, 0);
        ex_team_end(child);
        check_add(&meetings[thread_i], 1);
    }
}

static void by_threads(void)
{
    for (unsigned i = 0; i < CHECK_THREADS; i++)
        own[i] = split(ex_tm, 0, i % 2 ? (int)me : -(int)me);
    check_on_threads(meet);
    for (unsigned i = 0; i < CHECK_THREADS; i++) {
        CHECK_EQ(check_counted(&meetings[i]), ROUNDS,
                 "GASNet-EX Coll: teams of their own keep threads apart");
        ex_team_end(own[i]);
    }
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    me = (gex_Rank_t)check_rank;
    all = (gex_Rank_t)check_size;
    CHECK(all <= RANKS_MAX, "the program has room for its ranks");
    source = (char *)malloc(PUT_LEN);
    CHECK(source != NULL, "the system gives us memory");
    ex_register(handlers, 1);
    ex_attach((uintptr_t)RANKS_MAX * PUT_LEN);
    ex_barrier();
    at_once();
    put_outlives_its_team();
    without_meeting();
    many();
    by_threads();
    free(source);
    return check_end();
}
