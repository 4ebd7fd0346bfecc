/* SPDX-License-Identifier: BSD-3-Clause */
/* link_pair.c: the pair. The engine's locks of the pair serve for both links: a post of either link
 * is made under its post lock, and both are polled under its poll lock. */
#include "link/pair.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "link/passing.h"
#include "os/lock.h"

#include <errno.h>
#include <string.h>

typedef struct pair_link {
    pen_passing pass; /* first; its inner link is the one for put and get */
    pen_link *frames;
    pen_peer peers;
} pair_link;

static pair_link *pair_of(pen_link *link) { return (pair_link *)(void *)link; }

/* ---- the five calls every link has ----------------------------------------------------------- */

static void pair_close(pen_link *base)
{
    pair_link *link = pair_of(base);
    const pen_host *host = base->host;
    link->frames->ops->close(link->frames); /* it may wait for peers that still post */
    link->pass.inner->ops->close(link->pass.inner);
    host->release(host->ctx, link);
}

/* The addresses of both links, one after the other. */
static pen_status pair_address(pen_link *base, void *blob)
{
    pair_link *link = pair_of(base);
    unsigned char *second = (unsigned char *)blob + link->frames->caps.addr_len;
    pen_status status = link->frames->ops->address(link->frames, blob);
    return status == PEN_OK ? link->pass.inner->ops->address(link->pass.inner, second) : status;
}

/* Connects one of the links, whose addresses lie at `off` of each blob. */
static pen_status connect_one(const pair_link *link, pen_link *one, const void *blobs, size_t off)
{
    const pen_host *host = link->pass.base.host;
    const size_t len = one->caps.addr_len, step = link->pass.base.caps.addr_len;
    unsigned char *own = host->alloc(host->ctx, link->peers * len + 1, _Alignof(max_align_t));
    if (own == NULL) {
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot connect a pair of links: aligned_alloc of %zu bytes: %s; free some memory",
            link->peers * len + 1, strerror(errno));
        return PEN_ERR_MEMORY;
    }
    for (pen_peer peer = 0; peer < link->peers; peer++)
        memcpy(own + peer * len, (const unsigned char *)blobs + peer * step + off, len);
    pen_status status = one->ops->connect(one, own, link->peers);
    host->release(host->ctx, own);
    return status;
}

static pen_status pair_connect(pen_link *base, const void *blobs, pen_peer count)
{
    const pair_link *link = pair_of(base);
    if (count != link->peers)
        return PEN_ERR_ARGUMENT;
    pen_status status = connect_one(link, link->frames, blobs, 0);
    return status == PEN_OK
               ? connect_one(link, link->pass.inner, blobs, link->frames->caps.addr_len)
               : status;
}

static pen_post pair_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                          pen_op *op)
{
    pen_link *frames = pair_of(base)->frames;
    frames->may_gather = base->may_gather;
    return frames->ops->post(frames, to, lane, frame, op);
}

/* The second link brings no frames; a poll ends its puts and gets, so that comes first. */
static unsigned pair_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    pair_link *link = pair_of(base);
    unsigned ended = link->pass.inner->ops->poll(link->pass.inner, lanes, budget);
    return ended + link->frames->ops->poll(link->frames, lanes, budget);
}

static const pen_link_ops pair_ops = {
    .close = pair_close,
    .address = pair_address,
    .connect = pair_connect,
    .post = pair_post,
    .poll = pair_poll,
};

/* ---- families -------------------------------------------------------------------------------- */

static int pair_fd(pen_link *base)
{
    pen_link *frames = pair_of(base)->frames;
    return frames->wait->fd(frames);
}

static bool pair_arm(pen_link *base)
{
    pen_link *frames = pair_of(base)->frames;
    return frames->wait->arm(frames);
}

static const pen_wait_ops pair_wait = { .fd = pair_fd, .arm = pair_arm };

static uint64_t pair_due_ns(pen_link *base)
{
    const pair_link *link = pair_of(base);
    uint64_t memory_ns = pen_passing_due_ns(&link->pass), frames_ns = UINT64_MAX;
    if (link->frames->due != NULL)
        frames_ns = link->frames->due->due_ns(link->frames);
    return memory_ns < frames_ns ? memory_ns : frames_ns;
}

static const pen_due_ops pair_due = { .due_ns = pair_due_ns };

static bool pair_count_peer(pen_link *base, pen_peer peer, pen_peer_counters *out)
{
    pen_link *frames = pair_of(base)->frames;
    return frames->count->peer(frames, peer, out);
}

