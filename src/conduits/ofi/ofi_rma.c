/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_rma.c: puts and gets by libfabric's remote memory access.
 *
 * A put has landed when libfabric reports it with delivery complete; a plain completion tells only
 * that its source is free. A put whose op is `local` needs no more, because a frame behind it
 * follows on the same endpoint, and the provider keeps that order. Short sources are copied, so
 * that they are free at once. */
#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/ofi/ofi.h"
#include "diag/log.h"
#include "link/netlib.h"
#include "os/lock.h"
#include "os/os.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdint.h>
#include <string.h>

enum {
    KEY_TRIES = 16, /* random keys that are tried for a region */
    CHECK_LEN = 64 * 1024,
};
#define CHECK_NS UINT64_C(5000000000)

struct pen_region {
    struct fid_mr *mr;
    uint64_t key, base; /* base: what the provider's addresses of the region begin with */
};

typedef struct ofi_key { /* as it is exported, and as it is kept once it is imported */
    uint64_t key, base;
} ofi_key;
_Static_assert(sizeof(ofi_key) == OFI_KEY_LEN, "an exported key");

/* ---- regions --------------------------------------------------------------------------------- */

/* Draws a key. A stranger would have to guess it. Some providers take short keys only. */
static uint64_t draw_key(const ofi_link *link)
{
    const size_t len = link->info->domain_attr->mr_key_size;
    uint64_t key;
    pen_random(&key, sizeof key);
    return len == 0 || len >= sizeof key ? key : key & ((UINT64_C(1) << 8 * len) - 1);
}

static int register_with_key(const ofi_link *link, void *addr, size_t len, struct fid_mr **out)
{
    const uint64_t rights = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    int error = -FI_ENOKEY;
    for (unsigned i = 0; error == -FI_ENOKEY && i < KEY_TRIES; i++)
        error = fi_mr_reg(link->domain, addr, len, rights, 0, draw_key(link), 0, out, NULL);
    return error;
}

