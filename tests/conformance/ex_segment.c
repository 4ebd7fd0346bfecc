/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_segment.c: GASNet-EX segments and teams of pairs: create, bind and publish instead of attach;
 * memory of the library and of the client; queries; TM pairs in messages and remote access.
 *
 * TESTS: gex_Segment_Create gex_EP_BindSegment gex_EP_PublishBoundSegment gex_Segment_QueryClient
 * gex_Segment_QueryFlags TESTS: gex_Segment_QueryAddr gex_Segment_QuerySize gex_Segment_SetCData
 * gex_Segment_QueryCData TESTS: gex_Segment_QueryBound gex_EP_QueryBoundSegmentNB
 * gex_EP_QuerySegment gex_TM_Pair TESTS: gasnet_getSegmentInfo gasnet_getNodeInfo
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { LEN = 1 << 17, TOUCH = 210 };

static check_count touched;
static _Alignas(64) char own[LEN];

static void touch(gex_Token_t token, void *buffer, size_t len, gex_AM_Arg_t seed)
{
    (void)token;
    CHECK(len == 1000 && check_filled(buffer, len, (unsigned)seed),
          "GASNet-EX Segments: Long into a created segment");
    check_add(&touched, 1);
}

/* Odd ranks give memory of their own, which no peer maps. */
static void create(void)
{
    int adopt = check_rank % 2;
    void *owner = &adopt, *local = own;
    uintptr_t len = 17;
    CHECK(gex_Segment_QueryBound(ex_tm, (gex_Rank_t)check_rank, &owner, &local, &len) != 0 &&
              owner == &adopt && local == own && len == 17,
          "GASNet-EX Segments: QueryBound that finds nothing writes nothing");
    gex_Segment_t segment = GEX_SEGMENT_INVALID;
    CHECK_EQ(gex_Segment_Create(&segment, ex_client, adopt ? own : NULL, LEN, GEX_MK_HOST, 0),
             GASNET_OK, "GASNet-EX Segments: gex_Segment_Create");
    CHECK(segment != GEX_SEGMENT_INVALID && gex_Segment_QuerySize(segment) >= LEN,
          "GASNet-EX Segments: size");
    CHECK(!adopt || gex_Segment_QueryAddr(segment) == own,
          "GASNet-EX Segments: the client's memory is adopted");
    CHECK(gex_Segment_QueryClient(segment) == ex_client && gex_Segment_QueryFlags(segment) == 0,
          "GASNet-EX Segments: queries");
    CHECK(gex_Segment_QueryCData(segment) == NULL, "GASNet-EX CData: initially NULL");
    gex_Segment_SetCData(segment, &touched);
    CHECK(gex_Segment_QueryCData(segment) == &touched, "GASNet-EX CData: what was set");
    CHECK_EQ(gex_EP_BindSegment(ex_ep, segment, 0), GASNET_OK,
             "GASNet-EX Endpoints: gex_EP_BindSegment");
    CHECK(gex_EP_QuerySegment(ex_ep) == segment, "GASNet-EX Endpoints: the bound segment");
    ex_segment = segment;
    gex_System_SetVerboseErrors(0);
    CHECK(gex_EP_BindSegment(ex_ep, segment, 0) != GASNET_OK,
          "GASNet-EX Endpoints: binding is once");
    gex_System_SetVerboseErrors(1);
    CHECK_EQ(gex_EP_PublishBoundSegment(ex_tm, &ex_ep, 1, 0), GASNET_OK,
             "GASNet-EX Endpoints: publish");
    ex_barrier();
}

static void queries(gex_Rank_t peer)
{
    void *owner = NULL, *local = NULL;
    uintptr_t len = 0;
    CHECK_EQ(gex_Segment_QueryBound(ex_tm, peer, &owner, &local, &len), 0,
             "GASNet-EX Segments: QueryBound finds it");
    CHECK(owner != NULL && len >= LEN, "GASNet-EX Segments: QueryBound's values");
    if (peer == (gex_Rank_t)check_rank)
        CHECK(local == owner,
              "GASNet-EX Segments: the local address of one's own segment is its address");
    if (local != NULL) { /* this process can load and store there */
        char byte = 42, seen = 0;
        gex_RMA_PutBlocking(ex_tm, peer, (char *)owner + LEN - 1 - check_rank, &byte, 1, 0);
        seen = *((volatile char *)local + LEN - 1 - check_rank);
        CHECK_EQ(seen, 42, "GASNet-EX Segments: the local address shows the peer's memory");
    }
    gasnet_seginfo_t info[64];
    CHECK_EQ(gasnet_getSegmentInfo(info, check_size), GASNET_OK,
             "GASNet-1 Core: gasnet_getSegmentInfo");
    CHECK(info[peer].addr == owner && info[peer].size == len,
          "GASNet-1 Core: owner addresses for every rank");
    gasnet_nodeinfo_t nodes[64];
    CHECK_EQ(gasnet_getNodeInfo(nodes, check_size), GASNET_OK, "GASNet-1 Core: gasnet_getNodeInfo");
    CHECK(nodes[peer].host < (gasnet_node_t)check_size &&
              nodes[peer].supernode < (gasnet_node_t)check_size,
          "GASNet-1 Core: host and supernode ids are below the number of ranks");
}

static void over_pair(gex_Rank_t peer)
{
    gex_TM_t pair = gex_TM_Pair(ex_ep, 0);
    CHECK(pair != GEX_TM_INVALID && pair == gex_TM_Pair(ex_ep, 0),
          "GASNet-EX Teams: a pair costs no communication");
    char *remote = ex_base(peer), source[1000], back[1000];
    check_fill(source, sizeof source, 5);
    gex_RMA_PutBlocking(pair, peer, remote, source, sizeof source, 0);
    gex_Event_Wait(gex_RMA_GetNB(pair, back, peer, remote, sizeof back, 0));
    CHECK(check_filled(back, sizeof back, 5),
          "GASNet-EX Teams: remote access over a pair takes job ranks");
    CHECK(gex_AM_MaxRequestLong(pair, peer, GEX_EVENT_NOW, 0, 1) >= 512,
          "GASNet-EX Teams: limits over a pair");
    check_fill(source, sizeof source, 6);
    gex_AM_RequestLong1(pair, peer, TOUCH, source, sizeof source, remote + 2000 * (1 + check_rank),
                        GEX_EVENT_NOW, 0, 6);
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    gex_AM_Entry_t entry = {
        TOUCH, (gex_AM_Fn_t)touch, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 1, NULL, NULL
    };
    ex_register(&entry, 1);
    create();
    for (gex_Rank_t peer = 0; peer < (gex_Rank_t)check_size; peer++) {
        queries(peer);
        ex_barrier();
    }
    gex_Rank_t next = check_next(1);
    over_pair(next);
    CHECK_WAIT(touched, 1);
    ex_barrier();
    char *remote = ex_base(next), *source = (char *)malloc(LEN), *back = (char *)malloc(LEN);
    check_fill(source, LEN, 8); /* larger than a frame where the peer's memory is not mapped */
    gex_RMA_PutBlocking(ex_tm, next, remote, source, LEN, 0);
    gex_RMA_GetBlocking(ex_tm, back, next, remote, LEN, 0);
    CHECK(check_filled(back, LEN, 8), "GASNet-EX RMA: a whole created segment");
    ex_barrier();
    free(source);
    free(back);
    return check_end();
}
