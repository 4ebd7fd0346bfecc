/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_local.c: the local side of puts and gets: which descriptor the card uses for it. */
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/portals/portals.h"
#include "diag/log.h"
#include "firehose/firehose.h"
#include "os/lock.h"
#include "os/os.h"
#include "softnic/portals/portals4.h"

#include <string.h>

enum { SEGMENTS_KNOWN_MAX = 64, OTHER_MDS = 2 };

static const char *const way_names[] = { [PORTALS_LOCAL_ALL] = "all",
                                         [PORTALS_LOCAL_FIREHOSE] = "firehose",
                                         [PORTALS_LOCAL_TEMPORARY] = "temporary",
                                         [PORTALS_LOCAL_BOUNCE] = "bounce" };

bool portals_local_parse(const char *text, portals_local_way *out)
{
    for (unsigned i = 0; i < sizeof way_names / sizeof way_names[0]; i++) {
        if (strcmp(text, way_names[i]) == 0) {
            *out = (portals_local_way)i;
            return true;
        }
    }
    return false;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int bind(portals_link *link, const void *start, size_t len, ptl_handle_md_t *out)
{
    const ptl_md_t md = { .start = (void *)(uintptr_t)start, // NOLINT(performance-no-int-to-ptr)
                          .length = len,
                          .eq_handle = link->ended,
                          .ct_handle = PTL_CT_NONE };
    portals_device_use(link->device);
    int result = PtlMDBind(link->ni, &md, out);
    portals_device_use(NULL);
    return result;
}

/* No operation uses the descriptor. If one is under way because its peer is lost, the descriptor
 * stays until the interface is closed. */
static void release(portals_link *link, ptl_handle_md_t md)
{
    portals_device_use(link->device);
    (void)PtlMDRelease(md);
    portals_device_use(NULL);
}

/* ---- firehose -------------------------------------------------------------------------------- */

static pen_status enter(void *ctx, void *addr, size_t len, pen_region **out)
{
    portals_link *link = ctx;
    const pen_host *host = link->base.host;
    pen_region *region = host->alloc(host->ctx, sizeof *region, _Alignof(pen_region));
    if (region == NULL)
        return PEN_ERR_RESOURCE;
    int result = bind(link, addr, len, &region->md);
    if (result == PTL_OK) {
        *out = region;
        return PEN_OK;
    }
    host->release(host->ctx, region);
    return result == PTL_NO_SPACE ? PEN_ERR_RESOURCE : PEN_ERR_ARGUMENT;
}

static void leave(void *ctx, pen_region *region)
{
    portals_link *link = ctx;
    release(link, region->md);
    link->base.host->release(link->base.host->ctx, region);
}

int portals_local_open(portals_link *link, pen_concurrency concurrency, uint32_t mds_max)
{
    const pen_host *host = link->base.host;
    size_t len_max = PORTALS_BOUNCE_LEN;
    if (link->way == PORTALS_LOCAL_ALL || link->way == PORTALS_LOCAL_TEMPORARY)
        return PTL_OK;
    if (link->way == PORTALS_LOCAL_FIREHOSE) {
        const uint32_t others = SEGMENTS_KNOWN_MAX + OTHER_MDS;
        const pen_firehose_device device = { link, enter, leave };
        const pen_firehose_limits limits = pen_firehose_limits_make(
            &link->config.firehose, 0, 0, mds_max > others ? mds_max - others : 1);
        if (pen_firehose_open(&device, &limits, pen_page_len(), concurrency, &link->firehose) !=
            PEN_OK)
            return PTL_NO_SPACE;
        /* The longest request that fits into a region wherever in a page it begins. */
        len_max = limits.region_len / pen_page_len() * pen_page_len() - pen_page_len();
        if (link->config.firehose.is_verbose)
            host->log(host->ctx, PEN_LOG_WARN,
                      "firehose: at most %zu bytes and %u regions are registered, and %zu bytes in "
                      "one region",
                      limits.memory_len, limits.regions, limits.region_len);
    }
    link->base.caps.put_max = link->base.caps.get_max = len_max;
    return PTL_OK;
}

static void log_counters(portals_link *link)
{
    const pen_host *host = link->base.host;
    pen_firehose_counters counters;
    pen_firehose_count(link->firehose, &counters);
    host->log(host->ctx, PEN_LOG_WARN,
              "firehose: %llu hits, %llu misses, %llu joined, %llu evicted, %llu refused; %u "
              "regions of %zu bytes are registered",
              (unsigned long long)counters.hits, (unsigned long long)counters.misses,
              (unsigned long long)counters.joined, (unsigned long long)counters.evicted,
              (unsigned long long)counters.refused, counters.regions, counters.registered_len);
}

void portals_local_close(portals_link *link)
{
    /* Operations with lost peers do not end. */
    for (uint32_t i = 0; i < PORTALS_OPS; i++)
        portals_local_end(link, &link->tokens[portals_frames(link) + i]);
    if (link->firehose == NULL)
        return;
    if (link->config.firehose.is_verbose)
        log_counters(link);
    pen_firehose_close(link->firehose);
}

/* ---- segments -------------------------------------------------------------------------------- */

void portals_local_add(portals_link *link, pen_region *region)
{
    pen_lock_take(&link->lock);
    bool is_wanted = link->way != PORTALS_LOCAL_ALL && link->segment_count < SEGMENTS_KNOWN_MAX;
    link->segment_count += is_wanted;
    pen_lock_drop(&link->lock);
    region->is_known =
        is_wanted && bind(link, (void *)region->begin, // NOLINT(performance-no-int-to-ptr)
                          region->len, &region->md) == PTL_OK;
    if (!is_wanted)
        return;
    pen_lock_take(&link->lock);
    if (region->is_known) {
        region->next = link->segments;
        link->segments = region;
    } else {
        link->segment_count--;
    }
    pen_lock_drop(&link->lock);
}

void portals_local_remove(portals_link *link, pen_region *region)
{
    if (!region->is_known)
        return;
    pen_lock_take(&link->lock);
    pen_region **at = &link->segments;
    while (*at != region)
        at = &(*at)->next;
    *at = region->next;
    link->segment_count--;
    pen_lock_drop(&link->lock);
    release(link, region->md);
}

static bool find_segment(portals_link *link, portals_token *token, const void *local, size_t len)
{
    const uintptr_t begin = (uintptr_t)local;
    pen_lock_take(&link->lock);
    const pen_region *region = link->segments;
    while (region != NULL &&
           !(begin - region->begin <= region->len && len <= region->len - (begin - region->begin)))
        region = region->next;
    if (region != NULL) {
        token->md = region->md;
        token->at = begin - region->begin;
    }
    pen_lock_drop(&link->lock);
    return region != NULL;
}

/* ---- puts and gets --------------------------------------------------------------------------- */

static int use_firehose(portals_link *link, portals_token *token, const void *local, size_t len)
{
    const pen_firehose_region *region = pen_firehose_find(link->firehose, local, len);
    if (region != NULL) {
        link->counters->local_known++;
    } else {
        pen_status status = pen_firehose_use(link->firehose, local, len, &region);
        if (status != PEN_OK)
            return status == PEN_ERR_RESOURCE ? PTL_NO_SPACE : PTL_ARG_INVALID;
        link->counters->local_registered++;
    }
    token->known = region;
    token->md = region->region->md;
    token->at = (uintptr_t)local - region->begin;
    return PTL_OK;
}

static int register_for_now(portals_link *link, portals_token *token, const void *local, size_t len)
{
    int result = bind(link, local, len, &token->md);
    if (result != PTL_OK)
        return result;
    link->counters->local_registered++;
    token->is_temporary = true;
    token->at = 0;
    return PTL_OK;
}

int portals_local_begin(portals_link *link, portals_token *token, void *local, size_t len,
                        bool is_put)
{
    if (link->way == PORTALS_LOCAL_ALL) {
        token->md = link->memory_md;
        token->at = (ptl_size_t)(uintptr_t)local;
        return PTL_OK;
    }
    if (find_segment(link, token, local, len)) {
        link->counters->local_known++;
        return PTL_OK;
    }
    if (link->way == PORTALS_LOCAL_FIREHOSE)
        return use_firehose(link, token, local, len);
    if (link->way == PORTALS_LOCAL_TEMPORARY)
        return register_for_now(link, token, local, len);
    link->counters->local_copied++;
    token->md = link->frames_md;
    token->at = (ptl_size_t)(token->buffer - link->buffers);
    token->copy_to = local;
    token->copy_from = token->buffer;
    token->copy_len = len;
    if (is_put)
        memcpy(token->buffer, local, len);
    return PTL_OK;
}

void portals_local_arrive(portals_token *token)
{
    if (token->copy_to != NULL)
        memcpy(token->copy_to, token->copy_from, token->copy_len);
}

void portals_local_end(portals_link *link, portals_token *token)
{
    const pen_firehose_region *known = token->known;
    bool is_temporary = token->is_temporary;
    token->known = NULL;
    token->is_temporary = false;
    token->copy_to = NULL;
    if (known != NULL)
        pen_firehose_release(link->firehose, known);
    if (is_temporary)
        release(link, token->md);
}
