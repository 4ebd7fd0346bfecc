/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_team_make.c: teams by color and key, from lists and as copies: who is in them and in which
 * order, who is not, translation both ways, scratch memory and the question for its size.
 * PEN_RANKS: 1 2 3 8
 * PEN_MODES: seq parsync par
 * TESTS: gex_TM_Split gex_TM_Create gex_TM_Dup gex_TM_Destroy gex_TM_QueryClient gex_TM_QueryEP
 * gex_TM_QueryFlags gex_TM_QueryRank gex_TM_QuerySize gex_TM_SetCData gex_TM_QueryCData
 * gex_TM_TranslateRankToJobrank gex_TM_TranslateJobrankToRank gex_TM_TranslateRankToEP
 * gex_Coll_BarrierNB */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"
#include "conformance/ex_team.h"

enum { PLAIN = GEX_FLAG_TM_NO_SCRATCH };

static gex_Rank_t me, all;

static gex_TM_t split(gex_TM_t parent, int color, int key)
{
    gex_TM_t team = GEX_TM_INVALID;
    gex_TM_Split(&team, parent, color, key, NULL, 0, PLAIN);
    return team;
}

/* ---- by color and key ----------------------------------------------------------------------- */

static void by_parity(void)
{
    ex_list list = { .count = 0 };
    for (gex_Rank_t rank = me % 2; rank < all; rank += 2)
        ex_list_add(&list, rank);
    gex_TM_t team = split(ex_tm, (int)(me % 2), (int)me);
    ex_team_is(team, &list, PLAIN);
    ex_team_end(team);
}

static void reversed(void)
{
    ex_list list = { .count = 0 };
    for (gex_Rank_t rank = all; rank-- > 0;)
        ex_list_add(&list, rank);
    gex_TM_t team = split(ex_tm, 0, -(int)me);
    ex_team_is(team, &list, PLAIN);
    ex_team_end(team);
}

/* The first half of the ranks has the larger key: a list that follows no rule. */
static void equal_keys(void)
{
    ex_list list = { .count = 0 };
    for (int key = 0; key < 2; key++)
        for (gex_Rank_t rank = 0; rank < all; rank++)
            if ((rank % 3 == 0) == (key == 1))
                ex_list_add(&list, rank);
    gex_TM_t team = split(ex_tm, 7, me % 3 == 0 ? INT32_MAX : INT32_MIN);
    ex_team_is(team, &list, PLAIN);
    ex_team_end(team);
}

/* Halves of halves, reversed in between, down to one; all alive at once. */
static void nested(void)
{
    gex_TM_t teams[8] = { ex_tm };
    ex_list list = { .count = 0 };
    unsigned depth = 0;
    for (gex_Rank_t rank = 0; rank < all; rank++)
        ex_list_add(&list, rank);
    while (list.count > 1) {
        gex_TM_t parent = teams[depth];
        gex_Rank_t mine = gex_TM_QueryRank(parent), middle = list.count / 2;
        int upper = mine >= middle;
        ex_list half = { .count = 0 };
        for (gex_Rank_t rank = upper ? list.count : middle; rank-- > (upper ? middle : 0);)
            ex_list_add(&half, list.jobranks[rank]);
        list = half;
        teams[++depth] = split(parent, upper, -(int)mine);
        ex_team_is(teams[depth], &list, PLAIN);
    }
    for (; depth > 0; depth--) {
        gex_Event_Wait(gex_Coll_BarrierNB(teams[depth], 0));
        ex_team_end(teams[depth]);
    }
}

static void alone(void)
{
    ex_list list = { .count = 0 };
    ex_list_add(&list, me);
    gex_TM_t team = split(ex_tm, (int)me, 0);
    ex_team_is(team, &list, PLAIN);
    gex_TM_t again = split(team, 0, 0);
    ex_team_is(again, &list, PLAIN);
    ex_team_end(team); /* a parent may end before its child */
    gex_Event_Wait(gex_Coll_BarrierNB(again, 0));
    ex_team_end(again);
}

static void excluded(void)
{
    ex_list list = { .count = 0 };
    for (gex_Rank_t rank = 0; rank < all; rank++)
        if (rank % 3 != 1)
            ex_list_add(&list, rank);
    if (me % 3 == 1) {
        CHECK_EQ(gex_TM_Split(NULL, ex_tm, -5, 0, NULL, 0, 0), 0,
                 "GASNet-EX Teams: NULL takes part and joins nothing, whatever its color");
        return;
    }
    gex_TM_t team = split(ex_tm, 0, 0);
    ex_team_is(team, &list, PLAIN);
    ex_team_end(team);
}

