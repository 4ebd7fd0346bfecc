/* SPDX-License-Identifier: BSD-3-Clause */
/* window_open.c: divides an inbox among peers and lanes, and makes the window around a link. */
#include "link/window_internal.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "credit/constants.h"
#include "credit/credit.h"
#include "diag/log.h"
#include "os/lock.h"

#include <errno.h>
#include <string.h>

enum {
    UNIT_LEN_LEAST = 256,  /* one credit stands for at least this many bytes */
    QUOTA_MAX = 0x7fff,    /* a word carries any grant */
    FRAME_MAX_LEAST = 512, /* a link that takes less is of no use to the engine */
};

void window_free(window_link *link)
{
    const pen_host *host = link->pass.base.host;
    pen_lanes_close(&link->kept);
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        pen_host_release(host, link->lanes[lane].memory);
    pen_host_release(host, link->peer);
    pen_turns_close(&link->debts, host);
    host->release(host->ctx, link);
}

/* The most units that a frame may need with this quota. A receiver may hold back credits up to one
 * less than the threshold, so a longer frame might wait without end. */
static uint32_t units_max(uint32_t quota)
{
    return quota - (PEN_CREDIT_THRESHOLD(quota, PEN_WINDOW_CONTROL) - 1);
}

/* The least quota with which a frame of this many units never waits without end. */
static uint32_t quota_for(uint32_t units)
{
    uint32_t quota = PEN_CREDIT_QUOTA_MIN(PEN_WINDOW_CONTROL);
    while (units_max(quota) < units)
        quota++;
    return quota;
}

/* Credits that a peer of a lending link begins with: the paper's 170 of 570 for each. */
static uint32_t start_for(uint32_t quota, uint32_t least)
{
    uint32_t start = quota * 3 / 10;
    if (start > PEN_CREDIT_LOAN_QUOTA)
        start = PEN_CREDIT_LOAN_QUOTA;
    return start > least ? start : least;
}

/* least: quota with which the longest frame passes; 0: nothing is lent in this lane */
static bool open_lane(window_link *link, window_lane *lane, uint32_t quota, uint32_t least)
{
    const pen_host *host = link->pass.base.host;
    pen_credit_params params = {
        .policy = PEN_CREDIT_STATIC,
        .peers = link->peers,
        .quota = quota < QUOTA_MAX ? quota : QUOTA_MAX,
        .control = PEN_WINDOW_CONTROL,
        .step = 1,
        .hysteresis = 1,
        .epoch = PEN_CREDIT_EPOCH_DEFAULT,
        .one_way = true, /* a lane is drained whatever the rest of the lanes do */
    };
    if (least != 0) {
        params.policy = PEN_CREDIT_LOAN;
        params.least = least;
        params.start = start_for(params.quota, least);
    }
    size_t sender_len = pen_align_up(pen_credit_sender_size(&params), _Alignof(max_align_t));
    lane->memory = host->alloc(host->ctx, sender_len + pen_credit_receiver_size(&params),
                               _Alignof(max_align_t));
    if (lane->memory == NULL)
        return false;
    lane->sender = pen_credit_sender_open(lane->memory, &params);
    lane->receiver = pen_credit_receiver_open((char *)lane->memory + sender_len, &params);
    return true;
}

/* Divides the units of each peer among the lanes. */
static bool open_lanes(window_link *link, uint32_t units, uint32_t units_frame)
{
    uint32_t control = quota_for(units_frame), rest = (units - control) / 2;
    uint32_t least = link->lends ? control : 0;
    return open_lane(link, &link->lanes[PEN_LANE_REQUEST], rest, least) &&
           open_lane(link, &link->lanes[PEN_LANE_REPLY], rest, least) &&
           open_lane(link, &link->lanes[PEN_LANE_CONTROL], control, 0);
}

static bool open_peers(window_link *link)
{
    const pen_host *host = link->pass.base.host;
    link->peer = pen_host_alloc_zeroed(host, link->peers * sizeof *link->peer);
    return link->peer != NULL && pen_turns_open(&link->debts, host, link->peers);
}

