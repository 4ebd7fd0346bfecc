/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_poll.c: events of a link: what has left, what has ended, what has arrived. */
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/portals/portals.h"
#include "diag/log.h"
#include "os/lock.h"
#include "softnic/portals/portals4.h"

enum { NAP_NS = 50000 }; /* a sleeper whose operations are under way polls again after this time */

/* A put has two events in any order, a get one. The payload of a Long keeps its token until it is
 * acknowledged, so that its loss is noticed, but its operation ends with the first of both. */
static void end_op(portals_link *link, portals_token *token, ptl_event_kind_t type)
{
    pen_op *op = token->op;
    bool frees_source = !token->is_source_done, is_last = --token->events == 0;
    bool has_ended = token->is_local ? frees_source : type != PTL_EVENT_SEND;
    token->is_source_done = true;
    if (type == PTL_EVENT_REPLY)
        portals_local_arrive(token);
    if (is_last)
        portals_token_give(link, token);
    if (frees_source)
        pen_op_source_done(op);
    if (has_ended)
        pen_op_done(op);
}

/* A frame has left, and if it may be refused, its acknowledgement has come. */
static void end_frame(portals_link *link, portals_token *token)
{
    if (--token->events != 0)
        return;
    if (token->is_refused) {
        portals_refused(link, token);
        return;
    }
    pen_peer to = token->peer;
    portals_token_give(link, token);
    portals_wake(link, to); /* a frame that had waited for room has left only now */
}

static void handle(portals_link *link, const ptl_event_t *event)
{
    portals_token *token = event->user_ptr;
    bool is_frame = token->kind != PORTALS_MEMORY;
    if (is_frame && event->ni_fail_type == PTL_NI_PT_DISABLED && link->policy == PORTALS_DISABLE) {
        token->is_refused = true;
        end_frame(link, token);
        return;
    }
    if (event->ni_fail_type != PTL_NI_OK) {
        portals_mark_lost(link, token->peer);
        if (--token->events == 0)
            portals_token_give(link, token);
        return;
    }
    if (is_frame)
        end_frame(link, token);
    else
        end_op(link, token, event->type);
}

static void tell_lost(portals_link *link)
{
    const pen_host *host = link->base.host;
    if (link->has_lost_events) {
        link->has_lost_events = false;
        host->log(host->ctx, PEN_LOG_ERROR,
                  "the portals conduit has lost a frame, or has received one that no rank sends; "
                  "the job cannot go on");
        host->peer_lost(host->ctx, PEN_PEER_ANY, PEN_ERR_PROTOCOL);
    }
    pen_lock_take(&link->lock);
    bool is_any = link->lost != 0;
    link->lost = 0;
    pen_lock_drop(&link->lock);
    for (pen_peer i = 0; is_any && i < link->peers; i++) {
        pen_lock_take(&link->lock);
        bool is_new = link->peer[i].is_lost && !link->peer[i].is_told;
        link->peer[i].is_told = link->peer[i].is_lost;
        pen_lock_drop(&link->lock);
        if (is_new)
            host->peer_lost(host->ctx, i, PEN_ERR_PEER_LOST);
    }
}

/* A peer's card works while the peer polls. So peers that owe something are kept awake. */
static void wake_pending(portals_link *link)
{
    for (pen_peer i = 0; i < link->peers; i++) {
        pen_lock_take(&link->lock);
        bool is_pending = link->peer[i].pending != 0;
        pen_lock_drop(&link->lock);
        if (is_pending)
            portals_wake(link, i);
    }
}

static uint32_t pending(portals_link *link)
{
    pen_lock_take(&link->lock);
    uint32_t count = link->pending;
    pen_lock_drop(&link->lock);
    return count;
}

/* The queues that a poll looks at. Those of lanes come last. */
typedef struct queues {
    ptl_handle_eq_t queue[PORTALS_QUEUES];
    pen_lane lane[PORTALS_QUEUES];
    unsigned count;
} queues;

enum { ENDED, LANDED, FIRST_LANE };

static void choose_queues(const portals_link *link, unsigned lanes, queues *out)
{
    out->queue[ENDED] = link->ended;
    out->queue[LANDED] = link->landed;
    out->count = FIRST_LANE;
    for (unsigned lane = PEN_LANES; lane-- > 0;) {
        if ((lanes & PEN_LANE_BIT(lane)) == 0)
            continue;
        out->queue[out->count] = link->arrived[lane];
        out->lane[out->count++] = (pen_lane)lane;
    }
}

/* Handles events until there are none, or until enough frames have come: then those of lanes are
 * left where they are. One call looks at all queues, because each call makes the card look at its
 * peers. Returns the number of events, and of those of lanes. */
static unsigned handle_events(portals_link *link, queues *from, unsigned budget,
                              unsigned *delivered)
{
    unsigned count = 0;
    for (;; count++) {
        ptl_event_t event;
        unsigned which = 0;
        const unsigned size = *delivered < budget ? from->count : FIRST_LANE;
        portals_device_use(link->device);
        int result = PtlEQPoll(from->queue, size, 0, &event, &which);
        portals_device_use(NULL);
        if (result != PTL_OK && result != PTL_EQ_DROPPED)
            return count;
        if (result == PTL_EQ_DROPPED)
            link->has_lost_events = true;
        if (which == ENDED) {
            handle(link, &event);
        } else if (which == LANDED) {
            portals_hear_data(link, &event);
        } else {
            portals_receive(link, from->lane[which], &event);
            ++*delivered;
        }
    }
}

unsigned portals_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    portals_link *link = portals_of(base);
    queues from;
    unsigned delivered = 0;
    choose_queues(link, lanes, &from);
    unsigned count = handle_events(link, &from, budget, &delivered);
    if (link->held.total != 0 && delivered < budget)
        count += portals_deliver_held(link, lanes, budget - delivered);
    if (link->owes_notes)
        portals_send_notes(link);
    if (link->policy == PORTALS_DISABLE)
        portals_resend(link);
    tell_lost(link);
    if (count == 0 && pending(link) != 0)
        wake_pending(link);
    return count;
}

/* While the card moves parts of long messages, which cause no events, the rank keeps awake. */
static uint64_t due_ns(pen_link *base)
{
    portals_link *link = portals_of(base);
    const pen_host *host = base->host;
    const uint64_t moved = portals_device_moved(link->device);
    if (moved != link->moved) {
        link->moved = moved;
        return 0;
    }
    return pending(link) == 0 ? UINT64_MAX : host->now_ns(host->ctx) + NAP_NS;
}

const pen_due_ops portals_due = { .due_ns = due_ns };