static void copied(void)
{
    ex_list list = { .count = 0 };
    for (gex_Rank_t rank = all; rank-- > 0;)
        ex_list_add(&list, rank);
    gex_TM_t team = split(ex_tm, 0, -(int)me), copy = GEX_TM_INVALID;
    gex_TM_SetCData(team, &list);
    CHECK_EQ(gex_TM_Dup(&copy, team, NULL, 0, PLAIN), 0, "Teams: gex_TM_Dup returns 0");
    ex_team_is(copy, &list, PLAIN);
    CHECK(copy != team && gex_TM_QueryCData(copy) == NULL && gex_TM_QueryCData(team) == &list,
          "Teams: a copy has a pointer of its own");
    ex_team_end(team);
    gex_Event_Wait(gex_Coll_BarrierNB(copy, 0));
    ex_team_end(copy);
}

/* ---- from lists ----------------------------------------------------------------------------- */

/* Those whose rank leaves the same remainder, from the highest down, all in one call. */
static void from_disjoint_lists(gex_Rank_t modulus, gex_Flags_t flags)
{
    ex_list list = { .count = 0 };
    gex_EP_Location_t members[EX_TEAM_MAX];
    for (gex_Rank_t rank = all; rank-- > 0;)
        if (rank % modulus == me % modulus)
            ex_list_add(&list, rank);
    for (gex_Rank_t i = 0; i < list.count; i++)
        members[i] = (gex_EP_Location_t){ list.jobranks[i], 0 };
    gex_TM_t team = GEX_TM_INVALID;
    CHECK_EQ(gex_TM_Create(&team, 1, ex_tm, members, list.count, NULL, 0, PLAIN | flags), 0,
             "GASNet-EX Teams: gex_TM_Create returns 0");
    memset(members, 0xff, sizeof members);
    ex_team_is(team, &list, PLAIN | flags);
    ex_team_end(team);
}

/* Ranks in a parent are not job ranks; rank 0 of the parent only takes part. */
static void from_a_list_of_a_child(gex_Flags_t flags)
{
    gex_TM_t parent = split(ex_tm, (int)(me % 2), -(int)me), team = GEX_TM_INVALID;
    gex_Rank_t size = gex_TM_QuerySize(parent);
    ex_list list = { .count = 0 };
    gex_EP_Location_t members[EX_TEAM_MAX];
    for (gex_Rank_t rank = 1; rank < size; rank++) {
        ex_list_add(&list, gex_TM_TranslateRankToJobrank(parent, rank));
        members[rank - 1] = (gex_EP_Location_t){ rank, 0 };
        if (flags & GEX_FLAG_RANK_IS_JOBRANK)
            members[rank - 1].gex_rank = list.jobranks[rank - 1];
    }
    if (gex_TM_QueryRank(parent) == 0) {
        gex_TM_t untouched = parent; /* a rank that names no member gets no team, with any other
                                      * arguments */
        gex_TM_Create(&untouched, 3, parent, NULL, 0, NULL, 0, flags);
        CHECK(untouched == parent, "GASNet-EX Teams: no members, no team");
    } else {
        gex_TM_Create(&team, 1, parent, members, list.count, NULL, 0, PLAIN | flags);
        ex_team_is(team, &list, PLAIN | flags);
        ex_team_end(team);
    }
    ex_team_end(parent);
}

/* A list that follows no rule. */
static void from_a_mixed_list(void)
{
    ex_list list = { .count = 0 };
    gex_EP_Location_t members[EX_TEAM_MAX];
    for (gex_Rank_t i = 0; i < all; i++) {
        gex_Rank_t rank = i % 2 ? i / 2 : all - 1 - i / 2;
        ex_list_add(&list, rank);
        members[i] = (gex_EP_Location_t){ rank, 0 };
    }
    gex_TM_t team = GEX_TM_INVALID;
    gex_TM_Create(&team, 1, ex_tm, members, all, NULL, 0, PLAIN);
    ex_team_is(team, &list, PLAIN);
    ex_team_end(team);
}

/* ---- scratch memory ------------------------------------------------------------------------- */

static size_t scratch_len;

