/* SPDX-License-Identifier: BSD-3-Clause */
/* stuck.c: a client that does not go on: stuck WHAT. Rank 1 does not enter the call for which rank
 * 0 waits, or serves no peer, as the word says; stuck.py and leave.py check the launcher's
 * report. */
#include <gasnetex.h>

#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NOTHING = 200, LEAVES, LEN = 1 << 16 };

static gex_TM_t world;
static gex_EP_t endpoint;
static gex_Rank_t rank, size;
static char *there, source[LEN];
static volatile int never, asked;

static void nothing(gex_Token_t token) { (void)token; }

static void leaves(gex_Token_t token)
{
    (void)token;
    exit(0);
}

/* Computes, which is out of reach of its peers. */
static void compute(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double until = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 + seconds;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 < until);
}

static void serve(void) { GASNET_BLOCKUNTIL(never != 0); }

/* Out of reach of its peers, without a need for the processor. */
static void stay_away(void) { (void)sleep(600); }

static gex_TM_t half(int color) /* ranks of one parity */
{
    gex_TM_t team = GEX_TM_INVALID;
    gex_TM_Split(&team, world, color, (int)rank, NULL, 0, 0);
    return team;
}

/* ---- what rank 0 waits in; rank 1 computes ----------------------------------------------------
 */

static void put(void)
{
    gex_Event_Wait(gex_RMA_PutNB(world, 1, there, source, LEN, GEX_EVENT_DEFER, 0));
}
static void put_blocking(void) { gex_RMA_PutBlocking(world, 1, there, source, LEN, 0); }
static void get_blocking(void) { gex_RMA_GetBlocking(world, source, 1, there, LEN, 0); }
static void nbi(void)
{
    gex_RMA_PutNBI(world, 1, there, source, LEN, GEX_EVENT_DEFER, 0);
    gex_NBI_Wait(GEX_EC_PUT, 0);
}
static void all(void)
{
    gex_Event_t events[2] = { GEX_EVENT_INVALID, gex_RMA_GetNB(world, source, 1, there, LEN, 0) };
    gex_Event_WaitAll(events, 2, 0);
}
static void some(void)
{
    gex_Event_t events[2] = { GEX_EVENT_INVALID, gex_RMA_GetNB(world, source, 1, there, LEN, 0) };
    gex_Event_WaitSome(events, 2, 0);
}
static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}
static void ex_barrier(void) { gex_Event_Wait(gex_Coll_BarrierNB(world, 0)); }
static void coll(void) { gex_Event_Wait(gex_Coll_BroadcastNB(world, 1, source, source, LEN, 0)); }
static void requests(void)
{
    for (;;)
        gex_AM_RequestMedium0(world, 1, NOTHING, source, 256, GEX_EVENT_NOW, 0);
}
static void block(void) { serve(); }
static void polls(void)
{
    while (!never)
        gasnet_AMPoll();
}
static void computes(void) { compute(600); }
static void split(void) { (void)half(0); }

#ifdef GASNET_PAR
static gex_HSL_t lock = GEX_HSL_INITIALIZER;

static void *take(void *unused)
{
    gex_HSL_Lock(&lock);
    gex_HSL_Unlock(&lock);
    return unused;
}

/* A second thread waits for the lock; no thread polls. */
static void locks(void)
{
    pthread_t thread;
    gex_HSL_Lock(&lock);
    if (pthread_create(&thread, NULL, take, NULL) == 0)
        (void)pthread_join(thread, NULL);
}
#endif

/* ---- rank 1 leaves ----------------------------------------------------------------------------
 */

