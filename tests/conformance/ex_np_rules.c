/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_np_rules.c: GASNet-EX negotiated payload: lengths, limits, destinations, events, the immediate
 * flag, cancelling, pairs of teams, several threads.
 *
 * TESTS: gex_AM_PrepareRequestMedium gex_AM_PrepareRequestLong gex_AM_PrepareReplyMedium
 * gex_AM_CancelRequestMedium gex_AM_CancelRequestLong gex_AM_CancelReplyMedium
 * gex_AM_CancelReplyLong gex_AM_CommitRequestMedium[M] gex_AM_SrcDescSize gex_AM_SrcDescAddr
 * gex_AM_MaxRequestMedium gex_AM_MaxRequestLong gex_Token_MaxReplyMedium gex_Token_MaxReplyLong
 * GEX_FLAG_AM_PREPARE_LEAST_CLIENT GEX_FLAG_AM_PREPARE_LEAST_ALLOC GEX_AM_SRCDESC_NO_OP
 * GEX_FLAG_LC_COPY_YES GEX_FLAG_LC_COPY_NO
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

#include <unistd.h>

enum {
    MEDIUM_REQ = 200,
    LONG_REQ,
    CANCEL_REQ,
    CANCEL_REP,
    SLOW_REQ,
    BUILT_REQ,
    SEGMENT_LEN = 4 << 20,
    LONG_LEN = 300000,
    RANKS_MAX = 16
};

static check_count mediums, longs, replies, slows;
static char *my_base, *bases[RANKS_MAX];
static gex_Rank_t size;

/* The longest for which a place of one sender each is in the segment. */
static char *place(gex_Rank_t at) { return bases[at] + (size_t)check_rank * (LONG_LEN + 8) / 4; }

static void medium_req(gex_Token_t token, void *payload, size_t len, gex_AM_Arg_t seed)
{
    CHECK(check_filled(payload, len, (unsigned)seed), "GASNet-EX NP: a Medium arrives intact");
    CHECK(len == 0 || (uintptr_t)payload % 16 == 0, "GASNet-EX NP: aligned for any type");
    CHECK(gex_Token_MaxReplyMedium(token, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 0) >= 512 &&
              gex_Token_MaxReplyLong(token, GEX_EVENT_NOW, GEX_FLAG_AM_PREPARE_LEAST_CLIENT, 0) >=
                  512,
          "GASNet-EX NP: the least payload of a reply");
    if (len != 0)
        memset(payload, 0, len); /* writable */
    check_add(&mediums, 1);
}

static void long_req(gex_Token_t token, void *payload, size_t len, gex_AM_Arg_t seed)
{
    (void)token;
    CHECK(check_filled(payload, len, (unsigned)seed), "GASNet-EX NP: a Long arrives intact");
    check_add(&longs, 1);
}

/* A cancelled reply does not count: another may follow. */
static void cancel_req(gex_Token_t token)
{
    char ours[8] = "";
    gex_AM_SrcDesc_t desc = gex_AM_PrepareReplyMedium(token, NULL, 1, 64, NULL, 0, 1);
    CHECK_EQ(gex_AM_CancelReplyMedium(desc, 0), GASNET_OK, "GASNet-EX NP: cancelling");
    desc = gex_AM_PrepareReplyMedium(token, ours, 1, 8, GEX_EVENT_NOW, 0, 1);
    (void)gex_AM_CancelReplyMedium(desc, 0);
    desc = gex_AM_PrepareReplyLong(token, NULL, 1, 64, NULL, NULL, 0, 1);
    CHECK_EQ(gex_AM_CancelReplyLong(desc, 0), GASNET_OK, "GASNet-EX NP: cancelling");
    (void)gex_AM_ReplyShort0(token, CANCEL_REP, 0);
}

static void cancel_rep(gex_Token_t token)
{
    (void)token;
    check_add(&replies, 1);
}

static void slow_req(gex_Token_t token, void *payload, size_t len)
{
    (void)token;
    (void)payload;
    (void)len;
    check_add(&slows, 1);
}

static const void *built_at;

static void built_req(gex_Token_t token, void *payload, size_t len)
{
    (void)token;
    CHECK(payload == built_at, "Penstock: a Medium in a buffer of the library's is not copied");
    CHECK(check_filled(payload, len, 11), "GASNet-EX NP: a Medium arrives intact");
    check_add(&slows, 1);
}

