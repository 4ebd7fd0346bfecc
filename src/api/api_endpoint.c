/* SPDX-License-Identifier: BSD-3-Clause */
/* api_endpoint.c: makes endpoints, binds segments to them, publishes both, and answers questions
 * about peers' endpoints. */
#include "api/api.h"
#include "base/status.h"
#include "job/endpoint.h"
#include "job/job.h"
#include "job/team.h"
#include "mem/mem.h"
#include "pen_config.h"
#include "team/team.h"

#include <gasnetex.h>

_Static_assert(GASNET_MAXEPS == PEN_ENDPOINTS_MAX, "endpoint numbers are public");

int gex_EP_Create(gex_EP_t *endpoint, gex_Client_t client, gex_EP_Capabilities_t capabilities,
                  gex_Flags_t flags)
{
    static const char call[] = "gex_EP_Create";
    if (endpoint == NULL || client == NULL)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "neither endpoint nor client may be NULL");
    if (capabilities == 0 || (capabilities & ~GEX_EP_CAPABILITY_ALL) != 0)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call,
                              "capabilities 0x%x: give some of GEX_EP_CAPABILITY_...",
                              capabilities);
    if ((flags & ~GEX_FLAG_HINT_ACCEL_ALL) != 0)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call,
                              "flags 0x%x: only GEX_FLAG_HINT_ACCEL_... are taken", flags);
    if ((capabilities & GEX_EP_CAPABILITY_AM) != 0)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call,
                              "capabilities 0x%x: only the primordial endpoint has active "
                              "messages; leave out GEX_EP_CAPABILITY_AM",
                              capabilities);
    pen_endpoint *made;
    pen_status status = pen_job_endpoint_make(client->job, capabilities, flags, &made);
    if (status == PEN_ERR_RESOURCE)
        return pen_api_refuse(GASNET_ERR_RESOURCE, call,
                              "this process has GASNET_MAXEPS (%d) endpoints already; let uses "
                              "share one",
                              GASNET_MAXEPS);
    if (status == PEN_OK)
        *endpoint = made;
    return pen_api_code(status);
}

int gex_EP_BindSegment(gex_EP_t endpoint, gex_Segment_t segment, gex_Flags_t flags)
{
    static const char call[] = "gex_EP_BindSegment";
    if (endpoint == NULL || segment == NULL)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "neither endpoint nor segment may be NULL");
    if (flags != 0)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "flags 0x%x: must be 0", flags);
    if (endpoint->segment != NULL)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call,
                              "endpoint %u has a segment already, and a binding is permanent; make "
                              "another endpoint",
                              endpoint->index);
    if (segment->device != NULL && endpoint->index == 0)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call,
                              "the segment is on a device, and the primordial endpoint is for "
                              "host memory; bind an endpoint that gex_EP_Create makes");
    pen_job_bind(endpoint, segment);
    return GASNET_OK;
}

static bool is_endpoint(const pen_job *job, const pen_endpoint *endpoint)
{
    for (uint32_t i = 0; i < PEN_ENDPOINTS_MAX && job->endpoints[i] != NULL; i++)
        if (job->endpoints[i] == endpoint)
            return true;
    return false;
}

int gex_EP_PublishBoundSegment(gex_TM_t team, gex_EP_t *endpoints, size_t count, gex_Flags_t flags)
{
    static const char call[] = "gex_EP_PublishBoundSegment";
    pen_job *job = pen_api_root.job;
    if (job == NULL)
        return pen_api_refuse(GASNET_ERR_NOT_INIT, call, "called before gex_Client_Init");
    if (team == NULL || team->is_pair)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "%s is no team",
                              team == NULL ? "GEX_TM_INVALID" : "the result of gex_TM_Pair");
    if (flags != 0 || (endpoints == NULL && count != 0) || count > GASNET_MAXEPS)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "%zu endpoints at %p, flags 0x%x", count,
                              (void *)endpoints, flags);
    for (size_t i = 0; i < count; i++)
        if (!is_endpoint(job, endpoints[i]))
            return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "number %zu is no endpoint", i);
    if (PEN_CHECKED)
        pen_api_check_context(call);
    return pen_api_published(job, pen_team_publish(pen_api_thread(job), team, endpoints, count));
}

/* ---- peers' segments ------------------------------------------------------------------------ */

/* Finds the segment of an endpoint: of this process, the bound segment; of a peer, the published
 * one. */
static pen_remote_segment bound_segment(const pen_job *job, uint16_t index, uint32_t jobrank)
{
    if (jobrank == job->rank && index < PEN_ENDPOINTS_MAX && job->endpoints[index] != NULL) {
        const pen_segment *ours = job->endpoints[index]->segment;
        if (ours != NULL)
            return (pen_remote_segment){ .base = (uintptr_t)ours->base,
                                         .len = ours->len,
                                         .mapped = ours->device == NULL };
    }
    const pen_remote_segment *known = pen_mem_remote_row(&job->mem, index, jobrank);
    return known != NULL ? *known : (pen_remote_segment){ 0 };
}

gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t team, gex_Rank_t rank, void **owner, void **local,
                                       uintptr_t *len, gex_Flags_t flags)
{
    static const char call[] = "gex_EP_QueryBoundSegmentNB";
    const pen_job *job = pen_api_job(call);
    uint32_t size = team->is_pair ? job->size : team->view.size;
    if (rank >= size)
        pen_api_misuse(call, "there is no rank %u in a team of %u", rank, size);
    if ((flags & ~GEX_FLAG_IMMEDIATE) != 0)
        pen_api_misuse(call, "flags 0x%x: only GEX_FLAG_IMMEDIATE is taken", flags);
    const pen_remote_segment row =
        bound_segment(job, pen_team_ep_index(team, rank), pen_team_jobrank(team, rank));
    uintptr_t base = (uintptr_t)row.base;
    if (owner != NULL)
        *owner = (void *)base;
    if (local != NULL)
        *local = row.mapped ? (void *)(base + (uintptr_t)row.delta) : NULL;
    if (len != NULL)
        *len = (uintptr_t)row.len;
    return GEX_EVENT_INVALID; /* published segments are known on every rank */
}

int gex_Segment_QueryBound(gex_TM_t team, gex_Rank_t rank, void **owner, void **local,
                           uintptr_t *len)
{
    void *owner_base, *local_base;
    uintptr_t bytes;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, &owner_base, &local_base, &bytes, 0));
    if (bytes == 0)
        return 1;
    if (owner != NULL)
        *owner = owner_base;
    if (local != NULL)
        *local = local_base;
    if (len != NULL)
        *len = bytes;
    return 0;
}
