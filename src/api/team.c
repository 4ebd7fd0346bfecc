/* SPDX-License-Identifier: BSD-3-Clause */
/* team.c: questions to teams, and translation of ranks. */
#include "team/team.h"

#include "api/api.h"

_Static_assert(PEN_TEAM_RANK_NONE == GEX_RANK_INVALID, "no rank is the same number for clients");

/* ---- questions ------------------------------------------------------------------------------ */

static void no_pair(const char *call, gex_TM_t team)
{
    if (PEN_CHECKED && team->is_pair)
        pen_api_misuse(call, "called with the result of gex_TM_Pair, which is no team");
}

gex_Client_t gex_TM_QueryClient(gex_TM_t team)
{
    no_pair("gex_TM_QueryClient", team);
    return team->endpoint->client;
}

gex_EP_t gex_TM_QueryEP(gex_TM_t team)
{
    no_pair("gex_TM_QueryEP", team);
    return team->endpoint;
}

gex_Flags_t gex_TM_QueryFlags(gex_TM_t team)
{
    no_pair("gex_TM_QueryFlags", team);
    return team->flags;
}

void gex_TM_SetCData(gex_TM_t team, const void *data)
{
    no_pair("gex_TM_SetCData", team);
    team->cdata = data;
}

void *gex_TM_QueryCData(gex_TM_t team)
{
    no_pair("gex_TM_QueryCData", team);
    return (void *)(uintptr_t)team->cdata;
}

/* ---- translation ---------------------------------------------------------------------------- */

gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t team, gex_Rank_t rank)
{
    if (rank >= (team->is_pair ? team->job->size : team->view.size))
        return GEX_RANK_INVALID;
    return pen_team_jobrank(team, rank);
}

gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t team, gex_Rank_t jobrank)
{
    return pen_team_rank_of(team, jobrank);
}

gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t team, gex_Rank_t rank, gex_Flags_t flags)
{
    if (PEN_CHECKED && flags != 0)
        pen_api_misuse("gex_TM_TranslateRankToEP", "flags 0x%x: must be 0", flags);
    gex_Rank_t jobrank = gex_TM_TranslateRankToJobrank(team, rank);
    uint16_t index = jobrank == GEX_RANK_INVALID ? 0 : pen_team_ep_index(team, rank);
    return (gex_EP_Location_t){ jobrank, index };
}
