/* SPDX-License-Identifier: BSD-3-Clause */
/* job_endpoint.c: a rank's endpoints, the pairs between them and peers', and the frozen views:
 * which peers' memory inline code may load and store over a team or pair. */
#include "job/job_internal.h"
#include "job/publish.h"

#include "base/compiler.h"
#include "base/status.h"
#include "job/fatal.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "pen_config.h"

#include <penstock/abi.h>
#include <penstock/types.h>
#include <stdlib.h>
#include <string.h>

/* ---- endpoints ---------------------------------------------------------------------------- */

pen_status pen_job_endpoint_make(pen_job *job, uint32_t capabilities, uint32_t flags,
                                 pen_endpoint **out)
{
    pen_status status = PEN_ERR_RESOURCE;
    pen_lock_take(&job->threads_lock);
    if (job->endpoint_count < PEN_ENDPOINTS_MAX) {
        pen_endpoint *endpoint = pen_job_calloc(job, 1, sizeof *endpoint, "an endpoint");
        status = endpoint != NULL ? PEN_OK : PEN_ERR_MEMORY;
        if (endpoint != NULL) {
            endpoint->job = job;
            endpoint->client = &job->client;
            endpoint->capabilities = capabilities;
            endpoint->flags = flags;
            endpoint->index = (uint16_t)job->endpoint_count;
            job->endpoints[job->endpoint_count++] = endpoint;
            *out = endpoint;
        }
    }
    pen_lock_drop(&job->threads_lock);
    return status;
}

void pen_job_endpoints_close(pen_job *job)
{
    for (uint32_t i = 0; i < job->endpoint_count; i++) {
        pen_endpoint *endpoint = job->endpoints[i];
        for (uint32_t remote = 0; remote < PEN_ENDPOINTS_MAX; remote++) {
            /* relaxed: no other thread uses the job now */
            free(atomic_load_explicit(&endpoint->pairs[remote], memory_order_relaxed));
            atomic_store_explicit(&endpoint->pairs[remote], NULL, memory_order_relaxed);
        }
        if (endpoint != &job->endpoint)
            free(endpoint);
        job->endpoints[i] = NULL;
    }
    job->endpoint_count = 0;
    for (uint32_t i = 0; i < PEN_ENDPOINTS_MAX; i++) {
        free(job->mapped[i]);
        job->mapped[i] = NULL;
    }
}

/* ---- frozen views ------------------------------------------------------------------------- */

/* Are views of this memory allowed? A checked build and a trace may not be bypassed. EVERYTHING has
 * no bounds to check. Inline code cannot address device memory. Some endpoints do not support put
 * and get. */
static bool view_may_show(const pen_team *team)
{
    if (PEN_CHECKED || team->job->trace != NULL ||
        team->job->segment_mode == PEN_SEGMENT_EVERYTHING ||
        (team->endpoint->capabilities & GEX_EP_CAPABILITY_RMA) == 0)
        return false;
    const pen_segment *segment = team->endpoint->segment;
    return segment == NULL || segment->device == NULL;
}

/* Inline code of a different thread may read a row while it changes from empty to valid. It must
 * not combine the new length with the old base. */
static void row_set(pen_mapped *row, const pen_mapped *shown)
{
    if (memcmp(row, shown, sizeof *row) == 0)
        return;
    row->base = shown->base;
    row->delta = shown->delta;
    /* release: orders base before length, the order in which inline code reads them. The client
     * synchronises publishing with use */
    __atomic_store_n(&row->len, shown->len, __ATOMIC_RELEASE);
}

/* Returns the table of an endpoint number that at least one rank has published. */
static pen_status rows_fill(pen_job *job, uint32_t ep_index)
{
    if (job->mapped[ep_index] == NULL)
        job->mapped[ep_index] = pen_job_calloc(job, job->size, sizeof *job->mapped[ep_index],
                                               "the table of mapped segments");
    if (job->mapped[ep_index] == NULL)
        return PEN_ERR_MEMORY;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        const pen_remote_segment *row = &job->mem.remote[ep_index][rank];
        pen_mapped shown = { 0 };
        if (row->mapped && (row->lacks & GEX_EP_CAPABILITY_RMA) == 0)
            shown =
                (pen_mapped){ .base = (uintptr_t)row->base, .len = row->len, .delta = row->delta };
        row_set(&job->mapped[ep_index][rank], &shown);
    }
    return PEN_OK;
}

/* The range of members around this rank that are on its host: inline code may index these. */
static void view_range(const pen_team *team, uint32_t *first_out, uint32_t *end_out)
{
    const uint32_t size = team->is_pair ? team->job->size : team->view.size;
    uint32_t first = team->view.rank, end = team->view.rank + 1;
    while (first > 0 && pen_team_route(team, first - 1)->same_host)
        first--;
    while (end < size && pen_team_route(team, end)->same_host)
        end++;
    *first_out = first;
    *end_out = end;
}

/* Are the members consecutive in one of the job's tables? */
static bool view_is_in_table(const pen_team *team, uint32_t first, uint32_t end)
{
    const uint32_t jobrank = pen_team_jobrank(team, first);
    const uint32_t ep_index = pen_team_ep_index(team, first);
    for (uint32_t rank = first; rank < end; rank++)
        if (pen_team_jobrank(team, rank) != jobrank + (rank - first) ||
            pen_team_ep_index(team, rank) != ep_index)
            return false;
    return true;
}

