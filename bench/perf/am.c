/* SPDX-License-Identifier: BSD-3-Clause */
/* am.c: active messages between ranks 0 and 1: round trips, and floods with and without replies. */
#include "perf.h"

enum {
    PING = GEX_AM_INDEX_BASE,
    PONG,
    PING_PAYLOAD,
    PONG_PAYLOAD,
    FLOOD,
    FLOOD_PAYLOAD,
    FLOOD_END,
    PING_BULK,
    PING_LONG,
    PONG_LONG,
    FLOOD_LONG
};

/* The handlers run on this thread, inside calls of the library. */
static volatile uint64_t pongs, pings, floods, floods_ended;

static void ping(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c, gex_AM_Arg_t d)
{
    pings = pings + 1;
    gex_AM_ReplyShort4(token, PONG, 0, a, b, c, d);
}

static void pong(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c, gex_AM_Arg_t d)
{
    (void)token, (void)a, (void)b, (void)c, (void)d;
    pongs = pongs + 1;
}

static void ping_payload(gex_Token_t token, void *payload, size_t len)
{
    pings = pings + 1;
    gex_AM_ReplyMedium0(token, PONG_PAYLOAD, payload, len, GEX_EVENT_NOW, 0);
}

static void pong_payload(gex_Token_t token, void *payload, size_t len)
{
    (void)token, (void)payload, (void)len;
    pongs = pongs + 1;
}

/* Replies with as many bytes of this rank's own memory. */
static void ping_bulk(gex_Token_t token, void *payload, size_t len)
{
    (void)payload;
    pings = pings + 1;
    gex_AM_ReplyMedium0(token, PONG_PAYLOAD, perf.local, len, GEX_EVENT_NOW, 0);
}

static void ping_long(gex_Token_t token, void *payload, size_t len)
{
    (void)payload;
    pings = pings + 1;
    gex_AM_ReplyLong0(token, PONG_LONG, perf.local, len, perf.peer_bulk, GEX_EVENT_NOW, 0);
}

static void flood(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c, gex_AM_Arg_t d)
{
    (void)token, (void)a, (void)b, (void)c, (void)d;
    floods = floods + 1;
}

static void flood_payload(gex_Token_t token, void *payload, size_t len)
{
    (void)token, (void)payload, (void)len;
    floods = floods + 1;
}

static void flood_end(gex_Token_t token)
{
    (void)token;
    floods_ended = floods_ended + 1;
}

enum { REQUEST = GEX_FLAG_AM_REQUEST, REPLY = GEX_FLAG_AM_REPLY };

static gex_AM_Entry_t handlers[] = {
    { PING, (gex_AM_Fn_t)ping, GEX_FLAG_AM_SHORT | REQUEST, 4, NULL, "ping" },
    { PONG, (gex_AM_Fn_t)pong, GEX_FLAG_AM_SHORT | REPLY, 4, NULL, "pong" },
    { PING_PAYLOAD, (gex_AM_Fn_t)ping_payload, GEX_FLAG_AM_MEDIUM | REQUEST, 0, NULL,
      "ping_payload" },
    { PONG_PAYLOAD, (gex_AM_Fn_t)pong_payload, GEX_FLAG_AM_MEDIUM | REPLY, 0, NULL,
      "pong_payload" },
    { FLOOD, (gex_AM_Fn_t)flood, GEX_FLAG_AM_SHORT | REQUEST, 4, NULL, "flood" },
    { FLOOD_PAYLOAD, (gex_AM_Fn_t)flood_payload, GEX_FLAG_AM_MEDIUM | REQUEST, 0, NULL,
      "flood_payload" },
    { PING_BULK, (gex_AM_Fn_t)ping_bulk, GEX_FLAG_AM_MEDIUM | REQUEST, 0, NULL, "ping_bulk" },
    { PING_LONG, (gex_AM_Fn_t)ping_long, GEX_FLAG_AM_LONG | REQUEST, 0, NULL, "ping_long" },
    { PONG_LONG, (gex_AM_Fn_t)pong_payload, GEX_FLAG_AM_LONG | REPLY, 0, NULL, "pong_long" },
    { FLOOD_LONG, (gex_AM_Fn_t)flood_payload, GEX_FLAG_AM_LONG | REQUEST, 0, NULL, "flood_long" },
    { FLOOD_END, (gex_AM_Fn_t)flood_end, GEX_FLAG_AM_SHORT | REQUEST, 0, NULL, "flood_end" },
};

void perf_am_register(gex_EP_t endpoint)
{
    gex_EP_RegisterHandlers(endpoint, handlers, sizeof(handlers) / sizeof(handlers[0]));
}

size_t perf_am_len_max(void)
{
    const size_t request = gex_AM_MaxRequestMedium(perf.team, perf.peer, GEX_EVENT_NOW, 0, 0);
    const size_t reply = gex_AM_MaxReplyMedium(perf.team, perf.peer, GEX_EVENT_NOW, 0, 0);
    return request < reply ? request : reply;
}

/* Rank 1's part of a round trip. Counted from the start of the program: the first may be served
 * before we are out of the barrier that begins the block. */
static void serve_pings(uint64_t rounds)
{
    static uint64_t goal;
    goal += rounds;
    GASNET_BLOCKUNTIL(pings == goal);
}

