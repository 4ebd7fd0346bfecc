/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_am_local.c: when the source of a message may be changed: events, groups, access regions,
 * asynchronous Longs, copies on request. The segment is the client's own memory, which peers do not
 * map, so that long payloads are on their way when the calls return.
 *
 * TESTS: gex_AM_RequestMedium[M] gex_AM_RequestLong[M] gex_AM_ReplyLong[M] gex_NBI_Wait
 * gex_Event_Test gex_NBI_EndAccessRegion gasnet_AMRequestLongAsync[M] GEX_FLAG_LC_COPY_YES
 * GEX_FLAG_LC_COPY_NO GEX_FLAG_IMMEDIATE
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum {
    LONG_REQ = 200,
    LONG_REP,
    MEDIUM_REQ,
    PING_REQ,
    PING_REP,
    LEN = 200000, /* several frames, where a message may be so long */
    COUNT = 6,
    RANKS_MAX = 16
};

/* One part for each sender, message and direction; aligned as segments are. */
static char memory[RANKS_MAX * LEN] __attribute__((aligned(65536)));
static char sources[COUNT][LEN];
static char *bases[RANKS_MAX];
static size_t long_len; /* LEN, or the most that may be sent */
static check_count longs, replies, mediums, pongs;

static char *place(gex_Rank_t at, gex_Rank_t from) { return bases[at] + (size_t)from * LEN; }

static void long_req(gex_Token_t token, void *payload, size_t len, gex_AM_Arg_t seed,
                     gex_AM_Arg_t answers)
{
    CHECK(check_filled(payload, len, (unsigned)seed),
          "GASNet-EX AM: a Long arrives as its source was until local completion");
    check_add(&longs, 1);
    if (answers) {
        gex_Event_t local = GEX_EVENT_NO_OP;
        gex_AM_ReplyLong1(token, LONG_REP, payload, 0, NULL, &local, 0, seed);
        CHECK(local != GEX_EVENT_NO_OP, "GASNet-EX AM: a reply writes its event");
    }
}

static void long_rep(gex_Token_t token, void *payload, size_t len, gex_AM_Arg_t seed)
{
    (void)token, (void)payload, (void)len;
    memset(sources[seed % COUNT], 0, long_len); /* legal from here on */
    check_add(&replies, 1);
}

static void medium_req(gex_Token_t token, void *payload, size_t len, gex_AM_Arg_t seed)
{
    (void)token;
    CHECK(check_filled(payload, len, (unsigned)seed), "GASNet-EX AM: a Medium arrives intact");
    check_add(&mediums, 1);
}

static void ping_req(gex_Token_t token) { (void)gex_AM_ReplyShort0(token, PING_REP, 0); }

static void ping_rep(gex_Token_t token)
{
    (void)token;
    check_add(&pongs, 1);
}

/* The peer's handler is done with what was sent before it is sent the next: one place each. */
static void arrived(unsigned *expected)
{
    ++*expected;
    ex_barrier();
    CHECK_WAIT(longs, *expected);
    ex_barrier();
}

static void send_long(gex_Rank_t peer, unsigned seed, gex_Event_t *local, gex_Flags_t flags)
{
    char *source = sources[seed % COUNT];
    check_fill(source, long_len, seed);
    int status = gex_AM_RequestLong2(ex_tm, peer, LONG_REQ, source, long_len,
                                     place(peer, (gex_Rank_t)check_rank), local, flags,
                                     (gex_AM_Arg_t)seed, 0);
    CHECK_EQ(status, 0, "GASNet-EX AM: without IMMEDIATE a Long is not refused");
}

static void by_event(gex_Rank_t peer, unsigned *expected)
{
    static const gex_Flags_t flags[] = { 0, GEX_FLAG_LC_COPY_YES, GEX_FLAG_LC_COPY_NO };
    for (unsigned i = 0; i < 3; i++) {
        gex_Event_t local = GEX_EVENT_NO_OP;
        send_long(peer, i, &local, flags[i]);
        CHECK(local != GEX_EVENT_NO_OP, "GASNet-EX AM: the event is written");
        gex_Event_Wait(local);
        memset(sources[i], 0, long_len);
        arrived(expected);
    }
}

static void by_group(gex_Rank_t peer, unsigned *expected)
{
    send_long(peer, 3, GEX_EVENT_GROUP, 0);
    gex_NBI_Wait(GEX_EC_AM, 0);
    memset(sources[3], 0, long_len);
    arrived(expected);
    gex_NBI_BeginAccessRegion(0);
    send_long(peer, 4, GEX_EVENT_GROUP, 0);
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    memset(sources[4], 0, long_len);
    arrived(expected);
    send_long(peer, 5, GEX_EVENT_NOW, 0);
    memset(sources[5], 0, long_len);
    arrived(expected);
}

