/* SPDX-License-Identifier: BSD-3-Clause */
/* penstock.c: the operations in GASNet-EX, as bench/peers/run.py compares them; see driver.h.
 *
 *     penstock run -n N penstock SOCKET */
#include "driver.h"

#include <gasnet_ratomic.h>
#include <gasnetex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PING = GEX_AM_INDEX_BASE, PONG, PING_MEDIUM, PONG_MEDIUM, PING_LONG, PONG_LONG };
enum { PING_MEDIUM_UNREAD = PONG_LONG + 1, PING_LONG_UNREAD };
enum { FLOOD = PING_LONG_UNREAD + 1, FLOOD_KEPT, FLOOD_UNREAD, FLOOD_END };
enum { SMALL_LEN = 8, SEGMENT_LEN = 4 * DRIVER_BULK_LEN };
enum { ANSWERED_AT = 2 * DRIVER_BULK_LEN }; /* place in the segment for puts that are answered */

static struct job {
    gex_TM_t team;
    gex_AD_t atomics;
    gex_Rank_t rank, size, peer;
    unsigned char *mine, *theirs; /* in the peer's own addresses */
    unsigned char *send, *kept;
} job;

/* Handlers run on this thread, inside calls of the library. */
static volatile uint64_t pings, pongs, floods;
static volatile uint64_t floods_ended;

static void ping(gex_Token_t token)
{
    pings = pings + 1;
    gex_AM_ReplyShort0(token, PONG, 0);
}

static void pong(gex_Token_t token)
{
    (void)token;
    pongs = pongs + 1;
}

static void ping_medium(gex_Token_t token, void *payload, size_t len)
{
    pings = pings + 1;
    gex_AM_ReplyMedium0(token, PONG_MEDIUM, payload, len, GEX_EVENT_NOW, 0);
}

static void pong_payload(gex_Token_t token, void *payload, size_t len)
{
    (void)token, (void)payload, (void)len;
    pongs = pongs + 1;
}

static void ping_long(gex_Token_t token, void *payload, size_t len)
{
    pings = pings + 1;
    gex_AM_ReplyLong0(token, PONG_LONG, payload, len, job.theirs, GEX_EVENT_NOW, 0);
}

/* The answer is sent from a buffer of our own; nobody looks at what came. */
static void ping_medium_unread(gex_Token_t token, void *payload, size_t len)
{
    (void)payload;
    pings = pings + 1;
    gex_AM_ReplyMedium0(token, PONG_MEDIUM, job.send, len, GEX_EVENT_NOW, 0);
}

static void ping_long_unread(gex_Token_t token, void *payload, size_t len)
{
    (void)payload;
    pings = pings + 1;
    gex_AM_ReplyLong0(token, PONG_LONG, job.send, len, job.theirs, GEX_EVENT_NOW, 0);
}

static void flood_short(gex_Token_t token)
{
    (void)token;
    floods = floods + 1;
}

/* As a receive in MPI leaves it: in a buffer that the program chose. */
static void flood_kept(gex_Token_t token, void *payload, size_t len)
{
    (void)token;
    memcpy(job.kept, payload, len);
    floods = floods + 1;
}

static void flood_unread(gex_Token_t token, void *payload, size_t len)
{
    (void)token, (void)payload, (void)len;
    floods = floods + 1;
}

static void flood_end(gex_Token_t token)
{
    (void)token;
    floods_ended = floods_ended + 1;
}