/* The range is always the same, because the ranks of a host are known from the start. */
static pen_status view_copy_rows(pen_team *team, uint32_t first, uint32_t end)
{
    pen_job *job = team->job;
    if (team->rows == NULL)
        team->rows = pen_job_calloc(job, end - first, sizeof *team->rows,
                                    "the table of a team's mapped segments");
    if (team->rows == NULL)
        return PEN_ERR_MEMORY;
    static const pen_mapped none = { 0 };
    for (uint32_t rank = first; rank < end; rank++) {
        const pen_mapped *table = job->mapped[pen_team_ep_index(team, rank)];
        row_set(&team->rows[rank - first],
                table != NULL ? &table[pen_team_jobrank(team, rank)] : &none);
    }
    return PEN_OK;
}

pen_status pen_job_show_team(pen_team *team)
{
    pen_job *job = team->job;
    uint32_t first, end;
    view_range(team, &first, &end);
    const pen_mapped *rows = NULL;
    pen_status status = PEN_OK;
    if (team->is_pair || view_is_in_table(team, first, end)) {
        rows = job->mapped[pen_team_ep_index(team, first)];
        if (rows != NULL)
            rows += pen_team_jobrank(team, first);
    } else if (view_may_show(team)) {
        status = view_copy_rows(team, first, end);
        rows = status == PEN_OK ? team->rows : NULL;
    }
    uint32_t count = rows != NULL && view_may_show(team) ? end - first : 0;
    if (rows != NULL) {
        team->view.mapped = rows;
        team->view.mapped_first = first;
    }
    /* release: as in row_set */
    __atomic_store_n(&team->view.mapped_count, count, __ATOMIC_RELEASE);
    return status;
}

/* Called under the lock that guards tables and lists. */
static pen_status show_pairs(const pen_endpoint *endpoint)
{
    pen_status status = PEN_OK;
    for (uint32_t remote = 0; status == PEN_OK && remote < PEN_ENDPOINTS_MAX; remote++) {
        /* relaxed: written under this lock */
        pen_team *pair = atomic_load_explicit(&endpoint->pairs[remote], memory_order_relaxed);
        if (pair != NULL)
            status = pen_job_show_team(pair);
    }
    return status;
}

pen_status pen_job_show(pen_job *job)
{
    pen_status status = PEN_OK;
    pen_lock_take(&job->threads_lock);
    for (uint32_t i = 0; status == PEN_OK && i < PEN_ENDPOINTS_MAX; i++)
        if (job->mem.remote[i] != NULL)
            status = rows_fill(job, i);
    if (status == PEN_OK)
        status = pen_job_show_team(&job->world);
    for (uint32_t i = 0; status == PEN_OK && i < job->endpoint_count; i++)
        status = show_pairs(job->endpoints[i]);
    for (pen_team *team = job->teams; status == PEN_OK && team != NULL; team = team->next)
        status = pen_job_show_team(team);
    pen_lock_drop(&job->threads_lock);
    return status;
}

void pen_job_bind(pen_endpoint *endpoint, pen_segment *segment)
{
    pen_job *job = endpoint->job;
    pen_lock_take(&job->threads_lock);
    endpoint->segment = segment;
    segment->bound++;
    if (segment->device != NULL) { /* the views must not show memory after this */
        (void)show_pairs(endpoint);
        for (pen_team *team = job->teams; team != NULL; team = team->next)
            if (team->endpoint == endpoint)
                (void)pen_job_show_team(team); /* makes no rows, as it shows less than before */
    }
    pen_lock_drop(&job->threads_lock);
}

/* ---- pairs -------------------------------------------------------------------------------- */

/* Called under the lock. */
static pen_team *pair_make(pen_endpoint *endpoint, uint16_t remote_index)
{
    pen_job *job = endpoint->job;
    pen_team *pair = pen_job_calloc(job, 1, sizeof *pair, "a team pair");
    if (pair == NULL)
        return NULL;
    pair->view.rank = job->rank; /* size 0 marks a pair */
    pair->job = job;
    pair->stride = 1;
    pair->endpoint = endpoint;
    pair->pair_index = remote_index;
    pair->is_pair = true;
    pair->special = (endpoint->index | remote_index) != 0 ? PEN_TEAM_ELSEWHERE : 0;
    pen_team_use_express(pair);
    (void)pen_job_show_team(pair); /* makes no table */
    /* release: pairs with the acquire in pen_job_pair */
    atomic_store_explicit(&endpoint->pairs[remote_index], pair, memory_order_release);
    return pair;
}

pen_team *pen_job_pair(pen_job *job, uint16_t local_index, uint16_t remote_index)
{
    if (local_index >= PEN_ENDPOINTS_MAX || remote_index >= PEN_ENDPOINTS_MAX ||
        job->endpoints[local_index] == NULL)
        return NULL;
    pen_endpoint *endpoint = job->endpoints[local_index];
    /* acquire: pairs with the release in pair_make */
    pen_team *pair = atomic_load_explicit(&endpoint->pairs[remote_index], memory_order_acquire);
    if (pen_likely(pair != NULL))
        return pair;
    pen_lock_take(&job->threads_lock);
    pair = atomic_load_explicit(&endpoint->pairs[remote_index], memory_order_acquire);
    if (pair == NULL)
        pair = pair_make(endpoint, remote_index);
    pen_lock_drop(&job->threads_lock);
    return pair;
}