/* Sender and handler share one mapping of the memory that messages travel in, so an address tells
 * whether the payload was moved. A job of one rank may use a conduit without shared memory. */
static void built_in_place(void)
{
    static const size_t lens[] = { 4096, 1, 65536, 4096 };
    if (size == 1)
        return;
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        unsigned before = check_counted(&slows);
        gex_AM_SrcDesc_t desc = gex_AM_PrepareRequestMedium(ex_tm, (gex_Rank_t)check_rank, NULL,
                                                            lens[i], lens[i], NULL, 0, 0);
        built_at = gex_AM_SrcDescAddr(desc);
        check_fill(gex_AM_SrcDescAddr(desc), lens[i], 11);
        gex_AM_CommitRequestMedium0(desc, BUILT_REQ, lens[i]);
        CHECK_WAIT(slows, before + 1);
    }
}

static void limits(gex_Rank_t peer)
{
    const gex_Flags_t client = GEX_FLAG_AM_PREPARE_LEAST_CLIENT;
    const gex_Flags_t alloc = GEX_FLAG_AM_PREPARE_LEAST_ALLOC;
    for (unsigned n = 0; n <= gex_AM_MaxArgs(); n++) {
        CHECK(gex_AM_MaxRequestMedium(ex_tm, peer, GEX_EVENT_NOW, client, n) >=
                      gex_AM_LUBRequestMedium() &&
                  gex_AM_MaxRequestMedium(ex_tm, peer, NULL, alloc, n) >=
                      gex_AM_LUBRequestMedium() &&
                  gex_AM_MaxRequestLong(ex_tm, peer, NULL, alloc, n) >= gex_AM_LUBRequestLong() &&
                  gex_AM_MaxReplyLong(ex_tm, peer, NULL, alloc, n) >= gex_AM_LUBReplyLong(),
              "GASNet-EX NP: the least payload may be what is legal for every message");
    }
    size_t most = gex_AM_MaxRequestMedium(ex_tm, peer, NULL, alloc, 1);
    gex_AM_SrcDesc_t desc = gex_AM_PrepareRequestMedium(ex_tm, peer, NULL, most, most, NULL, 0, 1);
    CHECK_EQ(gex_AM_SrcDescSize(desc), most, "GASNet-EX NP: the limit can be had");
    check_fill(gex_AM_SrcDescAddr(desc), most, 3);
    gex_AM_CommitRequestMedium1(desc, MEDIUM_REQ, most, 3);
    desc = gex_AM_PrepareRequestMedium(ex_tm, peer, NULL, 1, SIZE_MAX, NULL, 0, 1);
    CHECK(gex_AM_SrcDescSize(desc) >= 1, "GASNet-EX NP: the most may be beyond the limit");
    check_fill(gex_AM_SrcDescAddr(desc), 1, 3);
    gex_AM_CommitRequestMedium1(desc, MEDIUM_REQ, 1, 3);
}

static void lengths(gex_Rank_t peer)
{
    static const size_t lens[] = { 0, 1, 7, 64, 511, 4000, 4096 };
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        gex_AM_SrcDesc_t desc =
            gex_AM_PrepareRequestMedium(ex_tm, peer, NULL, 4096, 4096, NULL, 0, 1);
        check_fill(gex_AM_SrcDescAddr(desc), 4096, 5);
        gex_AM_CommitRequestMedium1(desc, MEDIUM_REQ, lens[i], 5);
    }
    gex_AM_SrcDesc_t desc = gex_AM_PrepareRequestMedium(ex_tm, peer, NULL, 0, 0, NULL, 0, 1);
    CHECK(desc != GEX_AM_SRCDESC_NO_OP, "GASNet-EX NP: nothing may be prepared");
    CHECK_EQ(gex_AM_SrcDescSize(desc), 0, "GASNet-EX NP: and has no size");
    gex_AM_CommitRequestMedium1(desc, MEDIUM_REQ, 0, 0);
}

