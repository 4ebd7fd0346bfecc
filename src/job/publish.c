/* SPDX-License-Identifier: BSD-3-Clause */
/* publish.c: making segments known to peers: what each rank tells, what each believes of it, and
 * the rows that inline code reads. */
#include "job/job_internal.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_LEN_MAX = 192 };

typedef struct job_segment { /* what a rank tells of its segment; len 0: it has none */
    uint64_t base, len;
    uint64_t arena_off; /* valid if in_arena */
    uint32_t number;
    uint8_t in_arena, has_key;
    uint8_t key[KEY_LEN_MAX];
} job_segment;

_Static_assert(sizeof(job_segment) <= PEN_BOOT_BLOB_MAX,
               "a segment's description fits one exchange");

static PEN_COLD pen_status publish_error(pen_job *job, const char *what, pen_status status)
{
    pen_log_error(&job->log, "cannot publish the segment: %s: %s; %s", what,
                  pen_status_text(status), pen_status_remedy(status));
    return status;
}

/* Makes the segment known to the device, where there is one that wants to know. */
static pen_status publish_register(pen_job *job, pen_segment *segment, job_segment *mine)
{
    pen_link *link = job->progress.ports[0].link;
    if (link->rma == NULL)
        return PEN_OK;
    PEN_INVARIANT(link->caps.rkey_len <= sizeof mine->key);
    if (segment->region == NULL) {
        pen_status status =
            link->rma->register_region(link, segment->base, segment->len, &segment->region);
        if (status != PEN_OK)
            return publish_error(job, "registering it with the device", status);
        segment->link = link;
    }
    pen_status status = link->rma->export_region(link, segment->region, mine->key);
    if (status != PEN_OK)
        return publish_error(job, "exporting its key", status);
    mine->has_key = 1;
    return PEN_OK;
}

static pen_status publish_describe(pen_job *job, pen_segment *segment, job_segment *mine)
{
    memset(mine, 0, sizeof *mine); /* the padding travels, too */
    if (segment == NULL)
        return PEN_OK;
    mine->base = (uint64_t)(uintptr_t)segment->base;
    mine->len = segment->len;
    mine->number = segment->number;
    mine->in_arena = segment->in_arena ? 1 : 0;
    if (segment->in_arena)
        mine->arena_off = (uint64_t)(segment->base - job->boot.arena);
    return publish_register(job, segment, mine);
}

/* ---- what a peer told ---------------------------------------------------------------------------
 */

static bool publish_is_sane(const pen_job *job, const job_segment *told)
{
    if (told->len == 0)
        return true;
    bool fits = told->number != 0 && told->number < PEN_SEGMENTS_MAX &&
                told->base <= UINT64_MAX - told->len;
    if (told->in_arena)
        fits = fits && told->arena_off <= job->boot.arena_len &&
               told->len <= job->boot.arena_len - told->arena_off;
    return fits;
}

static bool publish_same(const pen_remote_segment *row, const pen_remote_segment *other)
{
    return row->base == other->base && row->len == other->len && row->number == other->number &&
           row->mapped == other->mapped && row->delta == other->delta &&
           row->has_key == other->has_key && row->key == other->key;
}

static void publish_forget_key(pen_job *job, uint32_t rank, pen_remote_segment *row)
{
    pen_link *link = job->progress.ports[0].link;
    if (row->has_key)
        link->rma->release_region(link, rank, row->key);
    row->has_key = false;
    row->key = 0;
}

static pen_status publish_import_key(pen_job *job, uint32_t rank, const job_segment *told,
                                     pen_remote_segment *row)
{
    const pen_remote_segment *old = &job->mem.remote[rank];
    pen_link *link = job->progress.ports[0].link;
    if (told->len == 0 || !told->has_key || link->rma == NULL)
        return PEN_OK;
    if (old->has_key && old->base == row->base && old->len == row->len &&
        old->number == row->number) {
        row->has_key = true; /* published again: the key is as good as it was */
        row->key = old->key;
        return PEN_OK;
    }
    pen_status status = link->rma->import_region(link, rank, told->key, &row->key);
    if (status != PEN_OK)
        return publish_error(job, "importing a peer's key", status);
    row->has_key = true;
    return PEN_OK;
}

static pen_status publish_believe(pen_job *job, uint32_t rank, const job_segment *told)
{
    if (!publish_is_sane(job, told)) {
        pen_log_error(&job->log, "rank %u describes an impossible segment: %s; %s", rank,
                      pen_status_text(PEN_ERR_PROTOCOL), pen_status_remedy(PEN_ERR_PROTOCOL));
        return PEN_ERR_PROTOCOL;
    }
    pen_remote_segment row = { 0 };
    if (told->len != 0) {
        row.base = told->base;
        row.len = told->len;
        row.number = told->number;
        if (rank == job->rank) {
            row.mapped = true;
        } else if (told->in_arena && job->boot.arena != NULL && job->routes[rank].same_host) {
            row.mapped = true;
            row.delta =
                (intptr_t)((uintptr_t)job->boot.arena + told->arena_off - (uintptr_t)told->base);
        }
    }
    pen_status status = publish_import_key(job, rank, told, &row);
    pen_remote_segment *old = &job->mem.remote[rank];
    if (status == PEN_OK && !publish_same(old, &row)) { /* what is unchanged may be in use */
        if (!row.has_key || row.key != old->key)
            publish_forget_key(job, rank, old);
        *old = row;
    }
    return status;
}

/* ---- the frozen view
 * ------------------------------------------------------------------------------- */

/* The ranks around us that share our host: those that inline code may index. */
static void publish_show(pen_job *job)
{
    uint32_t first = job->rank, end = job->rank + 1;
    while (first > 0 && job->routes[first - 1].same_host)
        first--;
    while (end < job->size && job->routes[end].same_host)
        end++;
    for (uint32_t rank = first; rank < end; rank++) {
        const pen_remote_segment *row = &job->mem.remote[rank];
        pen_mapped shown = { 0 };
        if (row->mapped)
            shown =
                (pen_mapped){ .base = (uintptr_t)row->base, .len = row->len, .delta = row->delta };
        if (memcmp(&job->mapped[rank], &shown, sizeof shown) != 0)
            job->mapped[rank] = shown;
    }
    job->world.view.mapped = &job->mapped[first];
    /* Nothing may bypass the checks of a checked build, and EVERYTHING has no bounds to check. */
    bool shows = !PEN_CHECKED && job->segment_mode != PEN_SEGMENT_EVERYTHING;
    pen_job_show_mapped(job, first, shows ? end - first : 0);
}

pen_status pen_job_publish(pen_job *job, pen_segment *segment)
{
    job_segment mine;
    job_segment *all =
        pen_job_calloc(job, job->size, sizeof *all, "the table of published segments");
    if (all == NULL)
        return PEN_ERR_MEMORY;
    pen_status status = publish_describe(job, segment, &mine);
    if (status == PEN_OK) {
        pen_job_meet(job);
        status = pen_boot_exchange(&job->boot, &mine, sizeof mine, all);
    }
    for (uint32_t rank = 0; status == PEN_OK && rank < job->size; rank++)
        status = publish_believe(job, rank, &all[rank]);
    free(all);
    if (status != PEN_OK)
        return status;
    publish_show(job);
    job->attached = true;
    return pen_boot_barrier(&job->boot);
}

void pen_job_forget(pen_job *job)
{
    for (uint32_t rank = 0; rank < job->mem.remote_count; rank++)
        if (job->mem.remote[rank].has_key)
            publish_forget_key(job, rank, &job->mem.remote[rank]);
}
