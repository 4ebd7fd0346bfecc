/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_coll.c: collectives that move data: every root, lengths from nothing to megabytes, in place,
 * many underway at once while other threads poll.
 *
 * TESTS: gex_Coll_BroadcastNB gex_Event_Wait gex_Event_Test gex_Event_WaitAll
 * PEN_RANKS: 1 2 3 4 8
 */
#include <gasnet_coll.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { LEN_MAX = 300000, OUTSTANDING = 16, OUTSTANDING_LEN = 5000, RANKS_MAX = 8 };

static const size_t lens[] = { 0, 1, 7, 8, 64, 1000, 8191, 8193, 20001, 70001, LEN_MAX };
enum { LENS = sizeof lens / sizeof *lens };

static unsigned char *source, *dest; /* a part for each rank */

static gex_TM_t team; /* all ranks; then every other rank, the last one first */

static gex_Rank_t size(void)
{
    const gex_Rank_t members = gex_TM_QuerySize(team);
    return members > 0 ? members : 1; /* as analysers want to hear */
}

static gex_Rank_t rank(void) { return gex_TM_QueryRank(team); }

static void broadcasts(size_t len)
{
    for (gex_Rank_t root = 0; root < size(); root++) {
        const unsigned seed = 7 * root + (unsigned)len;
        check_fill(source, len, rank() == root ? seed : seed + 1);
        memset(dest, 0x55, len + 1);
        gex_Event_Wait(gex_Coll_BroadcastNB(team, root, dest, source, len, 0));
        CHECK(check_filled(dest, len, seed), "GASNet-EX Collectives: all have the root's bytes");
        CHECK_EQ(dest[len], 0x55, "GASNet-EX Collectives: and nothing behind them");
        CHECK(check_filled(source, len, rank() == root ? seed : seed + 1),
              "GASNet-EX Collectives: the source is only read");
        /* In place, on the root too; the source counts on the root only. */
        unsigned char *mine = rank() == root ? source : dest;
        memset(dest, 0, len);
        gex_Event_t event =
            gex_Coll_BroadcastNB(team, root, mine, rank() == root ? mine : NULL, len, 0);
        while (gex_Event_Test(event) != 0)
            gasnet_AMPoll();
        CHECK(check_filled(mine, len, seed), "GASNet-EX Collectives: dst may be src");
    }
}

static void many_underway(void)
{
    static unsigned char memory[OUTSTANDING][OUTSTANDING_LEN];
    gex_Event_t events[OUTSTANDING];
    for (unsigned i = 0; i < OUTSTANDING; i++) {
        const gex_Rank_t root = i % size();
        memset(memory[i], 0, OUTSTANDING_LEN);
        if (rank() == root)
            check_fill(memory[i], OUTSTANDING_LEN, i);
        events[i] =
            gex_Coll_BroadcastNB(team, root, memory[i], memory[i], OUTSTANDING_LEN - i * 300, 0);
    }
    gex_Event_WaitAll(events, OUTSTANDING, 0);
    for (unsigned i = 0; i < OUTSTANDING; i++)
        CHECK(check_filled(memory[i], OUTSTANDING_LEN - i * 300, i),
              "GASNet-EX Collectives: several may be underway on one team");
}

/* Far more data than a member keeps for its peers: a member that is ahead waits. */
static void far_ahead(void)
{
    enum { FAR = 300 };
    static unsigned char values[FAR][64];
    static gex_Event_t events[FAR];
    for (unsigned i = 0; i < FAR; i++) {
        check_fill(values[i], sizeof values[i], rank() == 0 ? i : 99);
        events[i] = gex_Coll_BroadcastNB(team, 0, values[i], values[i], sizeof values[i], 0);
    }
    gex_Event_WaitAll(events, FAR, 0);
    for (unsigned i = 0; i < FAR; i++)
        CHECK(check_filled(values[i], sizeof values[i], i),
              "GASNet-EX Collectives: as many as a client likes");
}

/* A part's seed: who sends it, to whom. */
static unsigned part_seed(gex_Rank_t from, gex_Rank_t to) { return 11 * from + 3 * to + 1; }

static void check_parts(size_t len, gex_Rank_t to, int from_all)
{
    for (gex_Rank_t r = 0; r < size(); r++)
        CHECK(check_filled(dest + r * len, len, part_seed(r, from_all ? 0 : to)),
              "Penstock collectives: parts stand in the order of ranks");
    CHECK_EQ(dest[size() * len], 0x55, "Penstock collectives: and nothing behind them");
}

static void gathers(size_t len)
{
    check_fill(source, len, part_seed(rank(), 0));
    for (gex_Rank_t root = 0; root < size(); root++) {
        memset(dest, 0x55, size() * len + 1);
        gex_Event_Wait(pen_Coll_GatherToOneNB(team, root, dest, source, len, 0));
        if (rank() == root)
            check_parts(len, 0, 1);
        else
            CHECK(check_all(dest, size() * len, 0x55),
                  "Penstock collectives: others get nothing of a gather to one");
    }
    memset(dest, 0x55, size() * len + 1);
    gex_Event_Wait(pen_Coll_GatherToAllNB(team, dest, source, len, 0));
    check_parts(len, 0, 1);
}

static void scatters(size_t len)
{
    for (gex_Rank_t root = 0; root < size(); root++) {
        for (gex_Rank_t to = 0; to < size(); to++)
            check_fill(source + to * len, len, part_seed(root, to));
        memset(dest, 0x55, len + 1);
        gex_Event_Wait(
            pen_Coll_ScatterNB(team, root, dest, rank() == root ? source : NULL, len, 0));
        CHECK(check_filled(dest, len, part_seed(root, rank())),
              "Penstock collectives: each gets its part of a scatter");
        CHECK_EQ(dest[len], 0x55, "Penstock collectives: and nothing behind it");
    }
}

static void exchanges(size_t len)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        unsigned char *from = in_place ? dest : source;
        for (gex_Rank_t to = 0; to < size(); to++)
            check_fill(from + to * len, len, part_seed(rank(), to));
        dest[size() * len] = 0x55;
        gex_Event_Wait(pen_Coll_AllToAllNB(team, dest, from, len, 0));
        check_parts(len, rank(), 0);
    }
}

static atomic_int over;

static void on_team(gex_TM_t which)
{
    team = which;
    for (unsigned i = 0; i < LENS; i++) {
        broadcasts(lens[i]);
        gathers(lens[i] / size());
        scatters(lens[i] / size());
        exchanges(lens[i] / size());
    }
    many_underway();
    far_ahead();
}

static void worker(unsigned thread_i)
{
    if (thread_i > 1)
        return;
    if (thread_i == 1) { /* polls, so that collectives go on here as well */
        GASNET_BLOCKUNTIL(atomic_load(&over));
        return;
    }
    on_team(ex_tm);
    gex_TM_t half;
    (void)gex_TM_Split(&half, ex_tm, check_rank % 2, -check_rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    on_team(half);
    CHECK_EQ(gex_TM_Destroy(half, NULL, 0), 0, "GASNet-EX Teams: no scratch comes back");
    atomic_store(&over, 1);
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    source = malloc(LEN_MAX + RANKS_MAX + 1);
    dest = malloc(LEN_MAX + RANKS_MAX + 1);
    CHECK(source != NULL && dest != NULL, "the system gives us memory");
    check_on_threads(worker);
    free(source);
    free(dest);
    return check_end();
}
