/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_rma.c: GASNet-EX remote memory access: blocking, explicit and implicit, by value, every
 * local-completion form, all sizes and alignments; events, leaf events, access regions.
 *
 * TESTS: gex_RMA_PutBlocking gex_RMA_GetBlocking gex_RMA_PutNB gex_RMA_PutNBI gex_RMA_GetNB
 * gex_RMA_GetNBI TESTS: gex_RMA_GetBlockingVal gex_RMA_PutBlockingVal gex_RMA_PutNBVal
 * gex_RMA_PutNBIVal TESTS: gex_NBI_BeginAccessRegion gex_NBI_EndAccessRegion gex_NBI_Test
 * gex_NBI_Wait TESTS: gex_Event_Test gex_Event_Wait gex_Event_TestSome gex_Event_TestAll
 * gex_Event_WaitSome gex_Event_WaitAll TESTS: gex_Event_QueryLeaf
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { LEN = 1 << 18, AREA = 4 * LEN };

/* Every rank writes its own quarter of its neighbour's segment, so ranks do not disturb one
 * another. */
static const size_t lens[] = { 0,  1,  2,  3,  4,  5,   7,    8,    9,     15,      16,
                               31, 33, 63, 64, 65, 127, 1000, 4096, 65537, LEN - 64 };
enum { LENS = sizeof lens / sizeof lens[0] };
static char source[LEN + 64], back[LEN + 64];

static void round_trip(gex_Rank_t peer, char *remote, size_t len, unsigned way, unsigned seed)
{
    char *from = source + seed % 9, *to = back + seed % 5;
    char *there = remote + seed % 7;
    gex_Event_t leaf = GEX_EVENT_INVALID, event;
    check_fill(from, len, seed);
    memset(to, 0, len);
    switch (way) {
    case 0:
        CHECK_EQ(gex_RMA_PutBlocking(ex_tm, peer, there, from, len, 0), 0,
                 "GASNet-EX RMA: PutBlocking returns 0");
        break;
    case 1:
        event = gex_RMA_PutNB(ex_tm, peer, there, from, len, GEX_EVENT_NOW, 0);
        memset(from, 0x55, len);
        gex_Event_Wait(event);
        break;
    case 2:
        gex_Event_Wait(gex_RMA_PutNB(ex_tm, peer, there, from, len, GEX_EVENT_DEFER, 0));
        break;
    case 3:
        event = gex_RMA_PutNB(ex_tm, peer, there, from, len, &leaf, 0);
        gex_Event_Wait(leaf);
        memset(from, 0x55, len);
        while (gex_Event_Test(event) != 0)
            gasnet_AMPoll();
        break;
    case 4:
        CHECK_EQ(gex_RMA_PutNBI(ex_tm, peer, there, from, len, GEX_EVENT_NOW, 0), 0,
                 "GASNet-EX RMA: PutNBI");
        memset(from, 0x55, len);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        break;
    case 5:
        gex_RMA_PutNBI(ex_tm, peer, there, from, len, GEX_EVENT_DEFER, 0);
        gex_NBI_Wait(GEX_EC_ALL, 0);
        break;
    default:
        gex_RMA_PutNBI(ex_tm, peer, there, from, len, GEX_EVENT_GROUP, 0);
        gex_NBI_Wait(GEX_EC_LC, 0);
        memset(from, 0x55, len);
        while (gex_NBI_Test(GEX_EC_PUT, 0) != 0)
            gasnet_AMPoll();
        break;
    }
    switch (way % 3) {
    case 0:
        CHECK_EQ(gex_RMA_GetBlocking(ex_tm, to, peer, there, len, 0), 0,
                 "GASNet-EX RMA: GetBlocking returns 0");
        break;
    case 1:
        gex_Event_Wait(gex_RMA_GetNB(ex_tm, to, peer, there, len, 0));
        break;
    default:
        gex_RMA_GetNBI(ex_tm, to, peer, there, len, 0);
        gex_NBI_Wait(GEX_EC_GET, 0);
        break;
    }
    CHECK(check_filled(to, len, seed), "GASNet-EX RMA: a get returns what the completed put wrote");
}

