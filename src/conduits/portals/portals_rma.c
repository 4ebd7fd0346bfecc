/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_rma.c: memory of peers. A region is a match entry; its match bits are the key. The local
 * side is one descriptor of all memory, so it needs no registration. */
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/portals/portals.h"
#include "diag/log.h"
#include "os/lock.h"
#include "softnic/portals/portals4.h"

#include <string.h>

struct pen_region {
    ptl_handle_me_t entry;
    uint64_t key;
};

static pen_status register_region(pen_link *base, void *addr, size_t len, pen_region **out)
{
    portals_link *link = portals_of(base);
    const pen_host *host = base->host;
    pen_region *region = host->alloc(host->ctx, sizeof *region, _Alignof(pen_region));
    if (region == NULL)
        return PEN_ERR_MEMORY;
    pen_lock_take(&link->lock);
    region->key = ++link->last_key;
    pen_lock_drop(&link->lock);
    const ptl_me_t entry = {
        .start = addr,
        .length = len,
        .ct_handle = PTL_CT_NONE,
        .uid = PTL_UID_ANY,
        .options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE |
                   PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE,
        .match_id.phys = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY },
        .match_bits = region->key,
    };
    portals_device_use(link->device);
    int result = PtlMEAppend(link->ni, link->portal[PORTALS_MEMORY], &entry, PTL_PRIORITY_LIST,
                             NULL, &region->entry);
    portals_device_use(NULL);
    if (result == PTL_OK) {
        *out = region;
        return PEN_OK;
    }
    host->release(host->ctx, region);
    host->log(host->ctx, PEN_LOG_WARN,
              "the Portals card has no room for a region of %zu bytes (result %d); puts and gets "
              "there go by messages",
              len, result);
    return PEN_ERR_RESOURCE;
}

static void deregister_region(pen_link *base, pen_region *region)
{
    portals_link *link = portals_of(base);
    portals_device_use(link->device);
    (void)PtlMEUnlink(region->entry);
    portals_device_use(NULL);
    base->host->release(base->host->ctx, region);
}

static pen_status export_region(pen_link *base, const pen_region *region, void *blob)
{
    (void)base;
    memcpy(blob, &region->key, sizeof region->key);
    return PEN_OK;
}

static pen_status import_region(pen_link *base, pen_peer peer, const void *blob, pen_rkey *out)
{
    (void)base, (void)peer;
    memcpy(out, blob, sizeof *out);
    return PEN_OK;
}

static void release_region(pen_link *base, pen_peer peer, pen_rkey key)
{
    (void)base, (void)peer, (void)key;
}

static pen_post put(pen_link *base, pen_peer to, uint64_t offset, pen_rkey key, const void *local,
                    pen_region *region, size_t len, pen_op *op)
{
    (void)region;
    portals_link *link = portals_of(base);
    const portals_peer *peer = &link->peer[to];
    bool is_lost;
    portals_token *token = portals_token_take(link, PORTALS_MEMORY, to, 2, &is_lost);
    if (token == NULL)
        return is_lost ? PEN_POST_FAILED : PEN_POST_AGAIN;
    token->op = op;
    portals_device_use(link->device);
    int result = PtlPut(link->memory_md, (ptl_size_t)(uintptr_t)local, len, PTL_ACK_REQ,
                        peer->process, peer->portal[PORTALS_MEMORY], key, offset, token, 0);
    portals_device_use(NULL);
    pen_post answer = portals_posted(link, token, result);
    if (answer != PEN_POST_DONE)
        return answer;
    portals_wake(link, to);
    return PEN_POST_PENDING;
}

static pen_post get(pen_link *base, pen_peer from, uint64_t offset, pen_rkey key, void *local,
                    pen_region *region, size_t len, pen_op *op)
{
    (void)region;
    portals_link *link = portals_of(base);
    const portals_peer *peer = &link->peer[from];
    bool is_lost;
    portals_token *token = portals_token_take(link, PORTALS_MEMORY, from, 1, &is_lost);
    if (token == NULL)
        return is_lost ? PEN_POST_FAILED : PEN_POST_AGAIN;
    token->op = op;
    portals_device_use(link->device);
    int result = PtlGet(link->memory_md, (ptl_size_t)(uintptr_t)local, len, peer->process,
                        peer->portal[PORTALS_MEMORY], key, offset, token);
    portals_device_use(NULL);
    pen_post answer = portals_posted(link, token, result);
    if (answer != PEN_POST_DONE)
        return answer;
    portals_wake(link, from);
    return PEN_POST_PENDING;
}

const pen_rma_ops portals_rma = {
    .register_region = register_region,
    .deregister_region = deregister_region,
    .export_region = export_region,
    .import_region = import_region,
    .release_region = release_region,
    .put = put,
    .get = get,
};
