/* SPDX-License-Identifier: BSD-3-Clause */
/* objects.c: questions to clients, endpoints and segments, the pointers that clients attach to
 * them, and pairs of endpoints. */
#include "api/api.h"

#include "job/job.h"
#include "job/team.h"

#include <gasnet.h>
#include <gasnetex.h>

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

/* ---- pairs of endpoints --------------------------------------------------------------------- */

gex_TM_t gex_TM_Pair(gex_EP_t local, gex_EP_Index_t remote_index)
{
    static const char call[] = "gex_TM_Pair";
    pen_job *job = pen_api_job(call);
    if (local == NULL)
        pen_api_misuse(call, "the endpoint is GEX_EP_INVALID");
    if (remote_index >= GASNET_MAXEPS)
        pen_api_misuse(call, "the remote index %u: they go from 0 to GASNET_MAXEPS - 1 (%d)",
                       remote_index, GASNET_MAXEPS - 1);
    pen_team *pair = pen_job_pair(job, local->index, remote_index);
    if (pair == NULL)
        pen_api_misuse(call, "endpoints %u and %u cannot be paired", local->index, remote_index);
    return pair;
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
