/* SPDX-License-Identifier: BSD-3-Clause */
/* objects.c: questions to clients, endpoints, segments and teams, and the pointers that clients
 * attach to them. */
#include "api/api.h"

/* ---- clients -------------------------------------------------------------------------------- */

gex_Flags_t gex_Client_QueryFlags(gex_Client_t client) { return client->flags; }
const char *gex_Client_QueryName(gex_Client_t client) { return client->name; }
void gex_Client_SetCData(gex_Client_t client, const void *data) { client->cdata = data; }
void *gex_Client_QueryCData(gex_Client_t client) { return (void *)(uintptr_t)client->cdata; }

/* ---- endpoints ------------------------------------------------------------------------------ */

gex_Client_t gex_EP_QueryClient(gex_EP_t endpoint) { return endpoint->client; }
gex_Flags_t gex_EP_QueryFlags(gex_EP_t endpoint) { return endpoint->flags; }
gex_Segment_t gex_EP_QuerySegment(gex_EP_t endpoint) { return endpoint->segment; }
gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t endpoint) { return endpoint->index; }
void gex_EP_SetCData(gex_EP_t endpoint, const void *data) { endpoint->cdata = data; }
void *gex_EP_QueryCData(gex_EP_t endpoint) { return (void *)(uintptr_t)endpoint->cdata; }

/* ---- segments ------------------------------------------------------------------------------- */

gex_Client_t gex_Segment_QueryClient(gex_Segment_t segment) { return segment->client; }
gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t segment) { return segment->flags; }
void *gex_Segment_QueryAddr(gex_Segment_t segment) { return segment->base; }
uintptr_t gex_Segment_QuerySize(gex_Segment_t segment) { return segment->len; }
void gex_Segment_SetCData(gex_Segment_t segment, const void *data) { segment->cdata = data; }
void *gex_Segment_QueryCData(gex_Segment_t segment) { return (void *)(uintptr_t)segment->cdata; }

/* ---- teams ---------------------------------------------------------------------------------- */

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

gex_TM_t gex_TM_Pair(gex_EP_t local, gex_EP_Index_t remote_index)
{
    static const char call[] = "gex_TM_Pair";
    pen_job *job = pen_api_job(call);
    if (local == NULL)
        pen_api_misuse(call, "the endpoint is GEX_EP_INVALID");
    pen_team *pair = pen_job_pair(job, local->index, remote_index);
    if (pair == NULL)
        pen_api_misuse(call, "endpoints %u and %u cannot be paired", local->index, remote_index);
    return pair;
}

gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t team, gex_Rank_t rank)
{
    if (rank >= (team->is_pair ? team->job->size : team->view.size))
        return GEX_RANK_INVALID;
    return pen_team_jobrank(team, rank);
}

gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t team, gex_Rank_t jobrank)
{
    if (team->jobranks == NULL)
        return jobrank < team->job->size ? jobrank : GEX_RANK_INVALID;
    for (uint32_t rank = 0; rank < team->view.size; rank++)
        if (team->jobranks[rank] == jobrank)
            return rank;
    return GEX_RANK_INVALID;
}

gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t team, gex_Rank_t rank, gex_Flags_t flags)
{
    (void)flags;
    return (gex_EP_Location_t){ gex_TM_TranslateRankToJobrank(team, rank), team->pair_index };
}

void gasnet_QueryGexObjects(gex_Client_t *client, gex_EP_t *endpoint, gex_TM_t *team,
                            gex_Segment_t *segment)
{
    pen_job *job = pen_api_job("gasnet_QueryGexObjects");
    if (client != NULL)
        *client = &job->client;
    if (endpoint != NULL)
        *endpoint = &job->endpoint;
    if (team != NULL)
        *team = &job->world;
    if (segment != NULL)
        *segment = job->endpoint.segment;
}
