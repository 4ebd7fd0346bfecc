// SPDX-License-Identifier: BSD-3-Clause
// cxx11_raii.cpp: a C++11 library over GASNet-EX. Objects own what they make: events wait in
// destructors, teams, domains and message buffers are given back, and the job ends when main
// returns.
#include <gasnet_ratomic.h>
#include <gasnetex.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

class Event
{
    gex_Event_t event;

  public:
    explicit Event(gex_Event_t e) noexcept : event(e) {}
    Event(Event &&other) noexcept : event(other.event) { other.event = GEX_EVENT_INVALID; }
    Event &operator=(Event &&other) noexcept
    {
        std::swap(event, other.event);
        return *this;
    }
    Event(const Event &) = delete;
    bool done()
    {
        if (event != GEX_EVENT_INVALID && gex_Event_Test(event) == GASNET_OK)
            event = GEX_EVENT_INVALID;
        return event == GEX_EVENT_INVALID;
    }
    ~Event()
    {
        if (event != GEX_EVENT_INVALID)
            gex_Event_Wait(event);
    }
};

class Team
{
    gex_TM_t tm;
    bool own;

  public:
    explicit Team(gex_TM_t world) : tm(world), own(false) {}
    Team(const Team &parent, int color, int key) : tm(GEX_TM_INVALID), own(true)
    {
        gex_TM_Split(&tm, parent.tm, color, key, nullptr, 0, GEX_FLAG_TM_NO_SCRATCH);
        if (tm == GEX_TM_INVALID)
            throw std::runtime_error("gex_TM_Split gave no team");
    }
    Team(const Team &) = delete;
    ~Team()
    {
        if (own && gex_TM_Destroy(tm, nullptr, 0) != 0)
            std::abort(); // no memory was given, so no memory comes back
    }
    gex_Rank_t rank() const { return gex_TM_QueryRank(tm); }
    gex_Rank_t size() const { return gex_TM_QuerySize(tm); }
    gex_TM_t get() const { return tm; }
    void barrier() const { Event wait(gex_Coll_BarrierNB(tm, 0)); }
};

class Domain
{
    gex_AD_t ad;

  public:
    Domain(const Team &team, gex_DT_t type, gex_OP_t operations)
    {
        gex_AD_Create(&ad, team.get(), type, operations, 0);
    }
    Domain(const Domain &) = delete;
    ~Domain() { gex_AD_Destroy(ad); }
    Event add(gex_Rank_t rank, void *where, uint64_t what)
    {
        return Event(gex_AD_OpNB_U64(ad, nullptr, rank, where, GEX_OP_ADD, what, 0, 0));
    }
};

struct Mailbox {
    std::vector<std::string> letters;
    Mailbox() = default;
};

static std::unique_ptr<Mailbox> mailbox;

static void deliver(gex_Token_t, void *text, size_t len, gex_AM_Arg_t)
{
    mailbox->letters.emplace_back(static_cast<char *>(text), len);
}

static void expect(bool condition, const std::string &what)
{
    if (!condition)
        throw std::logic_error("rank " + std::to_string(gex_System_QueryJobRank()) + ": " + what);
}

static void put_and_forget(const Team &team, const std::vector<uint64_t *> &base)
{
    std::vector<uint64_t> values(512, team.rank() + 1);
    {
        std::vector<Event> events;
        for (gex_Rank_t r = 0; r < team.size(); r++)
            events.emplace_back(gex_RMA_PutNB(team.get(), r, base[r] + 512 * team.rank(),
                                              values.data(), values.size() * sizeof(uint64_t),
                                              GEX_EVENT_DEFER, 0));
    } // they wait here
    team.barrier();
    for (gex_Rank_t r = 0; r < team.size(); r++)
        for (size_t i = 0; i < 512; i++)
            expect(base[team.rank()][512 * r + i] == r + 1,
                   "a put that was waited for by a destructor");
    team.barrier();
}

static void teams(const Team &world, const std::vector<uint64_t *> &base)
{
    for (int round = 0; round < 10; round++) {
        Team half(world, int(world.rank() % 2), int(world.size() - world.rank()));
        expect(half.rank() == half.size() - 1 - world.rank() / 2, "the order of a team");
        Team alone(half, int(half.rank()), 0);
        expect(alone.size() == 1 && alone.rank() == 0, "a team of one");
        gex_Rank_t job = gex_TM_TranslateRankToJobrank(half.get(), 0);
        Domain domain(half, GEX_DT_U64, GEX_OP_ADD);
        half.barrier();
        base[world.rank()][0] = 0;
        half.barrier();
        Event first = domain.add(0, base[job], 5), second = domain.add(0, base[job], 2);
        while (!first.done() || !second.done())
            gasnet_AMPoll();
        half.barrier();
        if (half.rank() == 0)
            expect(base[world.rank()][0] == 7 * half.size(), "the sum of a team's atomics");
    }
}

static void letters(const Team &team)
{
    std::string text(gex_AM_LUBRequestMedium(), 'a');
    for (size_t i = 0; i < text.size(); i++)
        text[i] = char('a' + i % 26);
    for (gex_Rank_t r = 0; r < team.size(); r++) {
        gex_Event_t leaf = GEX_EVENT_INVALID;
        gex_AM_RequestMedium1(team.get(), r, 150, text.data(), text.size(), &leaf, 0, 0);
        Event local(leaf);
    }
    GASNET_BLOCKUNTIL(mailbox->letters.size() == team.size());
    for (const std::string &letter : mailbox->letters)
        expect(letter == text, "a letter of the largest size");
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t tm;
    gex_Segment_t segment;
    gex_Client_Init(&client, &endpoint, &tm, "RAII", &argc, &argv, 0);
    gex_Segment_Attach(&segment, tm, 64 * GASNET_PAGESIZE);
    gex_AM_Entry_t table[] = { { 150, (gex_AM_Fn_t)deliver,
                                 GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, nullptr,
                                 "deliver" } };
    gex_EP_RegisterHandlers(endpoint, table, 1);
    mailbox.reset(new Mailbox);
    try {
        Team world(tm);
        world.barrier();
        std::vector<uint64_t *> base;
        for (gex_Rank_t r = 0; r < world.size(); r++) {
            void *owner = nullptr;
            {
                Event known(gex_EP_QueryBoundSegmentNB(tm, r, &owner, nullptr, nullptr, 0));
            }
            base.push_back(static_cast<uint64_t *>(owner));
        }
        put_and_forget(world, base);
        teams(world, base);
        world.barrier();
        letters(world);
        std::printf("rank %u of %u: good\n", world.rank(), world.size());
        world.barrier();
    } catch (const std::exception &wrong) {
        std::fprintf(stderr, "%s\n", wrong.what());
        return 1;
    }
}