/* Some providers want to know the endpoint of a region. */
static int enable(const ofi_link *link, struct fid_mr *mr)
{
    if ((link->info->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0)
        return 0;
    const int error = fi_mr_bind(mr, &link->ep->fid, 0);
    return error == 0 ? fi_mr_enable(mr) : error;
}

static int region_open(const ofi_link *link, void *addr, size_t len, pen_region *region)
{
    int error = register_with_key(link, addr, len, &region->mr);
    if (error != 0)
        return error;
    error = enable(link, region->mr);
    region->key = fi_mr_key(region->mr);
    if (error == 0 && region->key == FI_KEY_NOTAVAIL)
        error = -FI_ENOKEY; /* the provider has keys of another form */
    if (error != 0)
        (void)fi_close(&region->mr->fid);
    const bool has_addresses = (link->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    region->base = has_addresses ? (uint64_t)(uintptr_t)addr : 0;
    return error;
}

static pen_status register_region(pen_link *base, void *addr, size_t len, pen_region **out)
{
    ofi_link *link = ofi_of(base);
    const pen_host *host = base->host;
    pen_region *region = host->alloc(host->ctx, sizeof *region, _Alignof(pen_region));
    if (region == NULL)
        return PEN_ERR_MEMORY;
    pen_lock_take(&link->lock);
    const int error = region_open(link, addr, len, region);
    pen_lock_drop(&link->lock);
    if (error == 0) {
        *out = region;
        return PEN_OK;
    }
    host->release(host->ctx, region);
    host->log(host->ctx, PEN_LOG_WARN,
              "libfabric cannot register a segment of %zu bytes: fi_mr_reg: %s; puts and gets "
              "there go by messages; \"ulimit -l\" may be too small",
              len, link->ofi.error_text(-error));
    return PEN_ERR_RESOURCE;
}

static void deregister_region(pen_link *base, pen_region *region)
{
    ofi_link *link = ofi_of(base);
    pen_lock_take(&link->lock);
    (void)fi_close(&region->mr->fid);
    pen_lock_drop(&link->lock);
    base->host->release(base->host->ctx, region);
}

static pen_status export_region(pen_link *base, const pen_region *region, void *blob)
{
    (void)base;
    const ofi_key key = { .key = region->key, .base = region->base };
    memcpy(blob, &key, sizeof key);
    return PEN_OK;
}

static pen_status import_region(pen_link *base, pen_peer peer, const void *blob, pen_rkey *out)
{
    (void)peer;
    ofi_key *key = base->host->alloc(base->host->ctx, sizeof *key, _Alignof(ofi_key));
    if (key == NULL)
        return PEN_ERR_MEMORY;
    memcpy(key, blob, sizeof *key);
    *out = (pen_rkey)(uintptr_t)key;
    return PEN_OK;
}

static ofi_key *key_of(pen_rkey key) { return (ofi_key *)(uintptr_t)key; }

static void release_region(pen_link *base, pen_peer peer, pen_rkey key)
{
    (void)peer;
    base->host->release(base->host->ctx, key_of(key));
}

/* ---- tokens: puts and gets under way --------------------------------------------------------- */

bool ofi_tokens_open(ofi_link *link)
{
    const pen_host *host = link->base.host;
    link->last_delayed = &link->first_delayed;
    link->delayed = host->alloc(host->ctx, link->net.peers * sizeof *link->delayed, PEN_CACHE_LINE);
    if (link->delayed == NULL)
        return false;
    memset(link->delayed, 0, link->net.peers * sizeof *link->delayed);
    link->tokens = host->alloc(host->ctx, OFI_TOKENS * sizeof *link->tokens, _Alignof(ofi_token));
    for (unsigned i = 0; link->tokens != NULL && i < OFI_TOKENS; i++) {
        link->tokens[i].next = link->free_tokens;
        link->free_tokens = &link->tokens[i];
    }
    return link->tokens != NULL;
}

ofi_token *ofi_token_of(const ofi_link *link, void *context)
{
    const uintptr_t at = (uintptr_t)context - (uintptr_t)link->tokens;
    return link->tokens != NULL && at < OFI_TOKENS * sizeof *link->tokens ? context : NULL;
}

static ofi_token *token_take(ofi_link *link, pen_peer peer)
{
    ofi_token *token = link->free_tokens;
    if (token == NULL)
        return NULL;
    link->free_tokens = token->next;
    token->peer = peer;
    return token;
}

static void token_give(ofi_link *link, ofi_token *token)
{
    token->next = link->free_tokens;
    link->free_tokens = token;
}

pen_op *ofi_token_end(ofi_link *link, ofi_token *token, bool has_failed)
{
    pen_op *op = has_failed || link->is_closing ? NULL : token->op;
    link->tokens_out--;
    if (has_failed)
        pen_net_lose(&link->net, token->peer);
    if (op != NULL && token->is_source_busy)
        pen_op_source_done(op);
    token_give(link, token);
    return op;
}

/* ---- moving memory --------------------------------------------------------------------------- */

/* Returns libfabric's error, or 0. */
static ssize_t start(const ofi_link *link, ofi_token *token)
{
    const fi_addr_t peer = link->address[token->peer];
    if (!token->is_put)
        return fi_read(link->ep, token->local, token->remote.len, NULL, peer, token->remote.addr,
                       token->remote.key, &token->context);
    const struct iovec part = { .iov_base = token->local, .iov_len = token->remote.len };
    const struct fi_msg_rma message = { .msg_iov = &part,
                                        .iov_count = 1,
                                        .addr = peer,
                                        .rma_iov = &token->remote,
                                        .rma_iov_count = 1,
                                        .context = &token->context };
    const uint64_t landed = token->must_land ? FI_DELIVERY_COMPLETE : 0;
    return fi_writemsg(link->ep, &message, FI_COMPLETION | landed);
}

/* A put or get for which libfabric has no room waits in the link. So a peer that does not poll, and
 * has not yet accepted a connection, keeps nobody waiting. */
static void wait_in_link(ofi_link *link, ofi_token *token)
{
    token->next = NULL;
    *link->last_delayed = token;
    link->last_delayed = &token->next;
    link->delayed[token->peer]++;
}

/* Returns false if the peer is lost. */
static bool start_or_wait(ofi_link *link, ofi_token *token)
{
    const ssize_t result = start(link, token);
    if (result == 0)
        link->tokens_out++;
    else if (result == -FI_EAGAIN)
        wait_in_link(link, token);
    else {
        pen_net_lose(&link->net, token->peer);
        token_give(link, token);
        return false;
    }
    return true;
}

void ofi_delayed_start(ofi_link *link)
{
    for (unsigned i = 0; i < OFI_RETRIES && link->first_delayed != NULL; i++) {
        ofi_token *token = link->first_delayed;
        link->first_delayed = token->next;
        if (link->first_delayed == NULL)
            link->last_delayed = &link->first_delayed;
        link->delayed[token->peer]--;
        (void)start_or_wait(link, token);
    }
}

/* Short sources are copied. The op of a put that needs no more than that is over at once. */
static pen_post put_locked(ofi_link *link, ofi_token *token, const void *local, pen_op *op)
{
    const bool is_copied = token->remote.len <= OFI_COPY_MAX, is_over = is_copied && op->local;
    token->is_put = true;
    token->must_land = !op->local;
    token->is_source_busy = !is_copied;
    token->op = is_over ? NULL : op;
    token->local = is_copied ? token->copy : (void *)(uintptr_t)local;
    if (is_copied)
        memcpy(token->copy, local, token->remote.len);
    if (!start_or_wait(link, token))
        return PEN_POST_FAILED;
    if (is_copied && !is_over)
        pen_op_source_done(op);
    return is_over ? PEN_POST_DONE : PEN_POST_PENDING;
}

static pen_post get_locked(ofi_link *link, ofi_token *token, void *local, pen_op *op)
{
    token->is_put = false;
    token->is_source_busy = true;
    token->op = op;
    token->local = local;
    return start_or_wait(link, token) ? PEN_POST_PENDING : PEN_POST_FAILED;
}

/* Takes a token for a put or get at this place. Returns NULL and the answer if there is none. */
static ofi_token *begin(ofi_link *link, pen_peer peer, uint64_t offset, pen_rkey rkey, size_t len,
                        pen_post *answer)
{
    const ofi_key *key = key_of(rkey);
    const bool is_lost = pen_net_is_lost(&link->net, peer);
    ofi_token *token = is_lost ? NULL : token_take(link, peer);
    *answer = is_lost ? PEN_POST_FAILED : PEN_POST_AGAIN;
    if (token != NULL)
        token->remote =
            (struct fi_rma_iov){ .addr = key->base + offset, .len = len, .key = key->key };
    return token;
}

static pen_post put(pen_link *base, pen_peer to, uint64_t offset, pen_rkey key, const void *local,
                    pen_region *region, size_t len, pen_op *op)
{
    (void)region;
    ofi_link *link = ofi_of(base);
    pen_post answer;
    pen_lock_take(&link->lock);
    ofi_token *token = begin(link, to, offset, key, len, &answer);
    if (token != NULL)
        answer = put_locked(link, token, local, op);
    pen_lock_drop(&link->lock);
    return answer;
}

static pen_post get(pen_link *base, pen_peer from, uint64_t offset, pen_rkey key, void *local,
                    pen_region *region, size_t len, pen_op *op)
{
    (void)region;
    ofi_link *link = ofi_of(base);
    pen_post answer;
    pen_lock_take(&link->lock);
    ofi_token *token = begin(link, from, offset, key, len, &answer);
    if (token != NULL)
        answer = get_locked(link, token, local, op);
    pen_lock_drop(&link->lock);
    return answer;
}

const pen_rma_ops ofi_rma = {
    .register_region = register_region,
    .deregister_region = deregister_region,
    .export_region = export_region,
    .import_region = import_region,
    .release_region = release_region,
    .put = put,
    .get = get,
};

/* The provider keeps a frame behind the puts that it has. */
static pen_post post_behind(pen_link *base, pen_peer to, pen_lane lane, const void *head,
                            uint32_t head_len)
{
    ofi_link *link = ofi_of(base);
    const pen_frame frame = { .head = head, .head_len = head_len };
    pen_lock_take(&link->lock);
    const bool is_early = link->delayed[to] != 0;
    const pen_post answer = is_early ? PEN_POST_AGAIN : ofi_post_locked(link, to, lane, &frame);
    pen_lock_drop(&link->lock);
    return answer;
}

const pen_behind_ops ofi_behind = { .post = post_behind };

/* ---- the check ------------------------------------------------------------------------------- */

/* Begins the put of the check, and waits until it is reported. Returns false if it failed, or if
 * nothing came; then libfabric may still use the token. */
static bool check_put(ofi_link *link, ofi_token *token)
{
    const pen_host *host = link->base.host;
    const uint64_t end_ns = host->now_ns(host->ctx) + CHECK_NS;
    struct fi_cq_data_entry entry;
    ssize_t count = start_or_wait(link, token) ? -FI_EAGAIN : -FI_EOTHER;
    while (count == -FI_EAGAIN && host->now_ns(host->ctx) < end_ns) {
        ofi_delayed_start(link);
        count = fi_cq_read(link->sent, &entry, 1);
    }
    if (count == 1)
        (void)ofi_token_end(link, token, false);
    return count == 1;
}

const char *ofi_rma_check(ofi_link *link)
{
    const pen_host *host = link->base.host;
    unsigned char *memory = host->alloc(host->ctx, 2 * (size_t)CHECK_LEN, OFI_PAGE);
    if (memory == NULL)
        return "there is no memory to check it";
    link->check_memory = memory;
    for (size_t i = 0; i < 2 * (size_t)CHECK_LEN; i++)
        memory[i] = (unsigned char)(i < CHECK_LEN ? 0 : i * 7 + i / 251);
    pen_region region;
    if (region_open(link, memory, CHECK_LEN, &region) != 0)
        return "it registers no memory";
    link->check = region.mr;
    ofi_token *token = token_take(link, link->base.self);
    token->remote = (struct fi_rma_iov){ .addr = region.base, .len = CHECK_LEN, .key = region.key };
    token->local = memory + CHECK_LEN;
    token->op = NULL;
    token->is_put = token->must_land = true;
    if (!check_put(link, token))
        return "a put to the own rank failed";
    return memcmp(memory, token->local, CHECK_LEN) == 0
               ? NULL
               : "it reported a put before the data had landed";
}
