/* SPDX-License-Identifier: BSD-3-Clause */
/* ucx_rma.c: puts and gets by UCX's remote memory access. UCX tells only when the source of a put
 * is free. The put has landed when a flush of its endpoint that began after it is over, so each
 * poll begins at most one flush for a peer, which covers all puts to it so far. Callbacks make
 * notes; the poll ends the ops once it has dropped the lock. */
#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/ucx/ucx.h"
#include "diag/log.h"
#include "link/netlib.h"
#include "os/lock.h"

#include <stdint.h>
#include <string.h>

struct pen_region {
    ucp_mem_h memory;
    ucx_key key; /* for peers */
};

typedef struct ucx_rkey {
    ucp_rkey_h of_ucx;
    uint64_t base;
} ucx_rkey;

/* ---- regions --------------------------------------------------------------------------------- */

/* Returns a text about the failure, or NULL. */
static const char *region_open(const ucx_link *link, void *addr, size_t len, pen_region *region)
{
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = addr,
        .length = len,
    };
    void *packed = NULL;
    size_t packed_len = 0;
    ucs_status_t status = link->ucx.mem_map(link->context, &params, &region->memory);
    if (status != UCS_OK)
        return link->ucx.status_string(status);
    status = link->ucx.rkey_pack(link->context, region->memory, &packed, &packed_len);
    const bool fits = status == UCS_OK && packed_len <= sizeof region->key.bytes;
    region->key = (ucx_key){ .base = (uint64_t)(uintptr_t)addr, .len = (uint32_t)packed_len };
    if (fits)
        memcpy(region->key.bytes, packed, packed_len);
    if (status == UCS_OK)
        link->ucx.rkey_release(packed);
    if (!fits)
        (void)link->ucx.mem_unmap(link->context, region->memory);
    if (status != UCS_OK)
        return link->ucx.status_string(status);
    return fits ? NULL : "its key is too long; limit the devices with UCX_NET_DEVICES";
}

static pen_status register_region(pen_link *base, void *addr, size_t len, pen_region **out)
{
    ucx_link *link = ucx_of(base);
    const pen_host *host = base->host;
    pen_region *region = host->alloc(host->ctx, sizeof *region, _Alignof(pen_region));
    if (region == NULL)
        return PEN_ERR_MEMORY;
    pen_lock_take(&link->lock);
    const char *wrong = region_open(link, addr, len, region);
    pen_lock_drop(&link->lock);
    if (wrong == NULL) {
        *out = region;
        return PEN_OK;
    }
    host->release(host->ctx, region);
    host->log(host->ctx, PEN_LOG_WARN,
              "UCX cannot register a segment of %zu bytes: %s; puts and gets there go by messages; "
              "\"ulimit -l\" may be too small",
              len, wrong);
    return PEN_ERR_RESOURCE;
}

static void deregister_region(pen_link *base, pen_region *region)
{
    ucx_link *link = ucx_of(base);
    pen_lock_take(&link->lock);
    (void)link->ucx.mem_unmap(link->context, region->memory);
    pen_lock_drop(&link->lock);
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
    ucx_link *link = ucx_of(base);
    const pen_host *host = base->host;
    ucx_key key;
    memcpy(&key, blob, sizeof key);
    ucx_rkey *made = host->alloc(host->ctx, sizeof *made, _Alignof(ucx_rkey));
    if (made == NULL)
        return PEN_ERR_MEMORY;
    made->base = key.base;
    pen_lock_take(&link->lock);
    const ucs_status_t status =
        key.len <= sizeof key.bytes
            ? link->ucx.rkey_unpack(link->ep[peer], key.bytes, &made->of_ucx)
            : UCS_ERR_INVALID_PARAM;
    pen_lock_drop(&link->lock);
    if (status == UCS_OK) {
        *out = (pen_rkey)(uintptr_t)made;
        return PEN_OK;
    }
    host->release(host->ctx, made);
    host->log(host->ctx, PEN_LOG_ERROR,
              "UCX does not take the key of a segment of rank %u: %s; set PENSTOCK_UCX_RMA=no",
              peer, link->ucx.status_string(status));
    return PEN_ERR_UNUSABLE;
}

static ucx_rkey *rkey_of(pen_rkey key) { return (ucx_rkey *)(uintptr_t)key; }

