// SPDX-License-Identifier: BSD-3-Clause
// cxx20_endpoints.cpp: a runtime of tasks that keeps memory of several kinds apart, each behind an
// endpoint of its own: adopted memory without alignment, memory of the library, one segment behind
// two endpoints, an endpoint that is published late. Puts, gets and lists of pieces go over pairs
// of endpoints, and over a team whose members are endpoints.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <gasnetex.h>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

namespace
{

constexpr std::size_t bytes = 100'000;
constexpr std::array<gex_EP_Capabilities_t, 3> wanted{
    GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_VIS, GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_AD,
    GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_COLL | GEX_EP_CAPABILITY_AD
};

static_assert(std::is_same_v<gex_Rank_t, std::uint32_t> &&
              sizeof(gex_Event_t) == sizeof(std::uintptr_t));
static_assert(GEX_EVENT_INVALID == GASNET_INVALID_HANDLE, "an event is a handle");

gex_TM_t world;
gex_Rank_t me, ranks;

void expect(bool holds, const char *what, int line)
{
    if (holds)
        return;
    std::fprintf(stderr, "rank %u: %s (line %d)\n", me, what, line);
    gasnet_exit(1);
}
#define EXPECT(c) expect((c), #c, __LINE__)

void barrier() { gex_Event_Wait(gex_Coll_BarrierNB(world, 0)); }

std::uint8_t byte_of(gex_Rank_t rank, unsigned ep, std::size_t i)
{
    return static_cast<std::uint8_t>(rank * 31 + ep * 7 + i * 3 + (i >> 8));
}

struct endpoint {
    gex_EP_t ep{ GEX_EP_INVALID };
    gex_EP_Index_t index{};
    gex_Segment_t segment{ GEX_SEGMENT_INVALID };
    std::uint8_t *base{};

    void make(gex_Client_t client, gex_EP_Capabilities_t capabilities)
    {
        EXPECT(gex_EP_Create(&ep, client, capabilities, 0) == GASNET_OK);
        index = gex_EP_QueryIndex(ep);
        EXPECT(gex_EP_QuerySegment(ep) == GEX_SEGMENT_INVALID && gex_EP_QueryClient(ep) == client);
        gex_EP_SetCData(ep, this);
        EXPECT(gex_EP_QueryCData(ep) == this);
    }
    void bind(gex_Segment_t bound)
    {
        segment = bound;
        EXPECT(gex_EP_BindSegment(ep, bound, 0) == GASNET_OK);
        EXPECT(gex_EP_QuerySegment(ep) == bound);
        base = static_cast<std::uint8_t *>(gex_Segment_QueryAddr(bound));
        EXPECT(gex_Segment_QuerySize(bound) == bytes);
    }
};

// Where a peer's segment behind a pair is; empty if none is bound there.
std::span<std::uint8_t> bound(gex_TM_t pair, gex_Rank_t rank)
{
    void *owner = nullptr, *local = nullptr;
    std::uintptr_t size = 77;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, rank, &owner, &local, &size, 0));
    if (size && rank == me)
        EXPECT(local == owner);
    return { static_cast<std::uint8_t *>(owner), size ? size : 0 };
}

