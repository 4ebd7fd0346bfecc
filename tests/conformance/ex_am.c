/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_am.c: GASNet-EX active messages: every category with 0 to 16 arguments, request and reply,
 * payload limits, local completion, the immediate flag, tokens, messages to oneself.
 *
 * TESTS: gex_AM_MaxArgs gex_AM_MaxRequestMedium gex_AM_MaxReplyMedium gex_AM_MaxRequestLong
 * gex_AM_MaxReplyLong TESTS: gex_AM_LUBRequestMedium gex_AM_LUBReplyMedium gex_AM_LUBRequestLong
 * gex_AM_LUBReplyLong TESTS: gex_AM_RequestShort[M] gex_AM_RequestMedium[M] gex_AM_RequestLong[M]
 * TESTS: gex_AM_ReplyShort[M] gex_AM_ReplyMedium[M] gex_AM_ReplyLong[M]
 * TESTS: gex_Token_Info gex_Token_MaxReplyMedium gex_Token_MaxReplyLong gex_EP_QueryBoundSegmentNB
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

/* Per arity: parameters, their names, and the values that are sent. */
#define P0
#define N0
#define V0(n)
#define P1     P0, gex_AM_Arg_t a1
#define N1     N0, a1
#define V1(n)  V0(n), arg_of(n, 1)
#define P2     P1, gex_AM_Arg_t a2
#define N2     N1, a2
#define V2(n)  V1(n), arg_of(n, 2)
#define P3     P2, gex_AM_Arg_t a3
#define N3     N2, a3
#define V3(n)  V2(n), arg_of(n, 3)
#define P4     P3, gex_AM_Arg_t a4
#define N4     N3, a4
#define V4(n)  V3(n), arg_of(n, 4)
#define P5     P4, gex_AM_Arg_t a5
#define N5     N4, a5
#define V5(n)  V4(n), arg_of(n, 5)
#define P6     P5, gex_AM_Arg_t a6
#define N6     N5, a6
#define V6(n)  V5(n), arg_of(n, 6)
#define P7     P6, gex_AM_Arg_t a7
#define N7     N6, a7
#define V7(n)  V6(n), arg_of(n, 7)
#define P8     P7, gex_AM_Arg_t a8
#define N8     N7, a8
#define V8(n)  V7(n), arg_of(n, 8)
#define P9     P8, gex_AM_Arg_t a9
#define N9     N8, a9
#define V9(n)  V8(n), arg_of(n, 9)
#define P10    P9, gex_AM_Arg_t a10
#define N10    N9, a10
#define V10(n) V9(n), arg_of(n, 10)
#define P11    P10, gex_AM_Arg_t a11
#define N11    N10, a11
#define V11(n) V10(n), arg_of(n, 11)
#define P12    P11, gex_AM_Arg_t a12
#define N12    N11, a12
#define V12(n) V11(n), arg_of(n, 12)
#define P13    P12, gex_AM_Arg_t a13
#define N13    N12, a13
#define V13(n) V12(n), arg_of(n, 13)
#define P14    P13, gex_AM_Arg_t a14
#define N14    N13, a14
#define V14(n) V13(n), arg_of(n, 14)
#define P15    P14, gex_AM_Arg_t a15
#define N15    N14, a15
#define V15(n) V14(n), arg_of(n, 15)
#define P16    P15, gex_AM_Arg_t a16
#define N16    N15, a16
#define V16(n) V15(n), arg_of(n, 16)
#define ARITIES(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

enum {
    SHORT_REQ = 128,
    MEDIUM_REQ = 145,
    LONG_REQ = 162,
    SHORT_REP = 179,
    MEDIUM_REP = 196,
    LONG_REP = 213,
    INFO_REQ = 240,
    SWAP_REQ,
    SWAP_REP,
    ZERO_REQ,
    FLOOD_REQ,
    SEGMENT_LEN = 1 << 20,
    PAYLOAD_MAX = 600,
    RANKS_MAX = 64
};

