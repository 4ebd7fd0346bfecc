/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_am.c: RandomAccess (updates.h) by active messages: the same as randomaccess_raw and
 * randomaccess_twosided, over whatever conduit. An update alone goes in a Short, more in a Medium;
 * a reply answers each.
 *
 *     penstock run -n 2^N --conduit extoll randomaccess_am [LOG2 [LOOK_AHEAD [BATCH]]] */
#include "updates.h"

#include <gasnet_coll.h>
#include <gasnetex.h>
#include <penstock/stats.h>

#include <time.h>

enum { UPDATE_ONE = GEX_AM_INDEX_BASE, UPDATE_MANY, APPLIED };

static updates all;
static gex_TM_t team;

/* ---- handlers -------------------------------------------------------------------------------- */

static void apply(gex_Token_t token, const uint64_t *values, size_t count)
{
    if (!updates_apply(&all, values, count)) {
        (void)fprintf(stderr, "randomaccess_am: rank %d: an update is not one of mine\n", all.rank);
        gasnet_exit(1);
    }
    gex_AM_ReplyShort1(token, APPLIED, 0, (gex_AM_Arg_t)count);
}

static void update_one(gex_Token_t token, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    const uint64_t value = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
    apply(token, &value, 1);
}

static void update_many(gex_Token_t token, void *values, size_t len)
{
    apply(token, values, len / sizeof(uint64_t));
}

static void applied(gex_Token_t token, gex_AM_Arg_t count)
{
    (void)token;
    all.applied += (uint64_t)count;
}

static gex_AM_Entry_t handlers[] = {
    { UPDATE_ONE, (gex_AM_Fn_t)update_one, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL, NULL },
    { UPDATE_MANY, (gex_AM_Fn_t)update_many, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL,
      NULL },
    { APPLIED, (gex_AM_Fn_t)applied, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, NULL },
};

/* ---- the way --------------------------------------------------------------------------------- */

static void send_values(void *context, int owner, const uint64_t *values, int count)
{
    (void)context;
    if (all.batch == 1)
        gex_AM_RequestShort2(team, (gex_Rank_t)owner, UPDATE_ONE, 0,
                             (gex_AM_Arg_t)(uint32_t)(values[0] >> 32),
                             (gex_AM_Arg_t)(uint32_t)values[0]);
    else
        gex_AM_RequestMedium0(team, (gex_Rank_t)owner, UPDATE_MANY, values,
                              (size_t)count * sizeof(*values), GEX_EVENT_NOW, 0);
}

static void poll(void *context)
{
    (void)context;
    gasnet_AMPoll();
}

static void meet(void *context)
{
    (void)context;
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

/* ---- what to print --------------------------------------------------------------------------- */

typedef struct totals {
    double ns, wrong; /* the most of all ranks; all others are sums */
    double packets, stalls;
} totals;

/* Adds the counters of all peers. Conduits without credits count nothing. */
static void add_counts(totals *to, double sign)
{
    pen_peer_stats stats;
    for (gex_Rank_t rank = 0; rank < gex_TM_QuerySize(team); rank++) {
        if ((int)rank == all.rank || pen_peer_stats_read(rank, &stats, sizeof stats) != GASNET_OK)
            continue;
        to->packets +=
            sign * (double)(stats.packets_sent + stats.control_sent + stats.recalls_answered);
        to->stalls += sign * (double)stats.stalls;
    }
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void report(const totals *mine)
{
    totals sum;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &sum.ns, &mine->ns, GEX_DT_DBL, sizeof(double), 2,
                                          GEX_OP_MAX, NULL, NULL, 0));
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &sum.packets, &mine->packets, GEX_DT_DBL,
                                          sizeof(double), 2, GEX_OP_ADD, NULL, NULL, 0));
    if (sum.wrong > 0) {
        (void)fprintf(stderr, "randomaccess_am: verification: words of the table are wrong\n");
        gasnet_exit(1);
    }
    if (all.rank == 0)
        updates_report(&all, "am", sum.ns, sum.packets, sum.stalls);
    (void)fflush(stdout);
    meet(NULL); /* the first to exit ends all */
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    const updates_way way = { send_values, poll, meet, NULL };
    totals mine = { 0 };
    if (gex_Client_Init(&client, &endpoint, &team, "RANDOMACCESS", &argc, &argv, 0) != GASNET_OK)
        return 1;
    gex_EP_RegisterHandlers(endpoint, handlers, sizeof handlers / sizeof handlers[0]);
    const int rank = (int)gex_TM_QueryRank(team);
    if (!updates_read(&all, (int)gex_TM_QuerySize(team), argc, argv, 1) ||
        !updates_open(&all, rank)) {
        if (rank == 0)
            (void)fprintf(stderr, "usage: penstock run -n 2^N randomaccess_am %s\n", UPDATES_USAGE);
        gasnet_exit(2);
    }
    meet(NULL);
    add_counts(&mine, -1);
    mine.ns = -now_ns();
    updates_run(&all, &way);
    mine.ns += now_ns();
    add_counts(&mine, 1);
    mine.wrong = (double)updates_close(&all);
    report(&mine);
    gasnet_exit(0);
}
