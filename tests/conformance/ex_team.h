/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_team.h: code that the programs about teams share: compares a new team with a list that was
 * computed independently. Included after "ex.h". */
#ifndef PEN_TESTS_CONFORMANCE_EX_TEAM_H
#define PEN_TESTS_CONFORMANCE_EX_TEAM_H

enum { EX_TEAM_MAX = 64 };

/* Job ranks of a team that is expected, in order. */
typedef struct ex_list {
    gex_Rank_t jobranks[EX_TEAM_MAX];
    gex_Rank_t count;
} ex_list;

CHECK_MAYBE_UNUSED static void ex_list_add(ex_list *list, gex_Rank_t jobrank)
{
    CHECK(list->count < EX_TEAM_MAX, "the program has room for its ranks");
    list->jobranks[list->count++] = jobrank;
}

CHECK_MAYBE_UNUSED static gex_Rank_t ex_list_find(const ex_list *list, gex_Rank_t jobrank)
{
    for (gex_Rank_t rank = 0; rank < list->count; rank++)
        if (list->jobranks[rank] == jobrank)
            return rank;
    return GEX_RANK_INVALID;
}

/* A team of primordial endpoints has exactly these members, in this order, and they can meet. */
CHECK_MAYBE_UNUSED static void ex_team_is(gex_TM_t team, const ex_list *list, gex_Flags_t flags)
{
    gex_Rank_t mine = ex_list_find(list, (gex_Rank_t)check_rank);
    CHECK(team != GEX_TM_INVALID && team != ex_tm, "GASNet-EX Teams: a new team is one of its own");
    CHECK_EQ(gex_TM_QuerySize(team), list->count, "GASNet-EX Teams: as many as joined");
    CHECK_EQ(gex_TM_QueryRank(team), mine, "GASNet-EX Teams: ranks in the documented order");
    CHECK(gex_TM_QueryClient(team) == ex_client && gex_TM_QueryEP(team) == ex_ep,
          "GASNet-EX Teams: a team knows its client and the caller's endpoint");
    CHECK_EQ(gex_TM_QueryFlags(team), flags, "GASNet-EX Teams: flags are remembered");
    for (gex_Rank_t rank = 0; rank < list->count; rank++) {
        gex_EP_Location_t at = gex_TM_TranslateRankToEP(team, rank, 0);
        CHECK_EQ(gex_TM_TranslateRankToJobrank(team, rank), list->jobranks[rank],
                 "GASNet-EX Teams: rank to job rank");
        CHECK(at.gex_rank == list->jobranks[rank] && at.gex_ep_index == 0,
              "GASNet-EX Teams: rank to endpoint");
    }
    for (gex_Rank_t jobrank = 0; jobrank < (gex_Rank_t)check_size; jobrank++)
        CHECK_EQ(gex_TM_TranslateJobrankToRank(team, jobrank), ex_list_find(list, jobrank),
                 "GASNet-EX Teams: job rank to rank, GEX_RANK_INVALID for others");
    CHECK_EQ(gex_TM_TranslateJobrankToRank(team, GEX_RANK_INVALID), GEX_RANK_INVALID,
             "GASNet-EX Teams: no rank is in no team");
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

CHECK_MAYBE_UNUSED static void ex_team_end(gex_TM_t team)
{
    CHECK_EQ(gex_TM_Destroy(team, NULL, 0), 0, "GASNet-EX Teams: nothing was lent to this one");
}

#endif