static void release_region(pen_link *base, pen_peer peer, pen_rkey key)
{
    (void)peer;
    ucx_link *link = ucx_of(base);
    pen_lock_take(&link->lock);
    link->ucx.rkey_destroy(rkey_of(key)->of_ucx);
    pen_lock_drop(&link->lock);
    base->host->release(base->host->ctx, rkey_of(key));
}

/* ---- tokens: puts and gets under way --------------------------------------------------------- */

bool ucx_rma_open(ucx_link *link)
{
    const pen_host *host = link->base.host;
    const size_t len = link->net.peers * sizeof *link->puts;
    link->puts = host->alloc(host->ctx, len, PEN_CACHE_LINE);
    link->tokens = host->alloc(host->ctx, UCX_TOKENS * sizeof *link->tokens, _Alignof(ucx_token));
    if (link->puts == NULL || link->tokens == NULL)
        return false;
    memset(link->puts, 0, len);
    for (unsigned i = 0; i < UCX_TOKENS; i++) {
        link->tokens[i].link = link;
        link->tokens[i].next = link->free_tokens;
        link->free_tokens = &link->tokens[i];
    }
    return true;
}

void ucx_rma_close(ucx_link *link)
{
    const pen_host *host = link->base.host;
    if (link->puts != NULL)
        host->release(host->ctx, link->puts);
    if (link->tokens != NULL)
        host->release(host->ctx, link->tokens);
}

/* Returns NULL and the answer if there is no token, or if the peer is lost. */
static ucx_token *token_take(ucx_link *link, pen_peer peer, pen_op *op, pen_post *answer)
{
    const bool is_lost = pen_net_is_lost(&link->net, peer);
    ucx_token *token = is_lost ? NULL : link->free_tokens;
    *answer = is_lost ? PEN_POST_FAILED : PEN_POST_AGAIN;
    if (token == NULL)
        return NULL;
    link->free_tokens = token->next;
    link->tokens_out++;
    token->peer = peer;
    token->op = op;
    token->is_source_busy = true;
    token->is_flushed = token->has_failed = false;
    return token;
}

static void token_give(ucx_link *link, ucx_token *token)
{
    link->tokens_out--;
    token->next = link->free_tokens;
    link->free_tokens = token;
}

/* The data of a token has moved. The next poll ends its op. */
static void token_ends(ucx_link *link, ucx_token *token)
{
    token->next = link->ended;
    link->ended = token;
}

static void token_fails(ucx_link *link, ucx_token *token)
{
    pen_net_lose(&link->net, token->peer);
    token_give(link, token);
}

/* Finds the answer to a put or get that UCX did not begin. */
static pen_post refused(ucx_link *link, ucx_token *token, ucs_status_t status)
{
    if (ucx_is_want_of_room(status)) {
        token_give(link, token);
        return PEN_POST_AGAIN;
    }
    token_fails(link, token);
    return PEN_POST_FAILED;
}

/* ---- puts ------------------------------------------------------------------------------------ */

static void source_is_free(ucx_link *link, ucx_token *token)
{
    token->is_source_busy = false;
    if (!link->is_closing)
        pen_op_source_done(token->op);
}

/* Called when UCX has ended the put and also the flush that followed it. */
static void put_ends(ucx_link *link, ucx_token *token)
{
    if (token->has_failed)
        token_fails(link, token);
    else
        token_ends(link, token);
}

static void on_put(void *request, ucs_status_t status, void *user)
{
    ucx_token *token = user;
    ucx_link *link = token->link;
    if (status == UCS_OK)
        source_is_free(link, token);
    token->is_source_busy = false;
    token->has_failed |= status != UCS_OK;
    if (token->is_flushed)
        put_ends(link, token);
    link->ucx.request_free(request);
}

/* Ends the puts that a flush has covered. UCX may report the flush before such a put. */
static void flush_ends(ucx_link *link, pen_peer peer, ucs_status_t status)
{
    ucx_puts *puts = &link->puts[peer];
    while (puts->flushed != NULL) {
        ucx_token *token = puts->flushed;
        puts->flushed = token->next;
        token->is_flushed = true;
        token->has_failed |= status != UCS_OK;
        if (!token->is_source_busy)
            put_ends(link, token);
    }
}

static void on_flush(void *request, ucs_status_t status, void *user)
{
    const ucx_token *token = user; /* the first that the flush covers */
    ucx_link *link = token->link;
    flush_ends(link, token->peer, status);
    link->ucx.request_free(request);
}