static void long_lengths(gex_Rank_t peer)
{
    static char ours[LONG_LEN / 4];
    static const size_t lens[] = { 1, 5000, 65536, LONG_LEN / 4 };
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        const size_t most = gex_AM_MaxRequestLong(ex_tm, peer, NULL, 0, 1);
        const size_t len = lens[i] < most ? lens[i] : most;
        for (unsigned is_ours = 0; is_ours < 2; is_ours++) {
            gex_Event_t local = GEX_EVENT_NO_OP;
            gex_AM_SrcDesc_t desc = gex_AM_PrepareRequestLong(
                ex_tm, peer, is_ours ? ours : NULL, len, len, i % 2 ? place(peer) : NULL,
                is_ours ? &local : NULL, i % 2 ? GEX_FLAG_LC_COPY_YES : GEX_FLAG_LC_COPY_NO, 1);
            check_fill(gex_AM_SrcDescAddr(desc), len, 7);
            gex_AM_CommitRequestLong1(desc, LONG_REQ, len, place(peer), 7);
            CHECK(!is_ours || local != GEX_EVENT_NO_OP,
                  "GASNet-EX NP: the commit writes the event");
            if (is_ours)
                gex_Event_Wait(local);
        }
    }
    gex_AM_SrcDesc_t desc = gex_AM_PrepareRequestLong(ex_tm, peer, NULL, 1, 64, NULL, NULL, 0, 1);
    gex_AM_CommitRequestLong1(desc, LONG_REQ, 0, NULL, 0);
}

/* Nothing is sent, nothing is written, and the next one goes. */
static void cancelling(gex_Rank_t peer)
{
    char ours[64] = "";
    gex_Event_t local = GEX_EVENT_NO_OP;
    (void)gex_AM_CancelRequestMedium(
        gex_AM_PrepareRequestMedium(ex_tm, peer, NULL, 1, 4096, NULL, 0, 0), 0);
    (void)gex_AM_CancelRequestMedium(
        gex_AM_PrepareRequestMedium(ex_tm, peer, ours, 1, 64, &local, 0, 0), 0);
    CHECK(local == GEX_EVENT_NO_OP, "GASNet-EX NP: cancelling writes no event");
    gex_AM_SrcDesc_t desc =
        gex_AM_PrepareRequestLong(ex_tm, peer, NULL, 64, 64, place(peer), NULL, 0, 0);
    memset(gex_AM_SrcDescAddr(desc), 0xee, 64);
    (void)gex_AM_CancelRequestLong(desc, 0);
    unsigned before = check_counted(&replies);
    gex_AM_RequestShort0(ex_tm, peer, CANCEL_REQ, 0);
    CHECK_WAIT(replies, before + 1);
}

static void events(gex_Rank_t peer)
{
    char ours[512] = "";
    gex_TM_t pair = gex_TM_Pair(ex_ep, 0);
    check_fill(ours, sizeof ours, 9);
    gex_AM_SrcDesc_t desc =
        gex_AM_PrepareRequestMedium(pair, peer, ours, 1, sizeof ours, GEX_EVENT_GROUP, 0, 1);
    gex_AM_CommitRequestMedium1(desc, MEDIUM_REQ, sizeof ours, 9);
    gex_NBI_Wait(GEX_EC_AM, 0);
    desc = gex_AM_PrepareRequestMedium(pair, peer, NULL, 1, sizeof ours, NULL, 0, 1);
    check_fill(gex_AM_SrcDescAddr(desc), sizeof ours, 9);
    gex_AM_CommitRequestMedium1(desc, MEDIUM_REQ, sizeof ours, 9);
}

enum { ROOM_TRIES = 20000 };

/* Until the peer, which does not poll now, has no room: then NO_OP, or a refused commit, and what
 * was refused is not delivered. */
