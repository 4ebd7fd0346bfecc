/* SPDX-License-Identifier: BSD-3-Clause */
/* link_timed.c: see timed.h. */
#include "link/timed.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "link/host.h"
#include "link/passing.h"
#include "os/lock.h"
#include "virtual/machine.h"
#include "virtual/net.h"
#include "virtual/virtual.h"

#include <errno.h>
#include <string.h>

/* Polls after which a link has looked at all of its device. */
enum { POLLS_MAX = 64 };

typedef struct timed_link {
    pen_passing pass; /* first */
    pen_lender lender;
    pen_virtual *time;
    const pen_virtual_machine *machine;
    uint32_t unseen; /* packets that have arrived since a poll found nothing */
    bool is_paid;    /* the frame that found no room; guarded by the post lock */
} timed_link;

static timed_link *timed_of(pen_link *link) { return (timed_link *)(void *)link; }

/* A frame is paid for before it is posted, since its packets leave afterwards, and once, however
 * often it finds no room. */
static void pay(timed_link *link)
{
    link->time->fruitless = 0; /* the rank does more than to look */
    if (!link->is_paid)
        pen_virtual_charge(link->time, link->machine->send_message);
}

static pen_post timed_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                           pen_op *op)
{
    timed_link *link = timed_of(base);
    pen_link *inner = link->pass.inner;
    pay(link);
    pen_post result = inner->ops->post(inner, to, lane, frame, op);
    link->is_paid = result == PEN_POST_AGAIN;
    return result;
}

static pen_post timed_post_behind(pen_link *base, pen_peer to, pen_lane lane, const void *head,
                                  uint32_t head_len)
{
    timed_link *link = timed_of(base);
    pen_link *inner = link->pass.inner;
    pay(link);
    pen_post result = inner->behind->post(inner, to, lane, head, head_len);
    link->is_paid = result == PEN_POST_AGAIN;
    return result;
}

static void timed_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head,
                          uint32_t head_len, void *body, uint32_t body_len)
{
    const pen_lender *lender = ctx;
    const timed_link *link = lender->owner;
    pen_virtual_charge(link->time, link->machine->receive_message);
    pen_host_hand(lender->above, from, lane, head, head_len, body, body_len);
}

static unsigned timed_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    timed_link *link = timed_of(base);
    pen_link *inner = link->pass.inner;
    uint32_t arrived = pen_virtual_observe(link->time);
    link->unseen += arrived;
    unsigned count = inner->ops->poll(inner, lanes, budget), polls = 1;
    /* A link may look at a part of its device only once in many polls, and a rank that waits polls
     * again only when something arrives. */
    while (count == 0 && link->unseen != 0 && polls++ < POLLS_MAX)
        count = inner->ops->poll(inner, lanes, budget);
    if (count == 0)
        link->unseen = 0;
    if (arrived == 0 && link->time->is_full)
        pen_virtual_await_room(link->time); /* the link would try again at every poll */
    else if (count == 0)
        pen_virtual_look_was_empty(link->time);
    else
        link->time->fruitless = 0;
    return count;
}

static void timed_close(pen_link *base)
{
    timed_link *link = timed_of(base);
    const pen_host *host = base->host;
    link->pass.inner->ops->close(link->pass.inner);
    host->release(host->ctx, link);
}

static uint64_t timed_due_ns(pen_link *base) { return pen_passing_due_ns(&timed_of(base)->pass); }

static bool timed_count_peer(pen_link *base, pen_peer peer, pen_peer_counters *out)
{
    pen_link *inner = timed_of(base)->pass.inner;
    return inner->count->peer(inner, peer, out);
}

static const pen_link_ops timed_ops = {
    .close = timed_close,
    .address = pen_passing_address,
    .connect = pen_passing_connect,
    .post = timed_post,
    .poll = timed_poll,
};
static const pen_behind_ops timed_behind = { .post = timed_post_behind };
static const pen_due_ops timed_due = { .due_ns = timed_due_ns };
static const pen_count_ops timed_count = { .peer = timed_count_peer };

pen_status pen_timed_open(pen_link *inner, pen_host *lent, const pen_host *host,
                          struct pen_virtual *time, pen_concurrency concurrency, pen_link **out)
{
    timed_link *link = host->alloc(host->ctx, sizeof *link, _Alignof(max_align_t));
    if (link == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open a link in virtual time: aligned_alloc of %zu bytes: %s; free some "
                  "memory",
                  sizeof *link, strerror(ENOMEM));
        return PEN_ERR_MEMORY;
    }
    memset(link, 0, sizeof *link);
    link->pass.base = (pen_link){ .ops = &timed_ops,
                                  .rma = inner->rma != NULL ? &pen_passing_rma : NULL,
                                  .behind = inner->behind != NULL ? &timed_behind : NULL,
                                  .due = inner->due != NULL ? &timed_due : NULL,
                                  .count = inner->count != NULL ? &timed_count : NULL,
                                  .host = host,
                                  .caps = inner->caps,
                                  .self = inner->self };
    link->pass.inner = inner;
    link->time = time;
    link->machine = pen_virtual_net_machine(&time->net);
    pen_lock_init(&link->pass.lock, concurrency);
    pen_host_intercept(&link->lender, link->pass.base.host, link, timed_deliver, lent);
    *out = &link->pass.base;
    return PEN_OK;
}