static void ask(void)
{
    static const gex_Flags_t sizes[2] = { GEX_FLAG_TM_SCRATCH_SIZE_MIN,
                                          GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED };
    size_t answers[2];
    gex_EP_Location_t member = { me, 0 };
    for (unsigned i = 0; i < 2; i++) {
        gex_TM_t team = ex_tm;
        answers[i] = gex_TM_Split(&team, ex_tm, (int)me, 0, NULL, 0, sizes[i]);
        CHECK(team == ex_tm && answers[i] > 0, "GASNet-EX Teams: a question makes no team");
        CHECK_EQ(gex_TM_Create(&team, 1, ex_tm, &member, 1, NULL, 0,
                               sizes[i] | GEX_FLAG_TM_LOCAL_SCRATCH),
                 answers[i], "GASNet-EX Teams: both constructors answer alike");
        CHECK_EQ(gex_TM_Dup(&team, ex_tm, NULL, 0, sizes[i]), answers[i], "Teams: so does a copy");
        CHECK(team == ex_tm, "GASNet-EX Teams: a question makes no team");
    }
    CHECK_EQ(gex_TM_Split(NULL, ex_tm, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED), 0,
             "GASNet-EX Teams: who is in no new team needs no scratch memory");
    CHECK_EQ(gex_TM_Create(NULL, 1, ex_tm, NULL, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_MIN), 0,
             "GASNet-EX Teams: who is in no new team needs no scratch memory");
    CHECK(answers[0] <= answers[1], "GASNet-EX Teams: the smallest size is no more than another");
    scratch_len = answers[1];
}

static void comes_back(gex_TM_t team, const char *lent, gex_Flags_t flags)
{
    gex_Memvec_t back = { NULL, 0 };
    CHECK_EQ(gex_TM_QueryFlags(team), flags, "GASNet-EX Teams: flags are remembered");
    CHECK(gex_TM_Destroy(team, &back, 0) != 0, "GASNet-EX Teams: scratch memory is given back");
    CHECK(back.gex_addr == lent && back.gex_len == scratch_len,
          "GASNet-EX Teams: all of it, where it was");
}

static void lent_to_a_split(char *base)
{
    gex_TM_t team = GEX_TM_INVALID, copy = GEX_TM_INVALID;
    gex_TM_Split(&team, ex_tm, 0, 0, base + 64, scratch_len, 0);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gex_TM_Dup(&copy, team, (void *)128, scratch_len, GEX_FLAG_SCRATCH_SEG_OFFSET);
    comes_back(team, base + 64, 0);
    comes_back(copy, base + 128, GEX_FLAG_SCRATCH_SEG_OFFSET);
    gex_TM_Split(&team, ex_tm, 0, 0, base, scratch_len, PLAIN);
    gex_Memvec_t untouched = { base, 1 };
    CHECK(gex_TM_Destroy(team, &untouched, 0) == 0 && untouched.gex_len == 1,
          "GASNet-EX Teams: with GEX_FLAG_TM_NO_SCRATCH nothing is lent");
    gex_TM_Split(&team, ex_tm, 0, 0, base, scratch_len, 0);
    CHECK_EQ(gex_TM_Destroy(team, NULL, 0), 0,
             "GASNet-EX Teams: where nothing is written nothing is said to be");
}

static void lent_to_a_list(char *base)
{
    static const gex_Flags_t kinds[] = { GEX_FLAG_TM_GLOBAL_SCRATCH, GEX_FLAG_TM_LOCAL_SCRATCH,
                                         GEX_FLAG_TM_SYMMETRIC_SCRATCH };
    for (unsigned i = 0; i < 3; i++) {
        gex_TM_t team = GEX_TM_INVALID;
        gex_EP_Location_t members[EX_TEAM_MAX];
        gex_Addr_t addresses[EX_TEAM_MAX];
        gex_Flags_t flags = kinds[i];
        for (gex_Rank_t rank = 0; rank < all; rank++) {
            members[rank] = (gex_EP_Location_t){ rank, 0 };
            addresses[rank] = ex_base(rank) + 64;
        }
        if (kinds[i] != GEX_FLAG_TM_GLOBAL_SCRATCH)
            addresses[0] = base + 64;
        if (kinds[i] == GEX_FLAG_TM_SYMMETRIC_SCRATCH) {
            addresses[0] = (void *)64; /* the one that is alike everywhere */
            flags |= GEX_FLAG_SCRATCH_SEG_OFFSET;
        }
        gex_TM_Create(&team, 1, ex_tm, members, all, addresses, scratch_len, flags);
        comes_back(team, base + 64, flags);
    }
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    me = (gex_Rank_t)check_rank;
    all = (gex_Rank_t)check_size;
    by_parity();
    reversed();
    char *base = ex_attach(4 * GASNET_PAGESIZE);
    equal_keys();
    nested();
    alone();
    excluded();
    copied();
    from_disjoint_lists(1, 0);
    from_disjoint_lists(2, GEX_FLAG_RANK_IS_JOBRANK);
    from_disjoint_lists(3, 0);
    from_a_list_of_a_child(0);
    from_a_list_of_a_child(GEX_FLAG_RANK_IS_JOBRANK);
    from_a_mixed_list();
    ask();
    lent_to_a_split(base);
    lent_to_a_list(base);
    return check_end();
}