#define ENTRY(index, function, flags) \
    { index, (gex_AM_Fn_t)(function), GEX_FLAG_AM_##flags, 0, NULL, #function }
static gex_AM_Entry_t handlers[] = {
    ENTRY(PING, ping, SHORT | GEX_FLAG_AM_REQUEST),
    ENTRY(PONG, pong, SHORT | GEX_FLAG_AM_REPLY),
    ENTRY(PING_MEDIUM, ping_medium, MEDIUM | GEX_FLAG_AM_REQUEST),
    ENTRY(PONG_MEDIUM, pong_payload, MEDIUM | GEX_FLAG_AM_REPLY),
    ENTRY(PING_LONG, ping_long, LONG | GEX_FLAG_AM_REQUEST),
    ENTRY(PONG_LONG, pong_payload, LONG | GEX_FLAG_AM_REPLY),
    ENTRY(PING_MEDIUM_UNREAD, ping_medium_unread, MEDIUM | GEX_FLAG_AM_REQUEST),
    ENTRY(PING_LONG_UNREAD, ping_long_unread, LONG | GEX_FLAG_AM_REQUEST),
    ENTRY(FLOOD, flood_short, SHORT | GEX_FLAG_AM_REQUEST),
    ENTRY(FLOOD_KEPT, flood_kept, MEDIUM | GEX_FLAG_AM_REQUEST),
    ENTRY(FLOOD_UNREAD, flood_unread, MEDIUM | GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST),
    ENTRY(FLOOD_END, flood_end, SHORT | GEX_FLAG_AM_REQUEST),
};

static void meet(void) { gex_Event_Wait(gex_Coll_BarrierNB(job.team, 0)); }

/* ---- round trips of active messages ------------------------------------------------------- */

/* Counted from the start of the program: the first may be served before we are out of the barrier
 * that begins the block. */
static void serve_pings(uint64_t rounds)
{
    static uint64_t goal;
    goal += rounds;
    GASNET_BLOCKUNTIL(pings == goal);
}

static void am_short(size_t len, uint64_t rounds)
{
    (void)len;
    if (job.rank == 1)
        serve_pings(rounds);
    for (uint64_t round_i = 0; round_i < rounds && job.rank == 0; round_i++) {
        const uint64_t before = pongs;
        gex_AM_RequestShort0(job.team, job.peer, PING, 0);
        GASNET_BLOCKUNTIL(pongs != before);
    }
}

static void medium_round_trips(gex_AM_Index_t handler, size_t len, uint64_t rounds)
{
    if (job.rank == 1)
        serve_pings(rounds);
    for (uint64_t round_i = 0; round_i < rounds && job.rank == 0; round_i++) {
        const uint64_t before = pongs;
        gex_AM_RequestMedium0(job.team, job.peer, handler, job.send, len, GEX_EVENT_NOW, 0);
        GASNET_BLOCKUNTIL(pongs != before);
    }
}

static void am_medium(size_t len, uint64_t rounds) { medium_round_trips(PING_MEDIUM, len, rounds); }

static void am_medium_unread(size_t len, uint64_t rounds)
{
    medium_round_trips(PING_MEDIUM_UNREAD, len, rounds);
}

static void long_round_trips(gex_AM_Index_t handler, size_t len, uint64_t rounds)
{
    if (job.rank == 1)
        serve_pings(rounds);
    for (uint64_t round_i = 0; round_i < rounds && job.rank == 0; round_i++) {
        const uint64_t before = pongs;
        gex_AM_RequestLong0(job.team, job.peer, handler, job.send, len, job.theirs, GEX_EVENT_NOW,
                            0);
        GASNET_BLOCKUNTIL(pongs != before);
    }
}

static void am_long(size_t len, uint64_t rounds) { long_round_trips(PING_LONG, len, rounds); }

static void am_long_unread(size_t len, uint64_t rounds)
{
    long_round_trips(PING_LONG_UNREAD, len, rounds);
}

/* ---- floods ------------------------------------------------------------------------------- */

/* The sender's end of a flood, or the receiver's whole. */
static void flood_finish(uint64_t rounds)
{
    static uint64_t floods_goal, ends_goal;
    if (job.rank == 1) {
        floods_goal += rounds;
        GASNET_BLOCKUNTIL(floods == floods_goal);
        gex_AM_RequestShort0(job.team, job.peer, FLOOD_END, 0);
    } else if (job.rank == 0) {
        ends_goal++;
        GASNET_BLOCKUNTIL(floods_ended == ends_goal);
    }
}

static void am_short_flood(size_t len, uint64_t rounds)
{
    (void)len;
    for (uint64_t round_i = 0; round_i < rounds && job.rank == 0; round_i++)
        gex_AM_RequestShort0(job.team, job.peer, FLOOD, 0);
    flood_finish(rounds);
}

static void medium_flood(gex_AM_Index_t handler, size_t len, uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds && job.rank == 0; round_i++)
        gex_AM_RequestMedium0(job.team, job.peer, handler, job.send, len, GEX_EVENT_NOW, 0);
    flood_finish(rounds);
}

static void am_medium_flood(size_t len, uint64_t rounds) { medium_flood(FLOOD_KEPT, len, rounds); }

static void am_medium_flood_unread(size_t len, uint64_t rounds)
{
    medium_flood(FLOOD_UNREAD, len, rounds);
}

static void am_long_flood(size_t len, uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds && job.rank == 0; round_i++)
        gex_AM_RequestLong0(job.team, job.peer, FLOOD_UNREAD, job.send, len, job.theirs,
                            GEX_EVENT_NOW, 0);
    flood_finish(rounds);
}

/* ---- one-sided ---------------------------------------------------------------------------- */

