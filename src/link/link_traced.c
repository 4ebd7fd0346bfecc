/* SPDX-License-Identifier: BSD-3-Clause */
/* link_traced.c: a link around a link, which traces what is sent and polled. */
#include "link/traced.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "link/passing.h"
#include "os/lock.h"
#include "trace/event.h"
#include "trace/ring.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct traced {
    pen_passing pass; /* first */
    pen_traced_params params;
    uint32_t *sent;    /* frames, by lane and peer; guarded by the post lock, like the next */
    uint64_t *stalled; /* when a frame first found no room; 0: the last one found room */
    uint64_t polled_at;
    uint64_t resent; /* the counter's value at the last poll */
} traced;

static traced *traced_of(pen_link *link) { return (traced *)(void *)link; }

static size_t row(const traced *link, pen_peer to, pen_lane lane)
{
    return (size_t)lane * link->params.peers + to;
}

/* ---- what is sent ---------------------------------------------------------------------------- */

/* A frame that had found no room has found some. */
static PEN_COLD void note_stall(traced *link, pen_peer to, pen_lane lane, uint64_t now)
{
    uint64_t *since = &link->stalled[row(link, to, lane)];
    const pen_trace_event event = { .at = *since,
                                    .span = pen_trace_pack(now - *since),
                                    .kind = PEN_TRACE_STALL,
                                    .detail = (uint8_t)lane,
                                    .peer = link->params.first + to };
    pen_trace_write(link->params.trace, &event);
    *since = 0;
}

static void note_sent(traced *link, pen_peer to, pen_lane lane, const void *head, uint32_t body_len,
                      uint64_t at)
{
    size_t i = row(link, to, lane);
    uint64_t first;
    memcpy(&first, head, sizeof first);
    if (pen_unlikely(link->stalled[i] != 0))
        note_stall(link, to, lane, at);
    pen_trace_event event =
        pen_trace_frame(PEN_TRACE_SENT, first, link->params.first + to, link->sent[i]++, body_len);
    event.at = at;
    if (event.number % PEN_TRACE_TIMED == 0)
        event.span = pen_trace_pack(pen_trace_ticks() - at);
    pen_trace_write(link->params.trace, &event);
}

/* Notes the result of a post that began at `at`. */
static void note_post(traced *link, pen_peer to, pen_lane lane, const void *head, uint32_t body_len,
                      uint64_t at, pen_post result)
{
    uint64_t *since = &link->stalled[row(link, to, lane)];
    if (pen_likely(result == PEN_POST_DONE || result == PEN_POST_PENDING))
        note_sent(link, to, lane, head, body_len, at);
    else if (result == PEN_POST_AGAIN && *since == 0)
        *since = at;
}

static pen_post traced_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                            pen_op *op)
{
    traced *link = traced_of(base);
    pen_link *inner = link->pass.inner;
    inner->may_gather = base->may_gather;
    uint64_t at = pen_trace_ticks();
    pen_post result = inner->ops->post(inner, to, lane, frame, op);
    note_post(link, to, lane, frame->head, frame->body_len, at, result);
    return result;
}

static pen_post traced_post_behind(pen_link *base, pen_peer to, pen_lane lane, const void *head,
                                   uint32_t head_len)
{
    traced *link = traced_of(base);
    pen_link *inner = link->pass.inner;
    uint64_t at = pen_trace_ticks();
    pen_post result = inner->behind->post(inner, to, lane, head, head_len);
    note_post(link, to, lane, head, 0, at, result);
    return result;
}

static void *traced_reserve(pen_link *base, pen_peer to, pen_lane lane, uint32_t body_len_max)
{
    const traced *link = traced_of(base);
    return link->pass.inner->zcopy->reserve(link->pass.inner, to, lane, body_len_max);
}

static void traced_commit(pen_link *base, pen_peer to, pen_lane lane, void *body, const void *head,
                          uint32_t head_len, uint32_t body_len)
{
    traced *link = traced_of(base);
    uint64_t at = pen_trace_ticks();
    link->pass.inner->zcopy->commit(link->pass.inner, to, lane, body, head, head_len, body_len);
    note_sent(link, to, lane, head, body_len, at);
}

static void traced_cancel(pen_link *base, pen_peer to, pen_lane lane, void *body)
{
    const traced *link = traced_of(base);
    link->pass.inner->zcopy->cancel(link->pass.inner, to, lane, body);
}

/* ---- polls ----------------------------------------------------------------------------------- */

static PEN_COLD void note_gap(const traced *link, uint64_t now)
{
    const pen_trace_event event = { .at = link->polled_at,
                                    .span = pen_trace_pack(now - link->polled_at),
                                    .kind = PEN_TRACE_GAP };
    pen_trace_write(link->params.trace, &event);
}