/* Begins a flush for the puts to a peer that none covers. */
static void flush(ucx_link *link, pen_peer peer)
{
    ucx_puts *puts = &link->puts[peer];
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_flush,
        .user_data = puts->posted,
    };
    puts->flushed = puts->posted;
    puts->posted = NULL;
    link->unflushed--;
    ucs_status_ptr_t result = link->ucx.ep_flush(link->ep[peer], &param);
    if (!UCS_PTR_IS_PTR(result))
        flush_ends(link, peer, UCS_PTR_STATUS(result));
}

void ucx_flush_puts(ucx_link *link)
{
    for (pen_peer peer = 0; link->unflushed != 0 && peer < link->net.peers; peer++)
        if (link->puts[peer].posted != NULL && link->puts[peer].flushed == NULL)
            flush(link, peer);
}

static pen_post put_locked(ucx_link *link, ucx_token *token, uint64_t address, ucp_rkey_h key,
                           const void *local, size_t len)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_put,
        .user_data = token,
    };
    ucs_status_ptr_t result =
        link->ucx.put(link->ep[token->peer], local, len, address, key, &param);
    if (UCS_PTR_IS_ERR(result))
        return refused(link, token, UCS_PTR_STATUS(result));
    if (result == NULL)
        source_is_free(link, token);
    ucx_puts *puts = &link->puts[token->peer];
    link->unflushed += puts->posted == NULL;
    token->next = puts->posted;
    puts->posted = token;
    return PEN_POST_PENDING;
}

static pen_post put(pen_link *base, pen_peer to, uint64_t offset, pen_rkey key, const void *local,
                    pen_region *region, size_t len, pen_op *op)
{
    (void)region;
    ucx_link *link = ucx_of(base);
    const ucx_rkey *rkey = rkey_of(key);
    pen_post answer;
    pen_lock_take(&link->lock);
    ucx_token *token = token_take(link, to, op, &answer);
    if (token != NULL)
        answer = put_locked(link, token, rkey->base + offset, rkey->of_ucx, local, len);
    pen_lock_drop(&link->lock);
    return answer;
}

/* ---- gets ------------------------------------------------------------------------------------ */

static void on_get(void *request, ucs_status_t status, void *user)
{
    ucx_token *token = user;
    ucx_link *link = token->link;
    if (status == UCS_OK) {
        source_is_free(link, token);
        token_ends(link, token);
    } else
        token_fails(link, token);
    link->ucx.request_free(request);
}

static pen_post get_locked(ucx_link *link, ucx_token *token, uint64_t address, ucp_rkey_h key,
                           void *local, size_t len)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_get,
        .user_data = token,
    };
    ucs_status_ptr_t result =
        link->ucx.get(link->ep[token->peer], local, len, address, key, &param);
    if (UCS_PTR_IS_ERR(result))
        return refused(link, token, UCS_PTR_STATUS(result));
    if (result != NULL)
        return PEN_POST_PENDING;
    token_give(link, token); /* the data is here */
    return PEN_POST_DONE;
}

static pen_post get(pen_link *base, pen_peer from, uint64_t offset, pen_rkey key, void *local,
                    pen_region *region, size_t len, pen_op *op)
{
    (void)region;
    ucx_link *link = ucx_of(base);
    const ucx_rkey *rkey = rkey_of(key);
    pen_post answer;
    pen_lock_take(&link->lock);
    ucx_token *token = token_take(link, from, op, &answer);
    if (token != NULL)
        answer = get_locked(link, token, rkey->base + offset, rkey->of_ucx, local, len);
    pen_lock_drop(&link->lock);
    return answer;
}

/* ---- ending ---------------------------------------------------------------------------------- */

unsigned ucx_end_ops(ucx_link *link)
{
    unsigned count = 0;
    while (link->ended != NULL) {
        ucx_token *token = link->ended;
        pen_op *op = token->op;
        link->ended = token->next;
        token_give(link, token);
        pen_lock_drop(&link->lock);
        pen_op_done(op);
        pen_lock_take(&link->lock);
        count++;
    }
    return count;
}

const pen_rma_ops ucx_rma = {
    .register_region = register_region,
    .deregister_region = deregister_region,
    .export_region = export_region,
    .import_region = import_region,
    .release_region = release_region,
    .put = put,
    .get = get,
};