/* The longest body that a frame of this many units can have, with any head. */
static uint32_t body_max(const pen_caps *caps, uint32_t unit_len, uint32_t units)
{
    size_t len = (size_t)unit_len * units, rest = PEN_FRAME_HEAD_COUNTED_MAX + caps->frame_overhead;
    if (caps->frame_grain > 1)
        len = len / caps->frame_grain * caps->frame_grain;
    if (len < rest)
        return 0;
    return len - rest < caps->frame_max ? (uint32_t)(len - rest) : caps->frame_max;
}

static pen_link link_made(const pen_link *inner, const pen_host *host, uint32_t frame_max)
{
    pen_link link = { .ops = &window_ops,
                      .rma = inner->rma != NULL ? &pen_passing_rma : NULL,
                      .amo = inner->amo != NULL ? &pen_passing_amo : NULL,
                      .wait = inner->wait != NULL ? &pen_passing_wait : NULL,
                      .due = &window_due,
                      .behind = inner->behind != NULL ? &window_behind : NULL,
                      .count = &window_count,
                      .host = host,
                      .caps = inner->caps,
                      .self = inner->self };
    link.caps.frame_max = frame_max;
    if (link.caps.frame_copy_max > frame_max)
        link.caps.frame_copy_max = frame_max;
    link.caps.inbox_len = link.caps.frame_overhead = link.caps.frame_grain = 0;
    link.caps.inbox_lends = false;
    return link;
}

/* The least quota for the longest frame. */
static uint32_t units_frame_least(const window_link *link, uint32_t frame_max)
{
    return quota_for(window_units(link, (size_t)frame_max + PEN_FRAME_HEAD_COUNTED_MAX));
}

static pen_status say_too_small(const pen_host *host, const pen_caps *caps, pen_peer peers)
{
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot count credits for %u ranks: an inbox of %zu bytes does not hold three frames "
              "of %d bytes from each of them in each lane; give the conduit more memory, or choose "
              "another with PENSTOCK_CONDUIT",
              peers, caps->inbox_len, FRAME_MAX_LEAST);
    return PEN_ERR_UNUSABLE;
}

static pen_status say_no_memory(const pen_host *host, pen_peer peers)
{
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot count credits for %u ranks: aligned_alloc: %s; free some memory", peers,
              strerror(errno));
    return PEN_ERR_MEMORY;
}

pen_status pen_window_open(pen_link *inner, pen_host *lent, const pen_host *host, pen_peer peers,
                           pen_concurrency concurrency, pen_link **out)
{
    const pen_caps *caps = &inner->caps;
    uint32_t unit_len = caps->frame_grain > UNIT_LEN_LEAST ? caps->frame_grain : UNIT_LEN_LEAST;
    uint64_t share = caps->inbox_len / unit_len / peers;
    uint32_t units = share < UINT16_MAX ? (uint32_t)share : UINT16_MAX;
    uint32_t units_frame = units >= PEN_LANES ? units_max(units / PEN_LANES) : 0;
    uint32_t frame_max = body_max(caps, unit_len, units_frame);
    if (units / PEN_LANES < PEN_CREDIT_QUOTA_MIN(PEN_WINDOW_CONTROL) || frame_max < FRAME_MAX_LEAST)
        return say_too_small(host, caps, peers);
    window_link *link = (window_link *)host->alloc(host->ctx, sizeof *link, _Alignof(window_link));
    if (link == NULL)
        return say_no_memory(host, peers);
    memset(link, 0, sizeof *link);
    link->pass.base = link_made(inner, host, frame_max);
    link->pass.inner = inner;
    link->unit_len = unit_len;
    link->overhead = caps->frame_overhead;
    link->grain = caps->frame_grain;
    /* A word cannot carry larger numbers; then no peer needs a loan. */
    link->lends = caps->inbox_lends && units_frame_least(link, frame_max) <= PEN_CREDIT_LOAN_QUOTA;
    link->peers = peers;
    pen_lock_init(&link->pass.lock, concurrency);
    pen_lanes_init(&link->kept, host->alloc, host->release, host->ctx);
    uint32_t longest = window_units(link, (size_t)frame_max + PEN_FRAME_HEAD_COUNTED_MAX);
    if (!open_peers(link) || !open_lanes(link, units, longest)) {
        window_free(link);
        return say_no_memory(host, peers);
    }
    pen_host_intercept(&link->lender, link->pass.base.host, link, window_deliver, lent);
    *out = &link->pass.base;
    return PEN_OK;
}