static unsigned fill_up(gex_Rank_t peer)
{
    unsigned sent = 0, refused = 0;
    char ours[1000] = "";
    for (unsigned i = 0; i < ROOM_TRIES && refused < 4; i++) {
        gex_AM_SrcDesc_t desc =
            gex_AM_PrepareRequestMedium(ex_tm, peer, i % 2 ? ours : NULL, 1000, 1000,
                                        i % 2 ? GEX_EVENT_NOW : NULL, GEX_FLAG_IMMEDIATE, 0);
        if (desc == GEX_AM_SRCDESC_NO_OP) {
            refused++;
        } else if (gex_AM_CommitRequestMedium0_v2(desc, SLOW_REQ, 1000, GEX_FLAG_IMMEDIATE) != 0) {
            CHECK_EQ(gex_AM_SrcDescSize(desc), 1000,
                     "GASNet-EX NP: a refused commit leaves the descriptor as it was");
            (void)gex_AM_CancelRequestMedium(desc, 0);
            refused++;
        } else {
            sent++;
        }
    }
    CHECK(refused == (peer == (gex_Rank_t)check_rank ? 0 : 4),
          "GASNet-EX NP: a peer that does not poll runs out of room, a rank itself does not");
    return sent;
}

static void immediately(void)
{
    static unsigned sent;
    const gex_Rank_t last = size - 1;
    const size_t flag_at = SEGMENT_LEN - sizeof(uint32_t);
    ex_barrier(); /* no rank needs the last rank's polls for this message any more */
    if (check_rank == 0) {
        sent = fill_up(last);
        (void)gex_RMA_PutBlockingVal(ex_tm, last, bases[last] + flag_at, 1, sizeof(uint32_t), 0);
    } else if (check_rank == (int)last) {
        const uint32_t *flag = (const uint32_t *)(const void *)(my_base + flag_at);
        while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0)
            (void)usleep(100); /* and does not poll */
    }
    ex_barrier();
    if (check_rank == (int)size - 1) {
        for (int i = 0; i < 1000; i++)
            gasnet_AMPoll();
        CHECK(check_counted(&slows) > 0, "GASNet-EX NP: what was taken arrives");
    }
    ex_barrier();
    if (check_rank == 0 && size == 1)
        CHECK_EQ(check_counted(&slows), sent, "GASNet-EX NP: what was refused had no effect");
}

/* Each thread has a descriptor of its own. */
static void on_thread(unsigned thread_i)
{
    for (unsigned i = 0; i < 200; i++) {
        const gex_Rank_t peer = (gex_Rank_t)((unsigned)check_rank + i) % size;
        const size_t len = 1 + (i * 37u + thread_i * 1000u) % 5000u;
        gex_AM_SrcDesc_t desc =
            gex_AM_PrepareRequestMedium(ex_tm, peer, NULL, len, len, NULL, 0, 1);
        check_fill(gex_AM_SrcDescAddr(desc), len, i);
        if (i % 5 == 4)
            (void)gex_AM_CancelRequestMedium(desc, 0);
        else
            gex_AM_CommitRequestMedium1(desc, MEDIUM_REQ, len, (gex_AM_Arg_t)i);
    }
}

int main(int argc, char **argv)
{
    gex_AM_Entry_t entries[] = {
        { MEDIUM_REQ, (gex_AM_Fn_t)medium_req, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL,
          NULL },
        { LONG_REQ, (gex_AM_Fn_t)long_req, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 1, NULL, NULL },
        { CANCEL_REQ, (gex_AM_Fn_t)cancel_req, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
          NULL },
        { CANCEL_REP, (gex_AM_Fn_t)cancel_rep, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL,
          NULL },
        { SLOW_REQ, (gex_AM_Fn_t)slow_req, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL,
          NULL },
        { BUILT_REQ, (gex_AM_Fn_t)built_req, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL,
          NULL },
    };
    ex_begin(&argc, &argv, 0);
    ex_register(entries, sizeof entries / sizeof entries[0]);
    my_base = ex_attach(SEGMENT_LEN);
    memset(my_base, 0, SEGMENT_LEN);
    size = (gex_Rank_t)check_size;
    for (gex_Rank_t peer = 0; peer < size; peer++)
        bases[peer] = ex_base(peer);
    ex_barrier();
    for (gex_Rank_t peer = 0; peer < size; peer++) { /* oneself among them */
        limits(peer);
        lengths(peer);
        long_lengths(peer);
        cancelling(peer);
        events(peer);
    }
    CHECK_WAIT(mediums, size * (2 + 8 + 2));
    CHECK_WAIT(longs, size * (2 * 4 + 1));
    built_in_place();
    ex_barrier();
    immediately();
    check_on_threads(on_thread);
    CHECK_WAIT(mediums, size * 12 + CHECK_THREADS * 160);
    return check_end();
}
