/* SPDX-License-Identifier: BSD-3-Clause */
/* loop.c: the conduit of a job of one rank, which receives the frames that it sends. It needs
 * nothing from the machine, and it is the smallest conduit that is complete:
 * docs/design/write-a-conduit.md walks through it.
 *
 * Each lane is a ring of slots with one writer (the thread that holds the link's post lock) and
 * one reader (the thread that holds its poll lock). Each kind of frame has a lane of its own, so
 * that a reply finds room no matter how many requests wait. */
#include "conduit/conduit.h"

#include "base/compiler.h"
#include "base/status.h"
#include "diag/log.h"

#include <errno.h>
#include <string.h>

enum { LOOP_SLOTS = 16, LOOP_BODY_MAX = 65536 };

typedef struct loop_slot {
    uint64_t head[PEN_FRAME_HEAD_MAX / 8];
    uint32_t head_len, body_len;
    _Alignas(PEN_CACHE_LINE) char body[LOOP_BODY_MAX];
} loop_slot;

typedef struct loop_lane {
    PEN_CACHE_ALIGNED _Atomic uint32_t written; /* frames ever posted; only post changes it    */
    PEN_CACHE_ALIGNED _Atomic uint32_t read;    /* frames ever delivered; only poll changes it */
    loop_slot slots[LOOP_SLOTS];
} loop_lane;

typedef struct loop_link {
    pen_link base; /* first: the engine sees a pen_link */
    loop_lane lanes[PEN_LANES];
} loop_link;

static loop_link *loop_of(pen_link *link) { return (loop_link *)(void *)link; }

/* ---- the five calls every conduit has ------------------------------------------------------- */

static void loop_close(pen_link *link)
{
    const pen_host *host = link->host; /* read first: the link is about to go */
    host->release(host->ctx, link);
}

static pen_status loop_address(pen_link *link, void *blob)
{
    (void)link, (void)blob; /* caps.addr_len is 0: there is nothing to tell */
    return PEN_OK;
}

static pen_status loop_connect(pen_link *link, const void *blobs, pen_peer count)
{
    (void)link, (void)blobs;
    return count == 1 ? PEN_OK : PEN_ERR_ARGUMENT;
}

static pen_post loop_post(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                          pen_op *op)
{
    loop_lane *ring = &loop_of(link)->lanes[lane];
    (void)to; /* there is only us */
    (void)op; /* all is copied now, so nothing is ever PENDING */

    /* relaxed: only post writes it, and posts exclude each other */
    uint32_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    /* acquire: pairs with the release in deliver_lane(); the slot's last reader is done with it */
    if (written - atomic_load_explicit(&ring->read, memory_order_acquire) == LOOP_SLOTS)
        return PEN_POST_AGAIN;

    loop_slot *slot = &ring->slots[written % LOOP_SLOTS];
    slot->head_len = frame->head_len;
    slot->body_len = frame->body_len;
    memcpy(slot->head, frame->head, frame->head_len);
    if (frame->body_len != 0) /* the body may be NULL then */
        memcpy(slot->body, frame->body, frame->body_len);
    /* release: pairs with the acquire in deliver_lane(); the slot is filled before it is seen */
    atomic_store_explicit(&ring->written, written + 1, memory_order_release);
    return PEN_POST_DONE;
}

static unsigned deliver_lane(pen_link *link, pen_lane lane, unsigned budget)
{
    loop_lane *ring = &loop_of(link)->lanes[lane];
    const pen_host *host = link->host;
    unsigned count = 0;
    uint32_t read = atomic_load_explicit(&ring->read, memory_order_relaxed); /* ours alone */
    while (count < budget && read != atomic_load_explicit(&ring->written, memory_order_acquire)) {
        loop_slot *slot = &ring->slots[read % LOOP_SLOTS];
        host->deliver(host->ctx, link->self, lane, slot->head, slot->head_len,
                      slot->body_len == 0 ? NULL : slot->body, slot->body_len);
        /* Only now: the handler ran on the slot's memory. */
        atomic_store_explicit(&ring->read, ++read, memory_order_release);
        count++;
    }
    return count;
}

static unsigned loop_poll(pen_link *link, unsigned lanes, unsigned budget)
{
    unsigned count = 0;
    for (unsigned lane = PEN_LANES;
         lane-- > 0;) /* control, then replies: they free what others hold */
        if ((lanes & PEN_LANE_BIT(lane)) != 0 && count < budget)
            count += deliver_lane(link, (pen_lane)lane, budget - count);
    return count;
}

/* ---- the registry entry --------------------------------------------------------------------- */

static int loop_score(pen_peer peers, const char **why)
{
    if (peers == 1)
        return 2; /* lowest score: any other conduit also serves a job of one rank */
    *why = "it moves frames within one process; it serves jobs of one rank only";
    return 0;
}

static size_t loop_shared_len(pen_peer peers, const void *config)
{
    (void)peers, (void)config;
    return 0;
}

static const pen_link_ops loop_ops = {
    .close = loop_close,
    .address = loop_address,
    .connect = loop_connect,
    .post = loop_post,
    .poll = loop_poll,
};

static pen_status loop_open(const pen_link_params *params, pen_link **out)
{
    const pen_host *host = params->host;
    if (params->peers != 1) {
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot open the loop conduit: it serves one rank, this job has %u; choose another "
            "with PENSTOCK_CONDUIT",
            params->peers);
        return PEN_ERR_UNUSABLE;
    }
    loop_link *link = (loop_link *)host->alloc(host->ctx, sizeof(*link), PEN_CACHE_LINE);
    if (link == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the loop conduit: aligned_alloc of %zu bytes: %s; free some memory",
                  sizeof(*link), strerror(errno));
        return PEN_ERR_MEMORY;
    }
    link->base = (pen_link){
        .ops = &loop_ops,
        .host = host,
        .self = params->self,
        .caps = { .flags = PEN_CAP_RELIABLE | PEN_CAP_SAME_HOST,
                  .frame_max = LOOP_BODY_MAX,
                  .frame_copy_max = LOOP_BODY_MAX,
                  .frame_grain = sizeof(loop_slot) },
    };
    for (unsigned lane = 0; lane < PEN_LANES;
         lane++) { /* not the slots: their pages may stay untouched */
        atomic_init(&link->lanes[lane].written, 0);
        atomic_init(&link->lanes[lane].read, 0);
    }
    *out = &link->base;
    return PEN_OK;
}

const pen_conduit pen_conduit_loop = {
    .abi = PEN_CONDUIT_ABI,
    .name = "loop",
    .summary = "a rank's frames to itself; jobs of one rank",
    .score = loop_score,
    .shared_len = loop_shared_len,
    .open = loop_open,
};
