/* SPDX-License-Identifier: BSD-3-Clause */
/* segment.c: segments of this rank, and the segment that attaching makes. */
#include "api/api.h"

#include "base/status.h"
#include "boot/host_page.h"
#include "diag/log.h"
#include "job/endpoint.h"
#include "job/job.h"
#include "job/publish.h"
#include "mem/kind.h"
#include "mem/mem.h"
#include "pen_config.h"

#include <gasnet.h>
#include <gasnetex.h>
#include <stdlib.h>

uintptr_t gasnet_getMaxLocalSegmentSize(void)
{
    uintptr_t most = pen_job_segment_max_local(pen_api_job("gasnet_getMaxLocalSegmentSize"));
    return most == UINTPTR_MAX ? most : most - most % GASNET_PAGESIZE;
}

uintptr_t gasnet_getMaxGlobalSegmentSize(void)
{
    uintptr_t most = pen_job_segment_max_global(pen_api_job("gasnet_getMaxGlobalSegmentSize"));
    return most == UINTPTR_MAX ? most : most - most % GASNET_PAGESIZE;
}

int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int count)
{
    static const char call[] = "gasnet_getSegmentInfo";
    const pen_job *job = pen_api_root.job;
    if (job == NULL || !job->attached)
        return pen_api_refuse(GASNET_ERR_NOT_INIT, call, "called before segments were attached");
    if (count < 0 || (uint32_t)count > job->size || (table == NULL && count != 0))
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "a table of %d rows for %u ranks", count,
                              job->size);
    for (int i = 0; i < count; i++) {
        const pen_remote_segment *row = &job->mem.remote[0][i];
        if (job->segment_mode == PEN_SEGMENT_EVERYTHING)
            table[i] = (gasnet_seginfo_t){ NULL, UINTPTR_MAX };
        else
            table[i] = (gasnet_seginfo_t){ (void *)(uintptr_t)row->base, (uintptr_t)row->len };
    }
    return GASNET_OK;
}

/* ---- making segments ------------------------------------------------------------------------ */

/* Makes a segment. device NULL: host memory. On failure mem/ has printed the reason. */
static int create(pen_job *job, pen_device *device, void *addr, uintptr_t len, pen_segment **out)
{
    pen_log log = pen_api_log(job);
    pen_status status = pen_mem_create_on(&job->mem, &log, device, addr, len, out);
    if (status != PEN_OK)
        return pen_api_code(status);
    (*out)->client = &job->client;
    if (addr == NULL && device == NULL && gasnet_client_attach_hook != NULL)
        gasnet_client_attach_hook((*out)->base, len);
    return GASNET_OK;
}

int pen_api_published(pen_job *job, pen_status status)
{
    if (status == PEN_ERR_PEER_LOST)
        pen_api_end_with_job();
    if (status != PEN_OK)
        return pen_api_code(status);
    pen_api_root.attach_owed = false;
    pen_host_page *page = job->boot.page;
    if (page != NULL) /* relaxed: for display only */
        atomic_store_explicit(&pen_host_row(page, job->rank)->phase, PEN_HOST_ATTACHED,
                              memory_order_relaxed);
    return GASNET_OK;
}

static int attach(const char *call, pen_job *job, uintptr_t len, pen_segment **out)
{
    pen_segment *segment = NULL;
    int code = GASNET_OK;
    if (job->attached || job->endpoint.segment != NULL)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "this rank has a segment already");
    if (job->segment_mode != PEN_SEGMENT_EVERYTHING) {
        uintptr_t most = gasnet_getMaxLocalSegmentSize();
        if (len == 0 || len % GASNET_PAGESIZE != 0)
            return pen_api_refuse(GASNET_ERR_BAD_ARG, call,
                                  "size %zu: not a positive multiple of GASNET_PAGESIZE (%d)",
                                  (size_t)len, GASNET_PAGESIZE);
        if (len > most)
            return pen_api_refuse(GASNET_ERR_BAD_ARG, call,
                                  "size %zu: more than gasnet_getMaxLocalSegmentSize() (%zu); "
                                  "GASNET_MAX_SEGSIZE may raise it",
                                  (size_t)len, (size_t)most);
        code = create(job, NULL, NULL, len, &segment);
    }
    if (code != GASNET_OK)
        return code;
    code = pen_api_published(job, pen_job_publish(job, segment));
    if (code != GASNET_OK) {
        /* relaxed: this thread published it, or no thread did. A segment that peers may know stays.
         */
        if (segment != NULL &&
            atomic_load_explicit(&job->mem.exposed[segment->number], memory_order_relaxed) == NULL)
            pen_mem_destroy(&job->mem, segment);
        return code;
    }
    if (segment != NULL)
        pen_job_bind(&job->endpoint, segment);
    *out = segment;
    return GASNET_OK;
}

int gex_Segment_Attach(gex_Segment_t *segment, gex_TM_t team, uintptr_t len)
{
    static const char call[] = "gex_Segment_Attach";
    pen_job *job = pen_api_root.job;
    if (job == NULL)
        return pen_api_refuse(GASNET_ERR_NOT_INIT, call, "called before gex_Client_Init");
    if (segment == NULL || team != &job->world)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "%s",
                              segment == NULL ? "there is nowhere to write the segment"
                                              : "the team is not the primordial one");
    if (PEN_CHECKED)
        pen_api_check_context(call);
    return attach(call, job, len, segment);
}

int gasnet_attach(gasnet_handlerentry_t *table, int count, uintptr_t segsize,
                  uintptr_t minheapoffset)
{
    static const char call[] = "gasnet_attach";
    (void)minheapoffset;
    pen_job *job = pen_api_root.job;
    if (job == NULL)
        return pen_api_refuse(GASNET_ERR_NOT_INIT, call, "called before gasnet_init");
    if (!pen_api_root.attach_owed)
        return pen_api_refuse(GASNET_ERR_NOT_INIT, call, "called %s",
                              job->attached ? "twice" : "after gex_Client_Init");
    if (PEN_CHECKED)
        pen_api_check_context(call);
    int code = pen_api_register_legacy(job, table, count);
    pen_segment *segment;
    return code != GASNET_OK
               ? code
               : attach(call, job, segsize == 0 ? GASNET_PAGESIZE : segsize, &segment);
}

int gex_Segment_Create(gex_Segment_t *segment, gex_Client_t client, gex_Addr_t addr, uintptr_t len,
                       gex_MK_t kind, gex_Flags_t flags)
{
    static const char call[] = "gex_Segment_Create";
    if (segment == NULL || client == NULL)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "neither segment nor client may be NULL");
    if (kind == GEX_MK_INVALID)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "the memory kind is GEX_MK_INVALID");
    if (flags != 0)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "flags 0x%x: must be 0", flags);
    if (len == 0 || (uintptr_t)addr > UINTPTR_MAX - len)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "%zu bytes at %p are no memory",
                              (size_t)len, addr);
    pen_segment *made;
    int code = create(client->job, kind == GEX_MK_HOST ? NULL : kind, addr, len, &made);
    if (code == GASNET_OK)
        *segment = made;
    return code;
}

void gex_Segment_Destroy(gex_Segment_t segment, gex_Flags_t flags)
{
    static const char call[] = "gex_Segment_Destroy";
    pen_job *job = pen_api_job(call);
    if (segment == NULL || flags != 0)
        pen_api_misuse(call, "%s", segment == NULL ? "there is no segment" : "flags must be 0");
    if (segment->bound != 0)
        pen_api_misuse(call, "the segment at %p is bound to an endpoint", (void *)segment->base);
    pen_mem_destroy(&job->mem, segment);
}
