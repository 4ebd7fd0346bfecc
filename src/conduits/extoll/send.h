/* SPDX-License-Identifier: BSD-3-Clause */
/* send.h: what sending a frame (post.c) and going on with one (send.c) share: the card, credits for
 * packets, and packets. All of it is under link->lock. */
#ifndef PEN_CONDUITS_EXTOLL_SEND_H
#define PEN_CONDUITS_EXTOLL_SEND_H

#include "conduits/extoll/extoll.h"

#include "base/compiler.h"
#include "link/host.h"

/* ---- the card -------------------------------------------------------------------------------- */

static inline void extoll_wake(const extoll_link *link, const extoll_peer *to)
{
    pen_host_wake_sleeper(link->base.host, to->rank, to->sleeping, link->fenced);
}

/* False: the card takes it later. To a peer that has gone nothing is sent, as if it had been: who
 * leaves has met everybody else. */
static inline bool extoll_card_takes(extoll_link *link, velo2_ret_t result)
{
    if (pen_likely(result != VELO2_RET_TRY_AGAIN))
        return true;
    atomic_store_explicit(&link->try_again, true, memory_order_relaxed);
    return false;
}

/* Whether a packet of the lane is next. Credits are counted when a packet is made, and what packets
 * say of them only makes sense in that order: what the card has refused goes first. */
static inline bool extoll_is_next(extoll_link *link, const extoll_peer *to, pen_lane lane)
{
    if (pen_likely(to->refused == PEN_LANES ? link->held_to != to->rank : to->refused == lane))
        return true;
    atomic_store_explicit(&link->try_again, true, memory_order_relaxed);
    return false;
}

/* ---- credits --------------------------------------------------------------------------------- */

/* What is granted has to be free for the card as well, so that is told first. */
static inline bool extoll_take_ride(extoll_link *link, const extoll_peer *to, uint64_t *word)
{
    pen_credit_message message;
    if (!link->plan.coalesced ||
        !pen_credit_receiver_is_worth_a_ride(link->data_receiver, to->source_i) ||
        !pen_credit_receiver_ride(link->data_receiver, to->source_i, EXTOLL_CREDIT_COUNT_MAX,
                                  &message))
        return false;
    extoll_commit(link);
    *word = extoll_credit(&message, false);
    return true;
}

static inline bool extoll_take_credit(const extoll_link *link, const extoll_peer *to, pen_lane lane,
                                      uint32_t left, pen_credit_tag *tag)
{
    return pen_credit_sender_take(
        lane == PEN_LANE_CONTROL ? link->control_sender : link->data_sender, to->source_i,
        lane == PEN_LANE_REPLY ? PEN_CREDIT_REPLY : PEN_CREDIT_REQUEST, left, tag);
}

/* ---- packets --------------------------------------------------------------------------------- */

/* What a packet carries: words, and bytes behind them. */
typedef struct extoll_parts {
    const uint64_t *lead;
    const char *body;
    uint32_t lead_len, body_len;
} extoll_parts;

/* A packet that cannot go as it is: put together where it can wait, or get a credit behind it. */
void extoll_keep_packet(extoll_tx *tx, const extoll_parts *parts, uint8_t tag, uint8_t mtt);

/* A new packet, for which there is a credit, without a copy of ours. False: the card has refused
 * it, and it is kept. */
static inline __attribute__((always_inline)) bool extoll_send_parts(extoll_link *link,
                                                                    extoll_peer *to, pen_lane lane,
                                                                    const extoll_parts *parts,
                                                                    uint8_t tag, uint8_t mtt)
{
    if (pen_likely(extoll_card_takes(
            link, velo2_send_header(&to->velo, parts->lead, parts->lead_len / EXTOLL_WORD,
                                    parts->body, parts->body_len, tag, mtt))))
        return true;
    extoll_keep_packet(&to->tx[lane], parts, tag, mtt);
    to->refused = (uint8_t)lane;
    return false;
}

/* The same with a credit word behind it. */
bool extoll_send_ride(extoll_link *link, extoll_peer *to, pen_lane lane, const extoll_parts *parts,
                      uint8_t tag, uint8_t mtt, uint64_t word);

/* Either of them. */
static inline __attribute__((always_inline)) bool
extoll_send_packet(extoll_link *link, extoll_peer *to, pen_lane lane, const extoll_parts *parts,
                   uint8_t mtt, pen_credit_tag credit)
{
    uint64_t word;
    if (lane != PEN_LANE_CONTROL &&
        parts->lead_len + parts->body_len + EXTOLL_WORD <= link->packet_max &&
        extoll_take_ride(link, to, &word))
        return extoll_send_ride(link, to, lane, parts, extoll_tag(lane, credit, true), mtt, word);
    return extoll_send_parts(link, to, lane, parts, extoll_tag(lane, credit, false), mtt);
}

/* ---- frames under way (send.c) --------------------------------------------------------------- */

void extoll_tx_begin(extoll_tx *tx, const void *head, uint32_t head_len, const void *body,
                     uint32_t body_len, bool is_short, uint64_t number);

/* Sends what can go, and counts it. True: all of it has gone. */
bool extoll_tx_run(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx,
                   unsigned *sent);

/* As much of a frame has gone as could: the rest goes on in polls, with bytes of ours. */
void extoll_tx_settle(extoll_link *link, extoll_peer *to, pen_lane lane, bool has_gone);

void extoll_tx_set_full(extoll_tx *tx, pen_lane lane); /* whether another frame finds no place */

#endif
