/* SPDX-License-Identifier: BSD-3-Clause */
/* send.h: shared by posting a frame (post.c) and continuing one (extoll_send.c): the card, credits
 * for packets, and packets. All of it is under link->lock. */
#ifndef PEN_CONDUITS_EXTOLL_SEND_H
#define PEN_CONDUITS_EXTOLL_SEND_H

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "conduits/extoll/extoll.h"
#include "credit/credit.h"
#include "link/host.h"
#include "softnic/extoll/velo2.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- the card -------------------------------------------------------------------------------- */

static inline void extoll_wake(const extoll_link *link, const extoll_peer *to)
{
    pen_host_wake_sleeper(link->base.host, to->rank, to->sleeping, link->fenced);
}

/* Returns false if the card must be tried again later. A packet to a peer that has gone counts
 * as sent: a rank that leaves has finished with all its peers. */
static inline bool extoll_card_takes(extoll_link *link, velo2_ret_t result)
{
    if (pen_likely(result != VELO2_RET_TRY_AGAIN))
        return true;
    atomic_store_explicit(&link->try_again, true, memory_order_relaxed);
    return false;
}

/* Whether the next packet to the peer is of this lane. Credits are counted when a packet is
 * made, and their order in packets matters. So a packet that the card has refused is sent before
 * any new one. */
static inline bool extoll_is_next(extoll_link *link, const extoll_peer *to, pen_lane lane)
{
    if (pen_likely(to->refused == PEN_LANES ? link->held_to != to->rank : to->refused == lane))
        return true;
    atomic_store_explicit(&link->try_again, true, memory_order_relaxed);
    return false;
}

/* ---- credits --------------------------------------------------------------------------------- */

/* Takes a credit word to piggyback. Slots that it grants must be free for the card as well, so
 * the card is told first. */
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

/* Contents of a packet: words, and bytes behind them. */
typedef struct extoll_parts {
    const uint64_t *lead;
    const char *body;
    uint32_t lead_len, body_len;
} extoll_parts;

/* Keeps a packet that cannot be sent as it is: puts it together in memory where it can wait or
 * get a credit word. */
void extoll_keep_packet(extoll_tx *tx, const extoll_parts *parts, uint8_t tag, uint8_t mtt);

/* Sends a new packet, for which there is a credit, without copying it. Returns false if the card
 * has refused it; then it is kept. */
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

/* Sends a packet with a credit word behind it; returns as extoll_send_parts() does. */
bool extoll_send_ride(extoll_link *link, extoll_peer *to, pen_lane lane, const extoll_parts *parts,
                      uint8_t tag, uint8_t mtt, uint64_t word);

/* Sends a packet with or without a credit word. */
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

/* ---- frames under way (extoll_send.c) -------------------------------------------------------- */

void extoll_tx_begin(extoll_tx *tx, const void *head, uint32_t head_len, const void *body,
                     uint32_t body_len, bool is_short, uint64_t number);

/* Sends the packets that can go, and counts them. Returns true if the whole frame has gone. */
bool extoll_tx_run(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx,
                   unsigned *sent);

/* Call it after the first packets of a frame were sent: polls continue the rest, from a copy. */
void extoll_tx_settle(extoll_link *link, extoll_peer *to, pen_lane lane, bool has_gone);

void extoll_tx_set_full(extoll_tx *tx, pen_lane lane); /* whether a further frame finds no place */

#endif