// Each pair of a local and a remote endpoint: put a page, get it back, and get what the owner
// wrote.
void over_pairs(std::span<endpoint> eps, gex_EP_t primordial)
{
    const gex_Rank_t peer = (me + 1) % ranks;
    for (unsigned from = 0; from <= eps.size(); from++)
        for (unsigned to = 0; to < eps.size(); to++) {
            const gex_TM_t pair = gex_TM_Pair(from ? eps[from - 1].ep : primordial, eps[to].index);
            const auto there = bound(pair, peer);
            EXPECT(there.size() == bytes);
            const unsigned writer = to == 2 ? 1 : to; // endpoints 1 and 2 share a segment
            std::vector<std::uint8_t> got(3001, 0);
            EXPECT(!gex_RMA_GetBlocking(pair, got.data(), peer, there.data() + 17, got.size(), 0));
            for (std::size_t i = 0; i < got.size(); i++)
                EXPECT(got[i] == byte_of(peer, writer, i + 17));
            // a place for each (from, to), so that no two puts meet
            std::uint8_t *place = there.data() + 50'000 + from * 4'000 + (to == 2 ? 20'000 : 0);
            std::iota(got.begin(), got.end(), static_cast<std::uint8_t>(from * 5 + to));
            gex_Event_t leaf = GEX_EVENT_INVALID;
            gex_Event_t put = gex_RMA_PutNB(pair, peer, place, got.data(), got.size(), &leaf, 0);
            gex_Event_Wait(leaf);
            gex_Event_Wait(put);
            std::vector<std::uint8_t> back(got.size());
            gex_Event_Wait(gex_RMA_GetNB(pair, back.data(), peer, place, back.size(), 0));
            EXPECT(back == got);
            EXPECT(gex_RMA_GetBlockingVal(pair, peer, place + 2, 1, 0) == got[2]);
            EXPECT(!gex_RMA_PutBlockingVal(pair, peer, place + 2, 0xA5A5, 2, 0));
            EXPECT(gex_RMA_GetBlockingVal(pair, peer, place + 1, 4, 0) ==
                   (static_cast<gex_RMA_Value_t>(got[1]) | 0xA5A500u |
                    static_cast<gex_RMA_Value_t>(got[4]) << 24));
        }
}

void in_pieces(endpoint &local)
{
    const gex_Rank_t peer = (me + 1) % ranks;
    const gex_TM_t pair = gex_TM_Pair(local.ep, local.index);
    const auto there = bound(pair, peer);
    std::array<std::uint8_t, 600> out{}, in{};
    std::iota(out.begin(), out.end(), static_cast<std::uint8_t>(me));
    std::array<gex_Memvec_t, 3> to{ { { there.data() + 90'000, 100 },
                                      { there.data() + 95'000, 0 },
                                      { there.data() + 92'001, 500 } } };
    const gex_Memvec_t from{ out.data(), out.size() };
    gex_Event_Wait(gex_VIS_VectorPutNB(pair, peer, to.size(), to.data(), 1, &from, 0));
    std::array<void *const, 2> into{ in.data(), in.data() + 300 };
    std::array<void *const, 6> pieces{ there.data() + 90'000, there.data() + 92'001,
                                       there.data() + 92'101, there.data() + 92'201,
                                       there.data() + 92'301, there.data() + 92'401 };
    EXPECT(!gex_VIS_IndexedGetBlocking(pair, into.size(), into.data(), 300, peer, pieces.size(),
                                       pieces.data(), 100, 0));
    EXPECT(in == out);
}

// A team of endpoints: two of each rank, so a process is a member twice.
void as_a_team(std::span<endpoint> eps)
{
    std::vector<gex_EP_Location_t> members;
    for (unsigned which : { 1u, 2u })
        for (gex_Rank_t rank = 0; rank < ranks; rank++)
            members.push_back({ rank, eps[which].index });
    std::array<gex_TM_t, 2> teams{ GEX_TM_INVALID, GEX_TM_INVALID };
    gex_TM_Create(teams.data(), teams.size(), world, members.data(), members.size(), nullptr, 0,
                  GEX_FLAG_TM_NO_SCRATCH);
    for (unsigned which : { 0u, 1u }) {
        EXPECT(gex_TM_QuerySize(teams[which]) == 2 * ranks);
        EXPECT(gex_TM_QueryRank(teams[which]) == which * ranks + me);
        EXPECT(gex_TM_QueryEP(teams[which]) == eps[which + 1].ep);
    }
    const gex_EP_Location_t last = gex_TM_TranslateRankToEP(teams[0], 2 * ranks - 1, 0);
    EXPECT(last.gex_rank == ranks - 1 && last.gex_ep_index == eps[2].index);
    EXPECT(gex_TM_TranslateJobrankToRank(teams[1], me) == me);

    // Both endpoints stand before one segment: a put to one is a get from the other.
    const gex_Rank_t peer = (me + 1) % ranks;
    const auto there = bound(teams[0], ranks + peer);
    EXPECT(there.size() == bytes);
    const std::uint32_t word = 0xBEEF0000u + me;
    gex_Event_Wait(
        gex_RMA_PutNB(teams[0], peer, there.data() + 48'000, &word, 4, GEX_EVENT_NOW, 0));
    EXPECT(gex_RMA_GetBlockingVal(teams[1], ranks + peer, there.data() + 48'000, 4, 0) == word);
    std::array<gex_AD_t, 2> domains{}; // a member's each: creation is collective over the team
    for (unsigned which : { 0u, 1u })
        gex_AD_Create(&domains[which], teams[which], GEX_DT_U64, GEX_OP_FADD | GEX_OP_GET, 0);
    std::uint8_t *cell =
        there.data() + (8 - reinterpret_cast<std::uintptr_t>(there.data()) % 8) % 8 + 49'000;
    std::uint64_t seen = 0;
    gex_Event_Wait(gex_AD_OpNB_U64(domains[1], &seen, ranks + peer, cell, GEX_OP_FADD, 5, 0, 0));
    std::uint64_t now = 0;
    gex_Event_Wait(gex_AD_OpNB_U64(domains[0], &now, peer, cell, GEX_OP_GET, 0, 0, 0));
    EXPECT(now == seen + 5);
    for (unsigned which : { 1u, 0u })
        gex_AD_Destroy(domains[which]);
    barrier();
    for (unsigned which :
         { 1u, 0u }) // one thread stands for two members, so neither may wait for the other
        gex_TM_Destroy(teams[which], nullptr, GEX_FLAG_GLOBALLY_QUIESCED);
}

void late(endpoint &ep, gex_Client_t client)
{
    const gex_Rank_t peer = (me + 1) % ranks;
    ep.make(client, GEX_EP_CAPABILITY_RMA);
    const gex_TM_t pair = gex_TM_Pair(ep.ep, ep.index);
    EXPECT(bound(pair, peer).empty()); // made, but nothing is bound or published there
    EXPECT(gex_Segment_QueryBound(pair, peer, nullptr, nullptr, nullptr) != 0);
    barrier();
    gex_Segment_t segment;
    EXPECT(gex_Segment_Create(&segment, client, nullptr, bytes, GEX_MK_HOST, 0) == GASNET_OK);
    ep.bind(segment);
    ep.base[0] = static_cast<std::uint8_t>(me + 100);
    EXPECT(gex_EP_PublishBoundSegment(world, nullptr, 0, 0) ==
           GASNET_OK); // a round without endpoints
    EXPECT(gex_EP_PublishBoundSegment(world, &ep.ep, 1, 0) == GASNET_OK);
    EXPECT(gex_EP_PublishBoundSegment(world, &ep.ep, 1, 0) == GASNET_OK); // may be repeated
    const auto there = bound(pair, peer);
    EXPECT(there.size() == bytes);
    EXPECT(gex_RMA_GetBlockingVal(pair, peer, there.data(), 1, 0) ==
           static_cast<std::uint8_t>(peer + 100));
    barrier();
}

} // namespace

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t primordial;
    if (gex_Client_Init(&client, &primordial, &world, "CXX20", &argc, &argv, 0))
        return 1;
    me = gex_TM_QueryRank(world), ranks = gex_TM_QuerySize(world);
    gex_System_SetVerboseErrors(0);
    gex_EP_t refused{};
    EXPECT(gex_EP_Create(&refused, client, GEX_EP_CAPABILITY_AM, 0) == GASNET_ERR_BAD_ARG);
    gex_Segment_t none{};
    EXPECT(gex_Segment_Create(&none, client, nullptr, 0, GEX_MK_HOST, 0) == GASNET_ERR_BAD_ARG);
    gex_System_SetVerboseErrors(1);

    std::array<endpoint, 3> eps{};
    auto adopted = std::make_unique<std::uint8_t[]>(bytes + 3);
    for (unsigned i = 0; i < eps.size(); i++)
        eps[i].make(client, wanted[i]);
    gex_Segment_t mine{}, own{};
    EXPECT(gex_Segment_Create(&mine, client, adopted.get() + 3, bytes, GEX_MK_HOST, 0) ==
           GASNET_OK);
    EXPECT(gex_Segment_Create(&own, client, nullptr, bytes, GEX_MK_HOST, 0) == GASNET_OK);
    EXPECT(gex_Segment_QueryAddr(mine) == adopted.get() + 3);
    eps[0].bind(mine);
    eps[1].bind(own);
    eps[2].bind(own);
    for (unsigned i = 0; i < 2; i++)
        for (std::size_t b = 0; b < bytes; b++)
            eps[i].base[b] = byte_of(me, i, b);
    std::array<gex_EP_t, 3> all{ eps[0].ep, eps[1].ep, eps[2].ep };
    EXPECT(gex_EP_PublishBoundSegment(world, all.data(), all.size(), 0) == GASNET_OK);
    over_pairs(eps, primordial);
    in_pieces(eps[0]);
    as_a_team(eps);
    endpoint more;
    late(more, client);
    barrier();
    std::printf("rank %u of %u: good\n", me, ranks);
    std::fflush(stdout);
    barrier();
    gasnet_exit(0);
}
