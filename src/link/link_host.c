/* SPDX-License-Identifier: BSD-3-Clause */
/* link_host.c: memory of a host, and a host that passes every call on to the host above it. */
#include "link/host.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_LEN_MAX = 512 };

/* ---- memory ---------------------------------------------------------------------------------- */

void *pen_host_alloc_zeroed(const pen_host *host, size_t len)
{
    len = pen_align_up(len, PEN_CACHE_LINE);
    void *memory = host->alloc(host->ctx, len, PEN_CACHE_LINE);
    if (memory != NULL)
        memset(memory, 0, len);
    return memory;
}

void pen_host_release(const pen_host *host, void *memory)
{
    if (memory != NULL)
        host->release(host->ctx, memory);
}

void *pen_host_find_shared(const pen_host *host, size_t needed, const char *user, size_t *len)
{
    *len = 0;
    void *memory = host->shared == NULL ? NULL : host->shared(host->ctx, len);
    if (memory != NULL && *len >= needed)
        return memory;
    host->log(
        host->ctx, PEN_LOG_ERROR,
        "cannot use %s: %zu bytes of shared memory are there, %zu are needed; run all ranks on "
        "one host under one launcher, with the variables of the launcher, or choose another "
        "conduit",
        user, memory == NULL ? (size_t)0 : *len, needed);
    return NULL;
}

/* ---- calls that pass on ---------------------------------------------------------------------- */

static pen_peer peer_above(const pen_lender *lender, pen_peer peer)
{
    return peer == PEN_PEER_ANY ? peer : lender->first + peer;
}

static void lent_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head,
                         uint32_t head_len, void *body, uint32_t body_len)
{
    const pen_lender *lender = (const pen_lender *)ctx;
    const pen_host *above = lender->above;
    above->deliver(above->ctx, lender->first + from, lane, head, head_len, body, body_len);
}

static void lent_deliver_request(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    const pen_lender *lender = (const pen_lender *)ctx;
    const pen_host *above = lender->above;
    above->deliver_head[PEN_LANE_REQUEST](above->ctx, lender->first + from, head, head_len);
}

static void lent_deliver_reply(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    const pen_lender *lender = (const pen_lender *)ctx;
    const pen_host *above = lender->above;
    above->deliver_head[PEN_LANE_REPLY](above->ctx, lender->first + from, head, head_len);
}

static void lent_peer_lost(void *ctx, pen_peer peer, pen_status why)
{
    const pen_lender *lender = (const pen_lender *)ctx;
    lender->above->peer_lost(lender->above->ctx, peer_above(lender, peer), why);
}

static uint64_t lent_now_ns(void *ctx)
{
    const pen_host *above = ((const pen_lender *)ctx)->above;
    return above->now_ns(above->ctx);
}

static void lent_log(void *ctx, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void lent_log(void *ctx, int level, const char *format, ...)
{
    const pen_host *above = ((const pen_lender *)ctx)->above;
    char line[LINE_LEN_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    above->log(above->ctx, level, "%s", line);
}

static void *lent_alloc(void *ctx, size_t len, size_t align)
{
    const pen_host *above = ((const pen_lender *)ctx)->above;
    return above->alloc(above->ctx, len, align);
}

static void lent_release(void *ctx, void *memory)
{
    const pen_host *above = ((const pen_lender *)ctx)->above;
    above->release(above->ctx, memory);
}

static void *lent_shared(void *ctx, size_t *len_out)
{
    const pen_host *above = ((const pen_lender *)ctx)->above;
    return above->shared(above->ctx, len_out);
}

static void lent_wake(void *ctx, pen_peer peer)
{
    const pen_lender *lender = (const pen_lender *)ctx;
    lender->above->wake(lender->above->ctx, lender->first + peer);
}

static const _Atomic uint32_t *lent_sleeping(void *ctx, pen_peer peer)
{
    const pen_lender *lender = (const pen_lender *)ctx;
    return lender->above->sleeping(lender->above->ctx, lender->first + peer);
}

static bool lent_orderly(void *ctx)
{
    const pen_host *above = ((const pen_lender *)ctx)->above;
    return above->orderly(above->ctx);
}

void pen_host_lend(const pen_lender *lender, pen_host *out)
{
    const pen_host *above = lender->above;
    const bool has_heads = above->deliver_head[PEN_LANE_REQUEST] != NULL;
    *out = (pen_host){
        .ctx = (void *)(uintptr_t)lender,
        .deliver = lent_deliver,
        .deliver_head = { has_heads ? lent_deliver_request : NULL,
                          has_heads ? lent_deliver_reply : NULL },
        .peer_lost = lent_peer_lost,
        .now_ns = lent_now_ns,
        .log = lent_log,
        .alloc = lent_alloc,
        .release = lent_release,
        .shared = above->shared != NULL ? lent_shared : NULL,
        .wake = lent_wake,
        .sleeping = above->sleeping != NULL ? lent_sleeping : NULL,
        .orderly = lent_orderly,
        .counters = above->counters,
    };
}

void pen_host_intercept(pen_lender *lender, const pen_host *above, void *owner,
                        pen_deliver *deliver, pen_host *out)
{
    pen_lender_init(lender, above, owner);
    pen_host_lend(lender, out);
    out->deliver = deliver;
    out->deliver_head[PEN_LANE_REQUEST] = out->deliver_head[PEN_LANE_REPLY] = NULL;
}