static void neighbours_kept(const char *remote, gex_Rank_t peer, size_t len)
{
    /* Bytes beside a put are not touched. */
    char *there = (char *)(uintptr_t)remote;
    char guard[3] = { 1, 2, 3 }, seen[3];
    gex_RMA_PutBlocking(ex_tm, peer, there + len, guard, 3, 0);
    gex_RMA_PutBlocking(ex_tm, peer, there, source, len, 0);
    gex_RMA_GetBlocking(ex_tm, seen, peer, there + len, 3, 0);
    CHECK(memcmp(guard, seen, 3) == 0, "GASNet-EX RMA: a put writes its own bytes only");
}

static void values(gex_Rank_t peer, char *remote)
{
    const gex_RMA_Value_t value = UINT64_C(0xf1e2d3c4b5a69788);
    for (size_t n = 1; n <= 8; n++) {
        gex_RMA_Value_t low = n == 8 ? value : value & ((UINT64_C(1) << (8 * n)) - 1);
        gex_RMA_PutBlockingVal(ex_tm, peer, remote, ~value, 8, 0);
        gex_RMA_PutBlockingVal(ex_tm, peer, remote, value, n, 0);
        CHECK(gex_RMA_GetBlockingVal(ex_tm, peer, remote, n, 0) == low,
              "GASNet-EX RMA: low-order bytes, zero-extended");
        gex_RMA_Value_t all = gex_RMA_GetBlockingVal(ex_tm, peer, remote, 8, 0);
        CHECK(n == 8 || all >> (8 * n) == ~value >> (8 * n),
              "GASNet-EX RMA: a value put writes n bytes only");
        gex_Event_Wait(gex_RMA_PutNBVal(ex_tm, peer, remote + 16, value, n, 0));
        gex_RMA_PutNBIVal(ex_tm, peer, remote + 32, value, n, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        CHECK(gex_RMA_GetBlockingVal(ex_tm, peer, remote + 16, n, 0) == low &&
                  gex_RMA_GetBlockingVal(ex_tm, peer, remote + 32, n, 0) == low,
              "GASNet-EX RMA: PutNBVal and PutNBIVal write the value");
    }
}

enum { EVENTS = 40 };

static void start_events(gex_Event_t *events, gex_Rank_t peer, char *remote, unsigned seed)
{
    for (unsigned i = 0; i < EVENTS; i++) {
        char *from = source + 64 * i;
        check_fill(from, 64, i + seed);
        events[i] = i % 7 == 3
                        ? GEX_EVENT_INVALID
                        : gex_RMA_PutNB(ex_tm, peer, remote + 64 * i, from, 64, GEX_EVENT_DEFER, 0);
    }
}

static unsigned events_left(const gex_Event_t *events)
{
    unsigned left = 0;
    for (unsigned i = 0; i < EVENTS; i++)
        left += events[i] != GEX_EVENT_INVALID;
    return left;
}

static void event_arrays(gex_Rank_t peer, char *remote)
{
    gex_Event_t events[EVENTS];
    CHECK(gex_Event_Test(GEX_EVENT_INVALID) == 0, "GASNet-EX Events: INVALID is complete");
    gex_Event_Wait(GEX_EVENT_INVALID);
    CHECK(gex_Event_TestAll(NULL, 0, 0) == 0 && gex_Event_TestSome(NULL, 0, 0) == 0,
          "GASNet-EX Events: empty arrays");
    start_events(events, peer, remote, 0);
    gex_Event_WaitAll(events, EVENTS, 0);
    CHECK_EQ(events_left(events), 0, "GASNet-EX Events: WaitAll sets every slot to INVALID");
    start_events(events, peer, remote, 1);
    while (gex_Event_TestAll(events, EVENTS, 0) != 0)
        gasnet_AMPoll();
    CHECK_EQ(events_left(events), 0, "GASNet-EX Events: TestAll sets every slot to INVALID");
    start_events(events, peer, remote, 2);
    while (events_left(events) != 0)
        gex_Event_WaitSome(events, EVENTS, 0);
    start_events(events, peer, remote, 3);
    while (events_left(events) != 0)
        while (gex_Event_TestSome(events, EVENTS, 0) != 0)
            gasnet_AMPoll();
}

/* A root and its own leaf in one array, in either order. */
static void leaves(gex_Rank_t peer, char *remote)
{
    for (int order = 0; order < 2; order++) {
        gex_Event_t pair[2] = { GEX_EVENT_INVALID, GEX_EVENT_INVALID }, leaf = GEX_EVENT_INVALID;
        pair[order] = gex_RMA_PutNB(ex_tm, peer, remote, source, LEN / 2, &leaf, 0);
        pair[1 - order] = leaf;
        gex_Event_WaitAll(pair, 2, 0);
        CHECK(pair[0] == GEX_EVENT_INVALID && pair[1] == GEX_EVENT_INVALID,
              "GASNet-EX Events: root beside its leaf");
        gex_Event_t root = gex_RMA_PutNB(ex_tm, peer, remote, source, LEN / 2, &leaf, 0);
        gex_Event_Wait(gex_Event_QueryLeaf(root, GEX_EC_LC));
        gex_Event_Wait(root);
    }
}

static void access_regions(gex_Rank_t peer, char *remote)
{
    gex_NBI_BeginAccessRegion(0);
    gex_Event_Wait(gex_NBI_EndAccessRegion(0)); /* empty */
    gex_NBI_BeginAccessRegion(0);
    for (unsigned i = 0; i < 500; i++) {
        check_fill(source + 16 * i, 16, i);
        gex_RMA_PutNBI(ex_tm, peer, remote + 16 * i, source + 16 * i, 16,
                       i % 2 ? GEX_EVENT_GROUP : GEX_EVENT_DEFER, 0);
    }
    gex_Event_t event = gex_NBI_EndAccessRegion(0);
    gex_Event_Wait(event);
    gex_NBI_BeginAccessRegion(0);
    for (unsigned i = 0; i < 500; i++)
        gex_RMA_GetNBI(ex_tm, back + 16 * i, peer, remote + 16 * i, 16, 0);
    event = gex_NBI_EndAccessRegion(0);
    while (gex_Event_Test(event) != 0)
        gasnet_AMPoll();
    for (unsigned i = 0; i < 500; i++)
        CHECK(check_filled(back + 16 * i, 16, i),
              "GASNet-EX NBI: a region's event covers its operations");
}

/* Immediate operations may refuse, never do half. */
static void immediate(gex_Rank_t peer, char *remote)
{
    for (unsigned i = 0; i < 100; i++) {
        check_fill(source, 4096, i);
        if (gex_RMA_PutBlocking(ex_tm, peer, remote, source, 4096, GEX_FLAG_IMMEDIATE) != 0)
            gex_RMA_PutBlocking(ex_tm, peer, remote, source, 4096, 0);
        gex_Event_t event = gex_RMA_GetNB(ex_tm, back, peer, remote, 4096, GEX_FLAG_IMMEDIATE);
        if (event == GEX_EVENT_NO_OP)
            event = gex_RMA_GetNB(ex_tm, back, peer, remote, 4096, 0);
        gex_Event_Wait(event);
        CHECK(check_filled(back, 4096, i), "GASNet-EX RMA: immediate operations");
    }
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    ex_attach(AREA);
    for (unsigned step = 0; step < 2; step++) { /* oneself, then the neighbour */
        gex_Rank_t peer = check_next(step);
        char *remote = ex_base(peer);
        for (unsigned way = 0; way < 7; way++)
            for (unsigned i = 0; i < LENS; i++)
                round_trip(peer, remote + LEN, lens[i], way, way * 31 + i + (unsigned)check_rank);
        for (unsigned i = 0; i < LENS; i++)
            neighbours_kept(remote + 2 * LEN, peer, lens[i]);
        values(peer, remote);
        event_arrays(peer, remote);
        leaves(peer, remote);
        access_regions(peer, remote);
        immediate(peer, remote);
        ex_barrier();
    }
    return check_end();
}