static check_count replies, floods, zeros;
static char *my_base, *bases[RANKS_MAX];

/* Argument i of a message with `count` arguments; includes both ends of the 32-bit range. */
static gex_AM_Arg_t arg_of(unsigned count, unsigned i)
{
    if (i == 1)
        return count % 2 ? INT32_MIN : INT32_MAX;
    return (gex_AM_Arg_t)(count * 1000003u * i + 0x80000001u * (i & 1));
}

static void check_args(unsigned count, const gex_AM_Arg_t *args)
{
    for (unsigned i = 0; i < count; i++)
        CHECK_EQ(args[i], arg_of(count, i + 1),
                 "GASNet-EX AM: arguments arrive bit-exactly, in order");
}

static void check_payload(void *buffer, size_t len, unsigned count)
{
    CHECK_EQ(len, 16 + count * 32, "GASNet-EX AM: the payload has the length that was sent");
    CHECK(check_filled(buffer, len, count), "GASNet-EX AM: the payload arrives intact");
}

static void check_long(void *buffer, size_t len, unsigned count)
{
    check_payload(buffer, len, count);
    CHECK((char *)buffer >= my_base && (char *)buffer + len <= my_base + SEGMENT_LEN,
          "GASNet-EX AM: Long data lies where the sender said");
}

static gex_Rank_t source_of(gex_Token_t token)
{
    gex_Token_Info_t info;
    gex_TI_t got = gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    CHECK(got & GEX_TI_SRCRANK, "GASNet-EX Token: the source rank is always there");
    return info.gex_srcrank;
}

/* Where in a rank's segment the Long of one sender and arity lands: senders do not meet. */
static size_t place(gex_Rank_t from, unsigned count, int reply)
{
    return (((size_t)from * 17 + count) * 2 + (size_t)(reply != 0)) * 1024 % (SEGMENT_LEN - 1024);
}

