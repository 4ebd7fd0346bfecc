/* SPDX-License-Identifier: BSD-3-Clause */
/* hang.c: a client that hangs in the way that its argument names; why.py expects the diagnosis.
 * Rank 0 waits and rank 1 is the reason, unless the function says more. */
#include <gasnetex.h>

#include <gasnet_coll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NOTHING = 200, ASK, FOREVER, TAKE_LOCK, LEN = 256 };

static gex_TM_t world;
static gex_EP_t endpoint;
static gex_Rank_t rank;
static volatile int never;
static gex_HSL_t lock = GEX_HSL_INITIALIZER;
static char buffer[LEN];

static void nothing(gex_Token_t token, void *data, size_t len)
{
    (void)token, (void)data, (void)len;
}

/* Forgets its reply. */
static void ask(gex_Token_t token) { (void)token; }

static void forever(gex_Token_t token)
{
    (void)token;
    while (!never)
        ;
}

static void take_lock(gex_Token_t token)
{
    (void)token;
    gex_HSL_Lock(&lock);
    gex_HSL_Unlock(&lock);
}

static void serve(void) { GASNET_BLOCKUNTIL(never != 0); }
static void stay_away(void) { (void)sleep(600); }

static void enter_barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void reduce(void)
{
    long mine = 1, sum;
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(world, &sum, &mine, GEX_DT_I64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
}

/* ---- the ten ways ---------------------------------------------------------------------------- */

static void barrier(void)
{
    if (rank == 0)
        enter_barrier();
    serve();
}
static void collective(void)
{
    if (rank == 0)
        reduce();
    stay_away();
}
static void reply(void)
{
    if (rank == 0)
        gex_AM_RequestShort0(world, 1, ASK, 0);
    serve();
}
/* Rank 0 holds the lock, and polls: a handler that it runs needs the lock. */
static void locked(void)
{
    if (rank == 1) {
        gex_AM_RequestShort0(world, 0, TAKE_LOCK, 0);
        serve();
    }
    gex_HSL_Lock(&lock);
    serve();
}
static void loop(void)
{
    while (rank == 1 && !never)
        ;
    enter_barrier();
}
static void stopped(void)
{
    if (rank == 1)
        (void)raise(SIGSTOP);
    enter_barrier();
}
static void inbox(void)
{
    if (rank == 1)
        stay_away();
    for (;;)
        gex_AM_RequestMedium0(world, 1, NOTHING, buffer, LEN, GEX_EVENT_NOW, 0);
}
static void mismatch(void)
{
    if (rank == 0)
        enter_barrier();
    reduce();
}
static void handler(void)
{
    if (rank == 0)
        gex_AM_RequestShort0(world, 1, FOREVER, 0);
    if (rank == 1)
        serve();
    enter_barrier();
}
/* The network is cut from the beginning. */
static void network(void) { enter_barrier(); }

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    { "barrier", barrier }, { "collective", collective },
    { "reply", reply },     { "locked", locked },
    { "loop", loop },       { "stopped", stopped },
    { "inbox", inbox },     { "mismatch", mismatch },
    { "handler", handler }, { "network", network },
};

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_AM_Entry_t table[] = {
        { NOTHING, (gex_AM_Fn_t)nothing, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL, "n" },
        { ASK, (gex_AM_Fn_t)ask, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "a" },
        { FOREVER, (gex_AM_Fn_t)forever, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "f" },
        { TAKE_LOCK, (gex_AM_Fn_t)take_lock, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL,
          "t" },
    };
    gex_Client_Init(&client, &endpoint, &world, "hang", &argc, &argv, 0);
    rank = gex_TM_QueryRank(world);
    gex_EP_RegisterHandlers(endpoint, table, sizeof table / sizeof table[0]);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            ways[i].run();
    return 2;
}