static void leave_in_barrier(void)
{
    if (rank == 1)
        exit(0);
    printf("rank %u waits\n", (unsigned)rank);
    barrier();
}
static void leave_in_ex_barrier(void)
{
    if (rank == 1)
        exit(0);
    ex_barrier();
}
static void leave_in_coll(void)
{
    if (rank == 1)
        exit(0);
    long mine = 1, sum;
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(world, &sum, &mine, GEX_DT_I64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
}
static void leave_in_split(void)
{
    if (rank == 1)
        exit(0);
    (void)half(0);
}
/* The barrier can end: its word was sent before. */
static void leave_after_notify(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    if (rank == 1)
        exit(0);
    if (rank == 0)
        compute(1.5);
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    printf("rank %u passed\n", (unsigned)rank);
}
static void leave_after_begin(void)
{
    gex_Event_t event = gex_Coll_BarrierNB(world, 0);
    if (rank == 1)
        exit(0);
    if (rank == 0)
        compute(1.5);
    gex_Event_Wait(event);
    printf("rank %u passed\n", (unsigned)rank);
}
/* Rank 1 is in the second half. */
static void leave_other_team(void)
{
    gex_TM_t team = half((int)rank % 2);
    if (rank % 2 == 1)
        exit(0);
    for (int i = 0; i < 3; i++) {
        compute(rank == 0 ? 0.5 : 0);
        gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    }
    printf("rank %u passed\n", (unsigned)rank);
}
static void leave_own_team(void)
{
    gex_TM_t team = half(0);
    if (rank == 1)
        exit(0);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}
/* Ranks that share a host's memory leave together. */
static void leave_own_host(void)
{
    if (rank < 2)
        exit(0);
    ex_barrier();
}
static void leave_in_handler(void)
{
    if (rank == 0)
        gex_AM_RequestShort0(world, 1, LEAVES, 0);
    if (rank == 1)
        serve();
    barrier();
}
static void leave_then_compute(void)
{
    if (rank == 1)
        return;
    printf("rank %u computes\n", (unsigned)rank);
    compute(4);
    exit(rank == 0 ? 3 : 0);
}
static void leave_serving(void) /* the departed rank still answers */
{
    if (rank == 1)
        return;
    compute(0.5);
    gex_RMA_PutBlocking(world, 1, there, source, LEN, 0);
    gex_RMA_GetBlocking(world, source, 1, there, LEN, 0);
    printf("rank %u was served\n", (unsigned)rank);
}
static void leave_forever(void)
{
    if (rank == 1)
        return;
    printf("rank %u computes\n", (unsigned)rank);
    compute(600);
}
static void leave_by_force(void)
{
    if (rank == 1)
        _exit(0);
    barrier();
}

static const struct {
    const char *name;
    void (*run)(void);
    int all; /* all ranks do it; otherwise only rank 0, and the remaining ranks compute */
} things[] = {
    { "put", put, 0 },
    { "put_blocking", put_blocking, 0 },
    { "get_blocking", get_blocking, 0 },
    { "nbi", nbi, 0 },
    { "all", all, 0 },
    { "some", some, 0 },
    { "barrier", barrier, 0 },
    { "ex_barrier", ex_barrier, 0 },
    { "coll", coll, 0 },
    { "requests", requests, 0 },
    { "block", block, 0 },
    { "polls", polls, 0 },
    { "computes", computes, 0 },
    { "split", split, 0 },
#ifdef GASNET_PAR
    { "locks", locks, 0 },
#endif
    { "leave_in_barrier", leave_in_barrier, 1 },
    { "leave_in_ex_barrier", leave_in_ex_barrier, 1 },
    { "leave_in_coll", leave_in_coll, 1 },
    { "leave_in_split", leave_in_split, 1 },
    { "leave_after_notify", leave_after_notify, 1 },
    { "leave_after_begin", leave_after_begin, 1 },
    { "leave_other_team", leave_other_team, 1 },
    { "leave_own_team", leave_own_team, 1 },
    { "leave_own_host", leave_own_host, 1 },
    { "leave_in_handler", leave_in_handler, 1 },
    { "leave_then_compute", leave_then_compute, 1 },
    { "leave_serving", leave_serving, 1 },
    { "leave_forever", leave_forever, 1 },
    { "leave_by_force", leave_by_force, 1 },
};

static void join(int *argc, char ***argv)
{
    gex_Client_t client;
    gex_Segment_t segment;
    void *address = NULL;
    gex_AM_Entry_t table[] = {
        { NOTHING, (gex_AM_Fn_t)nothing,
          GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDIUM, 0, NULL, "nothing" },
        { LEAVES, (gex_AM_Fn_t)leaves, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "leaves" },
    };
    gex_Client_Init(&client, &endpoint, &world, "stuck", argc, argv, GEX_FLAG_USES_GASNET1);
    rank = gex_TM_QueryRank(world);
    size = gex_TM_QuerySize(world);
    gex_EP_RegisterHandlers(endpoint, table, sizeof table / sizeof table[0]);
    gex_Segment_Attach(&segment, world, LEN);
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(world, 1 % size, &address, NULL, NULL, 0));
    there = address;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *own = getenv("PENSTOCK_RANK");
    if (strcmp(what, "init") == 0 && own != NULL && strcmp(own, "1") == 0)
        stay_away();
    join(&argc, &argv);
    if (strcmp(what, "exit") == 0 && rank == 0)
        return 0;
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++) {
        if (strcmp(what, things[i].name) != 0)
            continue;
        if (things[i].all || rank == 0)
            things[i].run();
        else
            stay_away();
        return 0;
    }
    stay_away();
    return 0;
}