#define HANDLERS(n)                                                                           \
    static void short_rep_##n(gex_Token_t token P##n)                                         \
    {                                                                                         \
        const gex_AM_Arg_t args[] = { 0 N##n };                                               \
        (void)token;                                                                          \
        check_args(n, args + 1);                                                              \
        check_add(&replies, 1);                                                               \
    }                                                                                         \
    static void medium_rep_##n(gex_Token_t token, void *buffer, size_t len P##n)              \
    {                                                                                         \
        check_payload(buffer, len, n);                                                        \
        short_rep_##n(token N##n);                                                            \
    }                                                                                         \
    static void long_rep_##n(gex_Token_t token, void *buffer, size_t len P##n)                \
    {                                                                                         \
        check_long(buffer, len, n);                                                           \
        short_rep_##n(token N##n);                                                            \
    }                                                                                         \
    static void short_req_##n(gex_Token_t token P##n)                                         \
    {                                                                                         \
        const gex_AM_Arg_t args[] = { 0 N##n };                                               \
        check_args(n, args + 1);                                                              \
        gex_AM_ReplyShort##n(token, SHORT_REP + n, 0 N##n);                                   \
    }                                                                                         \
    static void medium_req_##n(gex_Token_t token, void *buffer, size_t len P##n)              \
    {                                                                                         \
        const gex_AM_Arg_t args[] = { 0 N##n };                                               \
        check_args(n, args + 1);                                                              \
        check_payload(buffer, len, n);                                                        \
        gex_AM_ReplyMedium##n(token, MEDIUM_REP + n, buffer, len, GEX_EVENT_NOW, 0 N##n);     \
    }                                                                                         \
    static void long_req_##n(gex_Token_t token, void *buffer, size_t len P##n)                \
    {                                                                                         \
        const gex_AM_Arg_t args[] = { 0 N##n };                                               \
        const gex_Rank_t from = source_of(token);                                             \
        check_args(n, args + 1);                                                              \
        check_long(buffer, len, n);                                                           \
        gex_AM_ReplyLong##n(token, LONG_REP + n, buffer, len,                                 \
                            bases[from] + place((gex_Rank_t)check_rank, n, 1), GEX_EVENT_NOW, \
                            0 N##n);                                                          \
    }
ARITIES(HANDLERS)

#define SEND(n)                                                                               \
    check_fill(payload, 16 + n * 32, n);                                                      \
    gex_AM_RequestShort##n(ex_tm, peer, SHORT_REQ + n, 0 V##n(n));                            \
    gex_AM_RequestMedium##n(ex_tm, peer, MEDIUM_REQ + n, payload, 16 + n * 32, GEX_EVENT_NOW, \
                            0 V##n(n));                                                       \
    gex_AM_RequestLong##n(ex_tm, peer, LONG_REQ + n, payload, 16 + n * 32,                    \
                          bases[peer] + place((gex_Rank_t)check_rank, n, 0), GEX_EVENT_NOW,   \
                          0 V##n(n));

static void send_arities(gex_Rank_t peer)
{
    char payload[PAYLOAD_MAX];
    ARITIES(SEND)
}

#define ENTRY(base, n, kind, role, function)                                                     \
    {                                                                                            \
        base + n, (gex_AM_Fn_t)function##_##n, GEX_FLAG_AM_##kind | GEX_FLAG_AM_##role, n, NULL, \
        NULL                                                                                     \
    }
#define ENTRIES(n)                                                                                \
    ENTRY(SHORT_REQ, n, SHORT, REQUEST, short_req), ENTRY(SHORT_REP, n, SHORT, REPLY, short_rep), \
        ENTRY(MEDIUM_REQ, n, MEDIUM, REQUEST, medium_req),                                        \
        ENTRY(MEDIUM_REP, n, MEDIUM, REPLY, medium_rep),                                          \
        ENTRY(LONG_REQ, n, LONG, REQUEST, long_req), ENTRY(LONG_REP, n, LONG, REPLY, long_rep),

static void register_arities(void)
{
    static gex_AM_Entry_t entries[] = { ARITIES(ENTRIES) };
    ex_register(entries, sizeof entries / sizeof entries[0]);
}

static void info_req(gex_Token_t token)
{
    gex_Token_Info_t info;
    memset(&info, 0, sizeof info);
    gex_TI_t got = gex_Token_Info(token, &info, GEX_TI_ALL);
    CHECK((got & (GEX_TI_SRCRANK | GEX_TI_EP)) == (GEX_TI_SRCRANK | GEX_TI_EP),
          "GASNet-EX Token: mandatory fields");
    CHECK(info.gex_ep == ex_ep, "GASNet-EX Token: the endpoint that received it");
    CHECK(info.gex_srcrank < (gex_Rank_t)check_size, "GASNet-EX Token: a job rank");
    if (got & GEX_TI_ENTRY)
        CHECK(info.gex_entry->gex_index == INFO_REQ && info.gex_entry->gex_cdata == &replies &&
                  strcmp(info.gex_entry->gex_name, "info") == 0,
              "GASNet-EX Token: the entry as registered");
    if (got & GEX_TI_IS_REQ)
        CHECK(info.gex_is_req, "GASNet-EX Token: it is a request");
    if (got & GEX_TI_IS_LONG)
        CHECK(!info.gex_is_long, "GASNet-EX Token: it is not a Long");
    CHECK(gex_Token_MaxReplyMedium(token, GEX_EVENT_NOW, 0, 2) >= 512 &&
              gex_Token_MaxReplyLong(token, GEX_EVENT_NOW, 0, 2) >= 512,
          "GASNet-EX Token: replies of at least 512 bytes");
    check_add(&zeros, 1);
}

/* The payload of a Medium is writable, and the source of the reply. */
static void swap_req(gex_Token_t token, void *buffer, size_t len)
{
    CHECK((uintptr_t)buffer % 16 == 0, "GASNet-EX AM: a Medium's buffer is aligned for any type");
    unsigned char *bytes = (unsigned char *)buffer;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)~bytes[i];
    gex_AM_ReplyMedium0(token, SWAP_REP, buffer, len, GEX_EVENT_NOW, 0);
}

static void swap_rep(gex_Token_t token, void *buffer, size_t len)
{
    (void)token;
    unsigned char *bytes = (unsigned char *)buffer;
    for (size_t i = 0; i < len; i++)
        CHECK_EQ(bytes[i], (unsigned char)~check_byte(77, i),
                 "GASNet-EX AM: reply from the request's buffer");
    check_add(&replies, 1);
}

static void zero_req(gex_Token_t token, void *buffer, size_t len, gex_AM_Arg_t is_long)
{
    (void)token;
    CHECK_EQ(len, 0, "GASNet-EX AM: an empty payload is delivered");
    if (is_long)
        CHECK_EQ((intptr_t)buffer, 0x1234,
                 "GASNet-EX AM: an empty Long's address is handed through unchanged");
    check_add(&zeros, 1);
}

static void flood_req(gex_Token_t token, gex_AM_Arg_t value)
{
    (void)token;
    CHECK_EQ(value, 5, "GASNet-EX AM: flood argument");
    check_add(&floods, 1);
}

static void limits(void)
{
    CHECK(gex_AM_MaxArgs() >= 16, "GASNet-EX AM: at least 16 arguments on LP64");
    for (unsigned n = 0; n <= 16; n++) {
        size_t medium = gex_AM_MaxRequestMedium(ex_tm, check_next(1), GEX_EVENT_NOW, 0, n);
        CHECK(medium >= 512 && medium >= gex_AM_LUBRequestMedium(), "GASNet-EX AM: Medium limits");
        CHECK(gex_AM_MaxReplyMedium(ex_tm, 0, GEX_EVENT_NOW, 0, n) >= gex_AM_LUBReplyMedium(),
              "GASNet-EX AM: LUB");
        CHECK(gex_AM_MaxRequestLong(ex_tm, 0, GEX_EVENT_NOW, 0, n) >= gex_AM_LUBRequestLong(),
              "GASNet-EX AM: LUB");
        CHECK(gex_AM_MaxReplyLong(ex_tm, 0, GEX_EVENT_NOW, 0, n) >= gex_AM_LUBReplyLong(),
              "GASNet-EX AM: LUB");
        CHECK(n == 0 ||
                  medium <= gex_AM_MaxRequestMedium(ex_tm, check_next(1), GEX_EVENT_NOW, 0, n - 1),
              "GASNet-EX AM: limits do not grow with the number of arguments");
        CHECK(gex_AM_MaxRequestMedium(ex_tm, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, n) <= medium,
              "GASNet-EX AM: GEX_RANK_INVALID asks for the least over the team");
    }
    CHECK(gex_AM_LUBRequestMedium() >= 512 && gex_AM_LUBReplyMedium() >= 512 &&
              gex_AM_LUBRequestLong() >= 512 && gex_AM_LUBReplyLong() >= 512,
          "GASNet-EX AM: every limit is at least 512");
}

static void payload_edges(gex_Rank_t peer)
{
    unsigned before = check_counted(&replies);
    size_t longest = gex_AM_MaxRequestMedium(ex_tm, peer, GEX_EVENT_NOW, 0, 0);
    size_t reply_longest = gex_AM_MaxReplyMedium(ex_tm, peer, GEX_EVENT_NOW, 0, 0);
    size_t both = longest < reply_longest ? longest : reply_longest;
    size_t lens[] = { 1, 7, 8, 63, 64, 65, 511, 512, 4096, both };
    char *payload = (char *)malloc(longest);
    unsigned sent = 0;
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        if (lens[i] > both)
            continue;
        check_fill(payload, lens[i], 77);
        gex_AM_RequestMedium0(ex_tm, peer, SWAP_REQ, payload, lens[i], GEX_EVENT_NOW, 0);
        memset(payload, 0, lens[i]); /* GEX_EVENT_NOW: the source may change again */
        sent++;
    }
    CHECK_WAIT(replies, before + sent);
    free(payload);

    gex_AM_RequestMedium1(ex_tm, peer, ZERO_REQ, NULL, 0, GEX_EVENT_NOW, 0, 0);
    gex_AM_RequestLong1(ex_tm, peer, ZERO_REQ, NULL, 0, (void *)(uintptr_t)0x1234, GEX_EVENT_NOW, 0,
                        1);
    gex_AM_RequestShort0(ex_tm, peer, INFO_REQ, 0);
}

static void local_completion(gex_Rank_t peer)
{
    static char payload[400];
    unsigned before = check_counted(&replies);
    check_fill(payload, sizeof payload, 77);
    gex_Event_t local = GEX_EVENT_NO_OP;
    gex_AM_RequestMedium0(ex_tm, peer, SWAP_REQ, payload, sizeof payload, &local, 0);
    CHECK(local != GEX_EVENT_NO_OP, "GASNet-EX AM: the local-completion event is written");
    gex_Event_Wait(local);
    gex_AM_RequestMedium0(ex_tm, peer, SWAP_REQ, payload, sizeof payload, GEX_EVENT_GROUP, 0);
    gex_NBI_Wait(GEX_EC_AM, 0);
    gex_NBI_BeginAccessRegion(0);
    gex_AM_RequestMedium0(ex_tm, peer, SWAP_REQ, payload, sizeof payload, GEX_EVENT_GROUP, 0);
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    memset(payload, 0, sizeof payload);
    CHECK_WAIT(replies, before + 3);
}

/* All ranks flood rank 0 and send refused messages again: no message is lost, doubled or stuck. */
static void flood(void)
{
    enum { COUNT = 3000 };
    unsigned refused = 0;
    for (int i = 0; i < COUNT; i++)
        while (gex_AM_RequestShort1(ex_tm, 0, FLOOD_REQ, GEX_FLAG_IMMEDIATE, 5) != 0) {
            refused++;
            gasnet_AMPoll();
        }
    if (check_rank == 0)
        CHECK_WAIT(floods, (unsigned)check_size * COUNT);
    ex_barrier();
    for (int i = 0; i < 1000; i++)
        gasnet_AMPoll();
    if (check_rank == 0)
        CHECK_EQ(check_counted(&floods), (unsigned)check_size * COUNT,
                 "GASNet-EX AM: a refused message had no effect");
    (void)refused;
    ex_barrier();
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    register_arities();
    gex_AM_Entry_t others[] = {
        { INFO_REQ, (gex_AM_Fn_t)info_req, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, &replies,
          "info" },
        { SWAP_REQ, (gex_AM_Fn_t)swap_req, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL,
          NULL },
        { SWAP_REP, (gex_AM_Fn_t)swap_rep, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0, NULL, NULL },
        { ZERO_REQ, (gex_AM_Fn_t)zero_req, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST, 1, NULL,
          NULL },
        { FLOOD_REQ, (gex_AM_Fn_t)flood_req, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL,
          NULL },
    };
    ex_register(others, sizeof others / sizeof others[0]);
    my_base = ex_attach(SEGMENT_LEN);
    for (gex_Rank_t peer = 0; peer < (gex_Rank_t)check_size; peer++)
        bases[peer] = ex_base(peer);
    ex_barrier(); /* handlers reply by these */
    limits();
    for (gex_Rank_t peer = 0; peer < (gex_Rank_t)check_size; peer++) { /* oneself among them */
        unsigned before = check_counted(&replies);
        send_arities(peer);
        CHECK_WAIT(replies, before + 3 * 17);
        payload_edges(peer);
        local_completion(peer);
    }
    CHECK_WAIT(zeros, 3 * (unsigned)check_size);
    ex_barrier();
    flood();
    return check_end();
}