static void put_small(uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gex_RMA_PutBlocking(job.team, job.peer, job.theirs, job.send, SMALL_LEN, 0);
        driver_fence();
    }
}

static void put(size_t len, uint64_t rounds)
{
    if (job.rank != 0)
        return;
    if (len == SMALL_LEN) {
        put_small(rounds);
        return;
    }
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gex_RMA_PutBlocking(job.team, job.peer, job.theirs, job.send, len, 0);
        driver_fence();
    }
}

static void get_small(uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gex_RMA_GetBlocking(job.team, job.send, job.peer, job.theirs, SMALL_LEN, 0);
        driver_fence();
    }
}

static void get(size_t len, uint64_t rounds)
{
    if (job.rank != 0)
        return;
    if (len == SMALL_LEN) {
        get_small(rounds);
        return;
    }
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gex_RMA_GetBlocking(job.team, job.send, job.peer, job.theirs, len, 0);
        driver_fence();
    }
}

/* A put answered by a put; both ranks look at their memory until its last byte has changed. */
static void put_ping_pong(size_t len, uint64_t rounds)
{
    static unsigned char turn;
    const volatile unsigned char *last = job.mine + ANSWERED_AT + len - 1;
    if (job.rank > 1)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        turn++;
        if (job.rank == 1)
            GASNET_BLOCKUNTIL(*last == turn);
        job.send[len - 1] = turn;
        gex_RMA_PutBlocking(job.team, job.peer, job.theirs + ANSWERED_AT, job.send, len, 0);
        if (job.rank == 0)
            GASNET_BLOCKUNTIL(*last == turn);
    }
}

static void fetch_add(size_t len, uint64_t rounds)
{
    uint64_t before = 0;
    (void)len;
    for (uint64_t round_i = 0; round_i < rounds && job.rank == 0; round_i++) {
        gex_Event_Wait(
            gex_AD_OpNB_U64(job.atomics, &before, job.peer, job.theirs, GEX_OP_FADD, 1, 0, 0));
        driver_fence();
    }
}

static void barrier(size_t len, uint64_t rounds)
{
    (void)len;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        meet();
}

static const driver_op ops[] = {
    { "am_short", am_short },
    { "am_medium", am_medium },
    { "am_medium_unread", am_medium_unread },
    { "am_long", am_long },
    { "am_long_unread", am_long_unread },
    { "am_short_flood", am_short_flood },
    { "am_medium_flood", am_medium_flood },
    { "am_medium_flood_unread", am_medium_flood_unread },
    { "am_long_flood", am_long_flood },
    { "put", put },
    { "get", get },
    { "put_ping_pong", put_ping_pong },
    { "fetch_add", fetch_add },
    { "barrier", barrier },
};

/* ---- start -------------------------------------------------------------------------------- */

static void job_open(void)
{
    gex_Segment_t segment;
    void *owner = NULL;
    job.rank = gex_TM_QueryRank(job.team);
    job.size = gex_TM_QuerySize(job.team);
    job.peer = job.rank ^ 1u;
    if (job.peer >= job.size)
        job.peer = 0;
    if (gex_Segment_Attach(&segment, job.team, SEGMENT_LEN) != GASNET_OK)
        gasnet_exit(1);
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(job.team, job.peer, &owner, NULL, NULL, 0));
    job.mine = gex_Segment_QueryAddr(segment);
    job.theirs = owner;
    job.send = malloc(DRIVER_BULK_LEN);
    job.kept = malloc(DRIVER_BULK_LEN);
    if (job.send == NULL || job.kept == NULL)
        gasnet_exit(1);
    memset(job.mine, 0, SEGMENT_LEN);
    memset(job.send, 1, DRIVER_BULK_LEN);
    memset(job.kept, 1, DRIVER_BULK_LEN);
    gex_AD_Create(&job.atomics, job.team, GEX_DT_U64, GEX_OP_FADD, 0);
    meet();
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    if (gex_Client_Init(&client, &endpoint, &job.team, "PEERS", &argc, &argv, 0))
        return 1;
    gex_EP_RegisterHandlers(endpoint, handlers, sizeof(handlers) / sizeof(handlers[0]));
    meet(); /* all have registered */
    if (argc != 2) {
        fprintf(stderr, "bench: argument: SOCKET; bench/peers/run.py starts me\n");
        gasnet_exit(2);
    }
    job_open();
    const driver self = { .rank = job.rank,
                          .size = job.size,
                          .meet = meet,
                          .ops = ops,
                          .op_count = sizeof(ops) / sizeof(ops[0]) };
    const int status = driver_serve(&self, argv[1]);
    gex_AD_Destroy(job.atomics);
    gasnet_exit(status);
}