static void asynchronously(gex_Rank_t peer, unsigned *expected)
{
    unsigned before = check_counted(&replies);
    check_fill(sources[0], long_len, 6);
    (void)gasnet_AMRequestLongAsync2(peer, LONG_REQ, sources[0], long_len,
                                     place(peer, (gex_Rank_t)check_rank), 6, 1);
    CHECK_WAIT(replies, before + 1);
    CHECK(check_all(sources[0], long_len, 0), "GASNet-1 AM: the source is the reply handler's");
    arrived(expected);
}

/* If it is refused, it has no effect; if it is taken, the source may change. */
static void immediately(gex_Rank_t peer, unsigned *expected)
{
    check_fill(sources[1], long_len, 7);
    while (gex_AM_RequestLong2(ex_tm, peer, LONG_REQ, sources[1], long_len,
                               place(peer, (gex_Rank_t)check_rank), GEX_EVENT_NOW,
                               GEX_FLAG_IMMEDIATE, 7, 0) != 0)
        gasnet_AMPoll();
    memset(sources[1], 0, long_len);
    arrived(expected);
}

static void mediums_by_event(gex_Rank_t peer)
{
    size_t len = gex_AM_MaxRequestMedium(ex_tm, peer, GEX_EVENT_GROUP, 0, 1);
    static unsigned wanted;
    wanted += 2;
    if (len > LEN)
        len = LEN;
    check_fill(sources[2], len, 8);
    gex_Event_t local = GEX_EVENT_NO_OP;
    gex_AM_RequestMedium1(ex_tm, peer, MEDIUM_REQ, sources[2], len, &local, 0, 8);
    gex_AM_RequestMedium1(ex_tm, peer, MEDIUM_REQ, sources[2], len, GEX_EVENT_GROUP,
                          GEX_FLAG_LC_COPY_YES, 8);
    while (gex_Event_Test(local) != GASNET_OK)
        gasnet_AMPoll();
    gex_NBI_Wait(GEX_EC_AM, 0);
    memset(sources[2], 0, len);
    ex_barrier();
    CHECK_WAIT(mediums, wanted);
    ex_barrier();
}

int main(int argc, char **argv)
{
    gex_AM_Entry_t entries[] = {
        { LONG_REQ, (gex_AM_Fn_t)long_req, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 2, NULL, NULL },
        { LONG_REP, (gex_AM_Fn_t)long_rep, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY, 1, NULL, NULL },
        { MEDIUM_REQ, (gex_AM_Fn_t)medium_req, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL,
          NULL },
        { PING_REQ, (gex_AM_Fn_t)ping_req, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, NULL },
        { PING_REP, (gex_AM_Fn_t)ping_rep, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, NULL },
    };
    unsigned expected = 0;
    ex_begin(&argc, &argv, GEX_FLAG_USES_GASNET1);
    ex_register(entries, sizeof entries / sizeof entries[0]);
    CHECK_EQ(gex_Segment_Create(&ex_segment, ex_client, memory, sizeof memory, GEX_MK_HOST, 0),
             GASNET_OK, "GASNet-EX Segments: a client's own memory");
    CHECK_EQ(gex_EP_BindSegment(ex_ep, ex_segment, 0), GASNET_OK, "GASNet-EX Segments: binding");
    CHECK_EQ(gex_EP_PublishBoundSegment(ex_tm, &ex_ep, 1, 0), GASNET_OK,
             "GASNet-EX Segments: publishing");
    for (gex_Rank_t peer = 0; peer < (gex_Rank_t)check_size; peer++)
        bases[peer] = ex_base(peer);
    long_len = gex_AM_LUBRequestLong() < LEN ? gex_AM_LUBRequestLong() : LEN;
    ex_barrier();
    for (unsigned step = 0; step < 2; step++) { /* oneself, and the next */
        gex_Rank_t peer = check_next(step);
        by_event(peer, &expected);
        by_group(peer, &expected);
        asynchronously(peer, &expected);
        immediately(peer, &expected);
        mediums_by_event(peer);
        unsigned before = check_counted(&pongs);
        gex_AM_RequestShort0(ex_tm, peer, PING_REQ, 0);
        CHECK_WAIT(pongs, before + 1);
    }
    return check_end();
}