static const pen_count_ops pair_count = { .peer = pair_count_peer };

/* ---- opening --------------------------------------------------------------------------------- */

const char *pen_pair_split(const char *name, char *frames, size_t frames_len)
{
    const char *plus = name != NULL ? strchr(name, '+') : NULL;
    if (plus == NULL || plus == name || plus[1] == '\0' || (size_t)(plus - name) >= frames_len)
        return NULL;
    memcpy(frames, name, (size_t)(plus - name));
    frames[plus - name] = '\0';
    return plus + 1;
}

/* Why the conduits cannot be a pair, or NULL. A conduit in the host arena cannot cross hosts. */
static const char *why_not_pair(const pen_conduit *frames, const pen_conduit *memory,
                                pen_peer peers, bool is_spread)
{
    if (pen_conduit_shared_len(memory, peers) == 0)
        return NULL;
    if (is_spread)
        return "the second connects the ranks of one host, and this job is on several";
    if (pen_conduit_shared_len(frames, peers) != 0)
        return "both need the host's shared memory, which one conduit of a job can have";
    return NULL;
}

pen_status pen_pair_choose(pen_log *log, const pen_conduit *frames, const char *wanted,
                           pen_peer peers, bool is_spread, const pen_conduit **out)
{
    const pen_conduit *memory = NULL;
    pen_status status = pen_conduit_choose(log, wanted, peers, &memory);
    if (status != PEN_OK)
        return status;
    const char *why_not = why_not_pair(frames, memory, peers, is_spread);
    if (why_not != NULL) {
        pen_log_error(log,
                      "cannot use conduits %s and %s as a pair: %s; choose others with "
                      "PENSTOCK_CONDUIT",
                      frames->name, memory->name, why_not);
        return PEN_ERR_UNUSABLE;
    }
    *out = memory;
    return PEN_OK;
}

/* Why the second link cannot serve, or NULL. */
static const char *why_not_memory(const pen_link *frames, const pen_link *memory)
{
    if (memory->rma == NULL)
        return "the second has no put and get";
    if ((memory->caps.flags & PEN_CAP_RELIABLE) == 0)
        return "puts of the second may be lost";
    if (frames->caps.addr_len + memory->caps.addr_len > PEN_ADDR_LEN_MAX)
        return "their addresses are too long together";
    return NULL;
}

static pen_caps caps_made(const pen_caps *frames, const pen_caps *memory)
{
    const uint32_t local = PEN_CAP_LOCAL_REGION;
    pen_caps caps = *frames;
    caps.flags = (frames->flags & ~local) | (memory->flags & local);
    caps.addr_len = frames->addr_len + memory->addr_len;
    caps.rkey_len = memory->rkey_len;
    caps.put_max = memory->put_max;
    caps.get_max = memory->get_max;
    return caps;
}

pen_status pen_pair_open(pen_link *frames, pen_link *memory, const pen_host *host, pen_peer peers,
                         pen_concurrency concurrency, pen_link **out)
{
    const char *why_not = why_not_memory(frames, memory);
    if (why_not != NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot use these two conduits as a pair: %s; choose others with "
                  "PENSTOCK_CONDUIT",
                  why_not);
        return PEN_ERR_UNUSABLE;
    }
    pair_link *link = (pair_link *)host->alloc(host->ctx, sizeof *link, _Alignof(pair_link));
    if (link == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot make a pair of links: aligned_alloc: %s; free some memory",
                  strerror(errno));
        return PEN_ERR_MEMORY;
    }
    memset(link, 0, sizeof *link);
    link->frames = frames;
    link->peers = peers;
    link->pass.inner = memory;
    pen_lock_init(&link->pass.lock, concurrency);
    bool has_timers = frames->due != NULL || memory->due != NULL;
    link->pass.base = (pen_link){ .ops = &pair_ops,
                                  .rma = &pen_passing_rma,
                                  .amo = memory->amo != NULL ? &pen_passing_amo : NULL,
                                  .wait = frames->wait != NULL ? &pair_wait : NULL,
                                  .due = has_timers ? &pair_due : NULL,
                                  .count = frames->count != NULL ? &pair_count : NULL,
                                  .host = host,
                                  .caps = caps_made(&frames->caps, &memory->caps),
                                  .self = frames->self };
    *out = &link->pass.base;
    return PEN_OK;
}
