/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_rma.c: memory of peers. A region is a match entry; its match bits are the key. */
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/portals/portals.h"
#include "diag/log.h"
#include "link/known.h"
#include "os/lock.h"
#include "softnic/portals/portals4.h"

#include <string.h>

static pen_status register_region(pen_link *base, void *addr, size_t len, pen_region **out)
{
    portals_link *link = portals_of(base);
    const pen_host *host = base->host;
    pen_region *region = host->alloc(host->ctx, sizeof *region, _Alignof(pen_region));
    if (region == NULL)
        return PEN_ERR_MEMORY;
    *region = (pen_region){ .begin = (uintptr_t)addr, .len = len };
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
    if (result == PTL_OK) {
        result = portals_behind_add(link, region);
        if (result != PTL_OK)
            (void)PtlMEUnlink(region->entry);
    }
    portals_device_use(NULL);
    if (result == PTL_OK) {
        portals_local_add(link, region);
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
    portals_local_remove(link, region);
    portals_device_use(link->device);
    (void)PtlMEUnlink(region->entry);
    (void)PtlMEUnlink(region->data_entry);
    portals_device_use(NULL);
    base->host->release(base->host->ctx, region);
}

static pen_status export_region(pen_link *base, const pen_region *region, void *blob)
{
    (void)base;
    memcpy(blob, &region->key, sizeof region->key);
    return PEN_OK;
}

/* Takes a token, and finds a descriptor for the local memory. Returns NULL and the answer if that
 * is not possible now. */
static portals_token *begin(portals_link *link, pen_peer peer, void *local, size_t len, bool is_put,
                            pen_op *op, pen_post *answer)
{
    bool is_lost;
    portals_token *token = portals_token_take(link, PORTALS_MEMORY, peer, is_put ? 2 : 1, &is_lost);
    *answer = is_lost ? PEN_POST_FAILED : PEN_POST_AGAIN;
    if (token == NULL)
        return NULL;
    token->op = op;
    int result = portals_local_begin(link, token, local, len, is_put);
    if (result == PTL_OK)
        return token;
    *answer = portals_posted(link, token, result);
    return NULL;
}

pen_post portals_op_begun(portals_link *link, portals_token *token, pen_peer peer, int result)
{
    pen_post answer = portals_posted(link, token, result);
    if (answer != PEN_POST_DONE)
        return answer;
    portals_wake(link, peer);
    return PEN_POST_PENDING;
}

static pen_post put(pen_link *base, pen_peer to, uint64_t offset, pen_rkey key, const void *local,
                    pen_region *region, size_t len, pen_op *op)
{
    (void)region;
    portals_link *link = portals_of(base);
    portals_peer *peer = &link->peer[to];
    uint32_t number = 0;
    pen_post answer;
    if (op->local && !portals_data_next(link, to, &number))
        return PEN_POST_AGAIN;
    portals_token *token = begin(link, to, (void *)(uintptr_t)local, len, true, op, &answer);
    if (token == NULL)
        return answer;
    const bool is_local = token->is_local = op->local;
    portals_device_use(link->device);
    int result = PtlPut(token->md, token->at, len, PTL_ACK_REQ, peer->process,
                        peer->portal[is_local ? PORTALS_DATA : PORTALS_MEMORY], key, offset, token,
                        (uint64_t)base->self << 40 | number);
    portals_device_use(NULL);
    if (is_local && result == PTL_OK)
        peer->data_last = number;
    return portals_op_begun(link, token, to, result);
}

static pen_post get(pen_link *base, pen_peer from, uint64_t offset, pen_rkey key, void *local,
                    pen_region *region, size_t len, pen_op *op)
{
    (void)region;
    portals_link *link = portals_of(base);
    const portals_peer *peer = &link->peer[from];
    pen_post answer;
    portals_token *token = begin(link, from, local, len, false, op, &answer);
    if (token == NULL)
        return answer;
    portals_device_use(link->device);
    int result = PtlGet(token->md, token->at, len, peer->process, peer->portal[PORTALS_MEMORY], key,
                        offset, token);
    portals_device_use(NULL);
    return portals_op_begun(link, token, from, result);
}

const pen_rma_ops portals_rma = {
    .register_region = register_region,
    .deregister_region = deregister_region,
    .export_region = export_region,
    .import_region = pen_known_import,
    .release_region = pen_known_release,
    .put = put,
    .get = get,
};
