/* SPDX-License-Identifier: BSD-3-Clause */
/* receive.h: shared by the two paths of packets: the fast path (extoll_poll.c) and the slow path
 * (extoll_receive.c). All of it runs under the poll lock; calls of credits and card need link->lock
 * too. */
#ifndef PEN_CONDUITS_EXTOLL_RECEIVE_H
#define PEN_CONDUITS_EXTOLL_RECEIVE_H

#include "conduit/conduit.h"
#include "conduits/extoll/extoll.h"
#include "credit/credit.h"
#include "link/host.h"
#include "softnic/extoll/velo2.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXTOLL_NO_CREDIT "a packet has no credit, or is malformed"

typedef struct extoll_packet {
    pen_peer from;
    uint8_t mtt, tag;
    pen_lane lane;
    uint32_t len; /* without the piggybacked credit word */
    const char *payload;
    bool is_wanted; /* its lane was asked for, and no packet of it is stashed */
    bool has_slot;  /* its slot still counts as in use */
} extoll_packet;

/* This rank's copy of the current packet. */
static inline uint64_t *extoll_copy_of(extoll_link *link) { return &link->copy[EXTOLL_COPY_LEAD]; }

/* Whether packets of the lane are taken up as they come. */
static inline bool extoll_is_wanted(const extoll_link *link, pen_lane lane, unsigned lanes)
{
    return (lanes & PEN_LANE_BIT(lane)) != 0 && link->stash.first[lane] == NULL;
}

/* Whether packets from there can be valid. */
static inline bool extoll_is_peer(const extoll_link *link, pen_peer from)
{
    /* relaxed: see extoll_peer */
    return from < link->peers && from != link->base.self &&
           !atomic_load_explicit(&link->to[from].is_lost, memory_order_relaxed);
}

static inline pen_credit_receiver *extoll_receiver_of(const extoll_link *link, pen_lane lane)
{
    return lane == PEN_LANE_CONTROL ? link->control_receiver : link->data_receiver;
}

/* Looks at the next packet. */
static inline velo2_ret_t extoll_find(extoll_link *link, extoll_packet *packet)
{
    uint32_t source = 0;
    size_t len = 0;
    velo2_ret_t found = velo2_check(&link->velo, &source, &len, &packet->mtt, &packet->tag);
    if (found != VELO2_RET_SUCCESS)
        return found;
    packet->from = VELO2_ADDRESS_NODE(source);
    packet->lane = extoll_tag_lane(packet->tag);
    packet->len = (uint32_t)len;
    packet->has_slot = false;
    return VELO2_RET_SUCCESS;
}

/* Steps over the packet. Under the lock. */
static inline void extoll_step_over(extoll_link *link)
{
    link->uncommitted = velo2_recv_complete(&link->velo);
    link->stale = true;
    link->touched |= link->uncommitted >= link->plan.card.commit_period;
}

/* Delivers a frame that is whole in the copy of its packet: its handler runs on the copy. */
static inline void extoll_deliver_whole(extoll_link *link, pen_peer from, pen_lane lane,
                                        uint32_t head_len, uint32_t body_len)
{
    char *head = (char *)extoll_copy_of(link) + EXTOLL_WORD, *body = head + head_len;
    if ((EXTOLL_WORD + head_len) % 16 != 0)
        body = memcpy(link->small_body, body, body_len);
    pen_host_hand(link->base.host, from, lane, head, head_len, body, body_len);
}

static inline void extoll_rx_begin(extoll_rx *rx, uint64_t begin)
{
    rx->number_len = extoll_begin_is_after_puts(begin) ? EXTOLL_WORD : 0;
    rx->lead_len = rx->number_len + extoll_begin_head_len(begin);
    rx->body_len = extoll_begin_body_len(begin);
    rx->got = 0;
    rx->buffer = NULL;
    rx->is_active = true;
}

/* Ends a frame that has arrived completely. Returns 1 if it was delivered, 0 if it waits, with
 * its slot. */
unsigned extoll_rx_end(extoll_link *link, const extoll_packet *packet, extoll_rx *rx, void *body);

/* Takes up the packet that was found, or stashes it; returns frames delivered. is_known: the
 * card reported it as a packet. */
unsigned extoll_take_packet(extoll_link *link, extoll_packet *packet, bool is_known,
                            unsigned lanes);

/* Takes up stashed packets of lanes that are asked for now; returns frames delivered. */
unsigned extoll_unstash(extoll_link *link, unsigned lanes, unsigned budget);
unsigned extoll_unwait(extoll_link *link, unsigned lanes,
                       unsigned budget); /* frames whose data has come */
unsigned extoll_poll_own(extoll_link *link, unsigned lanes, unsigned budget);

#endif
