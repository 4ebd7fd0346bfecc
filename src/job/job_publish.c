/* SPDX-License-Identifier: BSD-3-Clause */
/* job_publish.c: exporting segments to peers, and importing those of peers. */
#include "job/job_internal.h"

#include "base/compiler.h"
#include "base/status.h"
#include "boot/boot.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "job/publish.h"
#include "mem/mem.h"
#include "os/lock.h"

#include <penstock/types.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(pen_told) <= PEN_BOOT_BLOB_MAX, "a segment's description fits one exchange");

static PEN_COLD pen_status publish_error(pen_job *job, const char *what, pen_status status)
{
    pen_log_error(&job->log, "cannot publish the segment: %s: %s; %s", what,
                  pen_status_text(status), pen_status_remedy(status));
    return status;
}

/* Registers the segment with the device, if a device needs it. */
static pen_status publish_register(pen_job *job, pen_segment *segment, pen_told *mine)
{
    pen_link *link = job->progress.ports[0].link;
    if (link->rma == NULL || segment->device != NULL) /* host memory needs no registration */
        return PEN_OK;
    PEN_INVARIANT(link->caps.rkey_len <= sizeof mine->key);
    if (segment->region == NULL) {
        pen_status status =
            link->rma->register_region(link, segment->base, segment->len, &segment->region);
        if (status == PEN_ERR_RESOURCE) /* the link has printed the reason; messages are used
                                         * instead */
            return PEN_OK;
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

size_t pen_job_told_len(const pen_job *job)
{
    const pen_link *link = job->progress.ports[0].link;
    return offsetof(pen_told, key) + (link->rma == NULL ? 0 : link->caps.rkey_len);
}

pen_status pen_job_tell(pen_job *job, uint16_t ep_index, pen_segment *segment, pen_told *out)
{
    memset(out, 0, sizeof *out); /* the padding is sent, too */
    out->ep_index = ep_index;
    out->lacks = (uint8_t)(GEX_EP_CAPABILITY_ALL & ~job->endpoints[ep_index]->capabilities);
    if (segment == NULL)
        return PEN_OK;
    out->base = (uint64_t)(uintptr_t)segment->base;
    out->len = segment->len;
    out->number = segment->number;
    out->is_device = segment->device != NULL ? 1 : 0;
    out->in_arena = segment->in_arena ? 1 : 0;
    if (segment->in_arena)
        out->arena_off = (uint64_t)(segment->base - job->boot.arena);
    pen_status status = publish_register(job, segment, out);
    pen_mem_expose(&job->mem, segment); /* with its region: see pen_mem_region */
    return status;
}

/* ---- what a peer told ------------------------------------------------------------------------ */

static bool publish_is_sane(const pen_job *job, uint32_t rank, const pen_told *told)
{
    if (told->ep_index >= PEN_ENDPOINTS_MAX)
        return false;
    if (told->len == 0)
        return true;
    bool fits = told->number != 0 && told->number < PEN_SEGMENTS_MAX &&
                told->base <= UINT64_MAX - told->len;
    if (told->in_arena && job->routes[rank].same_host)
        fits = fits && told->arena_off <= job->boot.arena_len &&
               told->len <= job->boot.arena_len - told->arena_off;
    return fits;
}

static bool publish_same(const pen_remote_segment *row, const pen_remote_segment *other)
{
    return row->base == other->base && row->len == other->len && row->number == other->number &&
           row->mapped == other->mapped && row->is_device == other->is_device &&
           row->lacks == other->lacks && row->delta == other->delta &&
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

static pen_status publish_import_key(pen_job *job, uint32_t rank, const pen_told *told,
                                     pen_remote_segment *row)
{
    const pen_remote_segment *old = &job->mem.remote[told->ep_index][rank];
    pen_link *link = job->progress.ports[0].link;
    if (told->len == 0 || !told->has_key || link->rma == NULL)
        return PEN_OK;
    if (old->has_key && old->base == row->base && old->len == row->len &&
        old->number == row->number) {
        row->has_key = true; /* published before: the key is still valid */
        row->key = old->key;
        return PEN_OK;
    }
    pen_status status = link->rma->import_region(link, rank, told->key, &row->key);
    if (status != PEN_OK)
        return publish_error(job, "importing a peer's key", status);
    row->has_key = true;
    return PEN_OK;
}

static pen_remote_segment publish_row(const pen_job *job, uint32_t rank, const pen_told *told)
{
    pen_remote_segment row = { .base = told->base,
                               .len = told->len,
                               .number = told->number,
                               .is_device = told->is_device != 0,
                               .lacks = told->lacks };
    if (row.is_device)
        return row;
    if (rank == job->rank) {
        row.mapped = true;
    } else if (told->in_arena && job->boot.arena != NULL && job->routes[rank].same_host) {
        row.mapped = true;
        row.delta =
            (intptr_t)((uintptr_t)job->boot.arena + told->arena_off - (uintptr_t)told->base);
    }
    return row;
}

/* Called under threads_lock. */
static pen_status publish_enter(pen_job *job, uint32_t rank, const pen_told *told)
{
    pen_remote_segment *table = pen_mem_remote_table(&job->mem, told->ep_index);
    if (table == NULL)
        return pen_job_no_memory(job, "the table of segments of one more endpoint", "calloc");
    pen_remote_segment row = { 0 };
    if (told->len != 0)
        row = publish_row(job, rank, told);
    pen_status status = publish_import_key(job, rank, told, &row);
    pen_remote_segment *old = &table[rank];
    if (status == PEN_OK && !publish_same(old, &row)) { /* an unchanged row may be in use */
        if (!row.has_key || row.key != old->key)
            publish_forget_key(job, rank, old);
        *old = row;
    }
    return status;
}

pen_status pen_job_believe(pen_job *job, uint32_t rank, const pen_told *told)
{
    if (!publish_is_sane(job, rank, told)) {
        pen_log_error(&job->log, "rank %u describes an impossible segment: %s; %s", rank,
                      pen_status_text(PEN_ERR_PROTOCOL), pen_status_remedy(PEN_ERR_PROTOCOL));
        return PEN_ERR_PROTOCOL;
    }
    pen_lock_take(&job->threads_lock); /* other threads may import, too */
    pen_status status = publish_enter(job, rank, told);
    if (status == PEN_OK && told->ep_index == 0 && told->len != 0)
        job->attached = true;
    pen_lock_drop(&job->threads_lock);
    return status;
}

/* ---- the primordial endpoint's, before there are collectives --------------------------------- */

pen_status pen_job_publish(pen_job *job, pen_segment *segment)
{
    pen_told mine;
    pen_told *all = pen_job_calloc(job, job->size, sizeof *all, "the table of published segments");
    if (all == NULL)
        return PEN_ERR_MEMORY;
    pen_status status = pen_job_tell(job, 0, segment, &mine);
    if (status == PEN_OK) {
        pen_job_meet(job);
        status = pen_boot_exchange(&job->boot, &mine, sizeof mine, all);
    }
    for (uint32_t rank = 0; status == PEN_OK && rank < job->size; rank++)
        status = pen_job_believe(job, rank, &all[rank]);
    free(all);
    if (status == PEN_OK)
        status = pen_job_show(job);
    job->attached = job->attached || status == PEN_OK;
    return status == PEN_OK ? pen_boot_barrier(&job->boot) : status;
}

void pen_job_forget(pen_job *job)
{
    for (uint32_t ep_index = 0; ep_index < PEN_ENDPOINTS_MAX; ep_index++) {
        pen_remote_segment *table = job->mem.remote[ep_index];
        for (uint32_t rank = 0; table != NULL && rank < job->mem.remote_count; rank++)
            if (table[rank].has_key)
                publish_forget_key(job, rank, &table[rank]);
    }
}