/* Rank 0 sends requests, and waits for the answer of rank 1 to each. Inlined, so that `send` costs
 * no call of its own. */
static inline __attribute__((always_inline)) void
round_trips(uint64_t rounds, size_t len, void (*send)(uint64_t round_i, size_t len))
{
    if (perf.rank == 1)
        serve_pings(rounds);
    if (perf.rank != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        const uint64_t before = pongs;
        send(round_i, len);
        GASNET_BLOCKUNTIL(pongs != before);
    }
}

static void ping_short(uint64_t round_i, size_t len)
{
    (void)len;
    gex_AM_RequestShort4(perf.team, perf.peer, PING, 0, (gex_AM_Arg_t)round_i, 2, 3, 4);
}

void perf_am_short(uint64_t rounds, size_t len) { round_trips(rounds, len, ping_short); }

static void ping_medium(uint64_t round_i, size_t len)
{
    (void)round_i;
    gex_AM_RequestMedium0(perf.team, perf.peer, PING_PAYLOAD, perf.local, len, GEX_EVENT_NOW, 0);
}

void perf_am_medium(uint64_t rounds, size_t len) { round_trips(rounds, len, ping_medium); }

static void ping_medium_both(uint64_t round_i, size_t len)
{
    (void)round_i;
    gex_AM_RequestMedium0(perf.team, perf.peer, PING_BULK, perf.local, len, GEX_EVENT_NOW, 0);
}

void perf_am_medium_both(uint64_t rounds, size_t len)
{
    round_trips(rounds, len, ping_medium_both);
}

static void ping_long_both(uint64_t round_i, size_t len)
{
    (void)round_i;
    gex_AM_RequestLong0(perf.team, perf.peer, PING_LONG, perf.local, len, perf.peer_bulk,
                        GEX_EVENT_NOW, 0);
}

void perf_am_long_both(uint64_t rounds, size_t len) { round_trips(rounds, len, ping_long_both); }

void perf_am_flood_medium_both(uint64_t rounds, size_t len)
{
    if (perf.rank == 1)
        serve_pings(rounds);
    if (perf.rank != 0)
        return;
    const uint64_t goal = pongs + rounds;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_AM_RequestMedium0(perf.team, perf.peer, PING_BULK, perf.local, len, GEX_EVENT_NOW, 0);
    GASNET_BLOCKUNTIL(pongs == goal);
}

void perf_am_flood_long_both(uint64_t rounds, size_t len)
{
    if (perf.rank == 1)
        serve_pings(rounds);
    if (perf.rank != 0)
        return;
    const uint64_t goal = pongs + rounds;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_AM_RequestLong0(perf.team, perf.peer, PING_LONG, perf.local, len, perf.peer_bulk,
                            GEX_EVENT_NOW, 0);
    GASNET_BLOCKUNTIL(pongs == goal);
}

void perf_am_flood_reply(uint64_t rounds, size_t len)
{
    (void)len;
    if (perf.rank == 1)
        serve_pings(rounds);
    if (perf.rank != 0)
        return;
    const uint64_t goal = pongs + rounds;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_AM_RequestShort4(perf.team, perf.peer, PING, 0, (gex_AM_Arg_t)round_i, 2, 3, 4);
    GASNET_BLOCKUNTIL(pongs == goal);
}

/* Rank 1's part of a flood: says when it has had all. */
static void swallow_flood(uint64_t rounds)
{
    static uint64_t goal; /* as for the pings */
    goal += rounds;
    GASNET_BLOCKUNTIL(floods == goal);
    gex_AM_RequestShort0(perf.team, perf.peer, FLOOD_END, 0);
}

void perf_am_flood(uint64_t rounds, size_t len)
{
    (void)len;
    if (perf.rank == 1)
        swallow_flood(rounds);
    if (perf.rank != 0)
        return;
    const uint64_t before = floods_ended;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_AM_RequestShort4(perf.team, perf.peer, FLOOD, 0, (gex_AM_Arg_t)round_i, 2, 3, 4);
    GASNET_BLOCKUNTIL(floods_ended != before);
}

void perf_am_flood_medium(uint64_t rounds, size_t len)
{
    if (perf.rank == 1)
        swallow_flood(rounds);
    if (perf.rank != 0)
        return;
    const uint64_t before = floods_ended;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_AM_RequestMedium0(perf.team, perf.peer, FLOOD_PAYLOAD, perf.local, len, GEX_EVENT_NOW,
                              0);
    GASNET_BLOCKUNTIL(floods_ended != before);
}

void perf_am_flood_long(uint64_t rounds, size_t len)
{
    if (perf.rank == 1)
        swallow_flood(rounds);
    if (perf.rank != 0)
        return;
    const uint64_t before = floods_ended;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_AM_RequestLong0(perf.team, perf.peer, FLOOD_LONG, perf.local, len, perf.peer_bulk,
                            GEX_EVENT_NOW, 0);
    GASNET_BLOCKUNTIL(floods_ended != before);
}

void perf_am_short_crowd(uint64_t rounds, size_t len)
{
    perf_am_short(rounds, len);
    perf_meet();
}

void perf_am_medium_crowd(uint64_t rounds, size_t len)
{
    perf_am_medium(rounds, len);
    perf_meet();
}