static PEN_COLD void note_resent(traced *link, uint64_t now, uint64_t resent)
{
    const pen_trace_event event = { .at = now,
                                    .kind = PEN_TRACE_RESENT,
                                    .value = resent - link->resent };
    pen_trace_write(link->params.trace, &event);
    link->resent = resent;
}

static unsigned traced_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    traced *link = traced_of(base);
    pen_link *inner = link->pass.inner;
    if (!link->params.is_first)
        return inner->ops->poll(inner, lanes, budget);
    uint64_t at = pen_trace_ticks();
    _Atomic bool *idle = &link->params.trace->idle; /* relaxed: see idle */
    if (pen_unlikely(at - link->polled_at > link->params.gap_ticks) && link->polled_at != 0 &&
        !atomic_load_explicit(idle, memory_order_relaxed))
        note_gap(link, at);
    atomic_store_explicit(idle, false, memory_order_relaxed);
    unsigned handled = inner->ops->poll(inner, lanes, budget);
    link->polled_at = handled != 0 ? pen_trace_ticks() : at;
    const pen_counters *counters = link->params.host->counters;
    if (counters != NULL) {
        /* relaxed: a statistic, which other threads may count, too */
        uint64_t resent = __atomic_load_n(&counters->frame_resent, __ATOMIC_RELAXED);
        if (pen_unlikely(resent != link->resent))
            note_resent(link, link->polled_at, resent);
    }
    return handled;
}

/* ---- calls that pass on ---------------------------------------------------------------------- */

static uint64_t traced_due_ns(pen_link *base)
{
    const traced *link = traced_of(base);
    return link->pass.inner->due->due_ns(link->pass.inner);
}

static bool traced_count(pen_link *base, pen_peer peer, pen_peer_counters *out)
{
    const traced *link = traced_of(base);
    return link->pass.inner->count->peer(link->pass.inner, peer, out);
}

static void traced_free(traced *link)
{
    const pen_host *host = link->params.host;
    if (link->sent != NULL)
        host->release(host->ctx, link->sent);
    if (link->stalled != NULL)
        host->release(host->ctx, link->stalled);
    host->release(host->ctx, link);
}

static void traced_close(pen_link *base)
{
    traced *link = traced_of(base);
    link->pass.inner->ops->close(link->pass.inner);
    traced_free(link);
}

/* ---- opening --------------------------------------------------------------------------------- */

static const pen_link_ops traced_ops = {
    .close = traced_close,
    .address = pen_passing_address,
    .connect = pen_passing_connect,
    .post = traced_post,
    .poll = traced_poll,
};
static const pen_zcopy_ops traced_zcopy = { traced_reserve, traced_commit, traced_cancel };
static const pen_due_ops traced_due = { traced_due_ns };
static const pen_behind_ops traced_behind = { traced_post_behind };
static const pen_count_ops traced_counts = { traced_count };

static void *zeros(const pen_host *host, size_t len)
{
    void *memory = host->alloc(host->ctx, len, PEN_CACHE_LINE);
    if (memory != NULL)
        memset(memory, 0, len);
    return memory;
}

static void wrap(traced *link, pen_link *inner)
{
    link->pass.base = (pen_link){
        .ops = &traced_ops,
        .rma = inner->rma != NULL ? &pen_passing_rma : NULL,
        .amo = inner->amo != NULL ? &pen_passing_amo : NULL,
        .zcopy = inner->zcopy != NULL ? &traced_zcopy : NULL,
        .wait = inner->wait != NULL ? &pen_passing_wait : NULL,
        .due = inner->due != NULL ? &traced_due : NULL,
        .behind = inner->behind != NULL ? &traced_behind : NULL,
        .count = inner->count != NULL ? &traced_counts : NULL,
        .host = link->params.host,
        .caps = inner->caps,
        .self = inner->self,
    };
    link->pass.inner = inner;
    pen_lock_init(&link->pass.lock, link->params.concurrency);
}

pen_status pen_traced_open(const pen_traced_params *params, pen_link **link)
{
    const pen_host *host = params->host;
    const size_t rows = (size_t)PEN_LANES * params->peers;
    traced *own = zeros(host, sizeof *own);
    if (own != NULL) {
        own->params = *params;
        own->sent = zeros(host, rows * sizeof *own->sent);
        own->stalled = zeros(host, rows * sizeof *own->stalled);
    }
    if (own == NULL || own->sent == NULL || own->stalled == NULL) {
        if (own != NULL)
            traced_free(own);
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot trace the messages of %u peers: aligned_alloc: there is no memory; free "
                  "some, or leave --trace out",
                  params->peers);
        return PEN_ERR_MEMORY;
    }
    wrap(own, *link);
    *link = &own->pass.base;
    return PEN_OK;
}
