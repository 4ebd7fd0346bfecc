/* SPDX-License-Identifier: BSD-3-Clause */
/* mailbox.h: credits of a mailbox, for links whose network puts the packets of all peers and all
 * lanes into one ring with a fixed number of slots. link/window.h counts bytes for a network that
 * has a queue for each lane. This module counts packets for a network that has one for all.
 *
 * Two sets of credits limit the senders: `data` for REQUEST and REPLY, with the policy that the
 * user chose, and `control` for CONTROL, with the smallest quota, so that the end of a job never
 * waits behind other messages. Each set has slots of its own in the mailbox, for packets and for
 * words about credits.
 *
 * The network carries one byte with each packet, its tag:
 *
 *   tag   0..1 lane | 2 urgent | 3..5 need | 6 the payload's last word is about credits | 7 zero
 *
 * A word about credits (8 bytes) rides behind a packet that has room for it, or goes by itself:
 *
 *   word  0..1 kind | 2 about CONTROL | 3 epoch | 4..7 zero | 8..31 count | 32..63 raised, with its
 *         sign
 *
 * A packet that finds a plain credit, which most do, has a tag that is only its lane.
 *
 * Locks: the caller's one lock guards all. Peers are counted as sources, from 0, without this rank.
 */
#ifndef PEN_LINK_MAILBOX_H
#define PEN_LINK_MAILBOX_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "credit/credit.h"
#include "diag/counters.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PEN_MAILBOX_URGENT = 1 << 2,
    PEN_MAILBOX_NEED_SHIFT = 3,
    PEN_MAILBOX_RIDE = 1 << 6,
    PEN_MAILBOX_ZERO = 1 << 7,
    PEN_MAILBOX_COUNT_MAX = (1 << 24) - 1,
    PEN_MAILBOX_PATIENCE = 256, /* tries of a request that leaves credits to replies */
};

typedef struct pen_mailbox_plan {
    pen_credit_params data, control;
    uint32_t data_slots, control_slots; /* slots that packets of peers can occupy */
    uint64_t slots;                     /* least slots of a mailbox, those of words included */
} pen_mailbox_plan;

typedef struct pen_mailbox {
    pen_credit_receiver *data_receiver, *control_receiver;
    pen_credit_sender *data_sender, *control_sender;
    uint16_t *patience;  /* by source: times that requests may still be held back */
    uint32_t packet_len; /* most bytes of a packet */
    pen_peer self;
    bool is_due; /* there may be words to send. The owner clears it, and may set it too */
} pen_mailbox;

/* ---- opening --------------------------------------------------------------------------------- */

/* Divides a mailbox among the peers of a job. Returns NULL, or the error as one clause. */
const char *pen_mailbox_plan_make(const pen_credit_settings *settings, pen_peer peers,
                                  pen_mailbox_plan *out);

/* Returns false if there is no memory; what was allocated is freed by pen_mailbox_close. */
bool pen_mailbox_open(pen_mailbox *box, const pen_host *host, const pen_mailbox_plan *plan,
                      pen_peer self);

/* A mailbox that is all zero may be closed. */
void pen_mailbox_close(pen_mailbox *box, const pen_host *host);

static inline uint32_t pen_mailbox_source_i(const pen_mailbox *box, pen_peer peer)
{
    return peer - (peer > box->self ? 1 : 0);
}

static inline pen_peer pen_mailbox_peer(const pen_mailbox *box, uint32_t source_i)
{
    return source_i + (source_i >= box->self ? 1 : 0);
}

/* ---- tags and words -------------------------------------------------------------------------- */

static inline uint64_t pen_mailbox_word(const pen_credit_message *message, bool of_control)
{
    return (uint64_t)(uint32_t)message->raised << 32 | message->count << 8 |
           (message->epoch ? 1u << 3 : 0u) | (of_control ? 1u << 2 : 0u) | (unsigned)message->kind;
}

static inline bool pen_mailbox_tag_is_sound(uint8_t tag)
{
    return (tag & PEN_MAILBOX_ZERO) == 0 && (tag & 3u) < PEN_LANES;
}

static inline pen_lane pen_mailbox_tag_lane(uint8_t tag) { return (pen_lane)(tag & 3u); }

static inline pen_credit_tag pen_mailbox_tag_credit(uint8_t tag)
{
    return (pen_credit_tag){ .urgent = (tag & PEN_MAILBOX_URGENT) != 0,
                             .need = (uint8_t)(tag >> PEN_MAILBOX_NEED_SHIFT & 7u) };
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The sender whose credits packets of the lane take. A packet for which
 * pen_credit_sender_take_plain takes one has a tag that is only its lane. */
static inline pen_credit_sender *pen_mailbox_sender(const pen_mailbox *box, pen_lane lane)
{
    return lane == PEN_LANE_CONTROL ? box->control_sender : box->data_sender;
}

/* Takes a credit of any kind. Returns the packet's tag, or -1 if there is no credit. left: bytes of
 * the frame that have not gone; begins: they are the whole frame. */
int pen_mailbox_take(pen_mailbox *box, uint32_t source_i, pen_lane lane, uint32_t left,
                     bool begins);

/* Whether a word should ride on a packet to the peer, if the packet has room for it. */
static inline bool pen_mailbox_is_worth_a_ride(const pen_mailbox *box, uint32_t source_i)
{
    return pen_credit_receiver_is_worth_a_ride(box->data_receiver, source_i);
}

/* Takes a word to ride on a packet of REQUEST or REPLY, whose tag then has PEN_MAILBOX_RIDE. Slots
 * that the word grants have to be free for the network as well before the packet goes. Returns
 * false if there is none. */
static inline bool pen_mailbox_ride(pen_mailbox *box, uint32_t source_i, uint64_t *word)
{
    pen_credit_message message;
    if (!pen_credit_receiver_ride(box->data_receiver, source_i, PEN_MAILBOX_COUNT_MAX, &message))
        return false;
    *word = pen_mailbox_word(&message, false);
    return true;
}

/* Whether pen_mailbox_next may return true; false is certain. */
static inline bool pen_mailbox_has_next(const pen_mailbox *box)
{
    return pen_credit_sender_has_next(box->data_sender) ||
           pen_credit_receiver_has_next(box->data_receiver) ||
           pen_credit_receiver_has_next(box->control_receiver);
}

/* Takes the next word that goes by itself. It counts as sent. Returns false if there is none. */
bool pen_mailbox_next(pen_mailbox *box, pen_peer *to, uint64_t *word);

/* ---- receiving ------------------------------------------------------------------------------- */

static inline pen_credit_receiver *pen_mailbox_receiver(const pen_mailbox *box, pen_lane lane)
{
    return lane == PEN_LANE_CONTROL ? box->control_receiver : box->data_receiver;
}

/* Counts a packet whose tag is its lane, and whose slot is free at once. Returns false if it has no
 * credit. */
static inline bool pen_mailbox_pass(pen_mailbox *box, pen_credit_receiver *receiver,
                                    uint32_t source_i)
{
    const bool is_valid =
        pen_credit_receiver_passed(receiver, source_i, (pen_credit_tag){ false, 0 }) == PEN_OK;
    box->is_due |= pen_credit_receiver_has_next(receiver);
    return is_valid;
}

/* Counts a packet with any sound tag. keeps_slot: its slot is in use until pen_mailbox_free is
 * called. Returns false if it has no credit. */
static inline bool pen_mailbox_count(pen_mailbox *box, uint32_t source_i, uint8_t tag,
                                     bool keeps_slot)
{
    pen_credit_receiver *receiver = pen_mailbox_receiver(box, pen_mailbox_tag_lane(tag));
    const pen_credit_tag credit = pen_mailbox_tag_credit(tag);
    const pen_status status = keeps_slot ? pen_credit_receiver_arrived(receiver, source_i, credit)
                                         : pen_credit_receiver_passed(receiver, source_i, credit);
    box->is_due |= pen_credit_receiver_has_next(receiver);
    return status == PEN_OK;
}

void pen_mailbox_free(pen_mailbox *box, uint32_t source_i, pen_lane lane);

/* Takes up a word that has come. Returns false if it is not valid. */
bool pen_mailbox_hear(pen_mailbox *box, uint32_t source_i, uint64_t word);

/* ---- for tests and statistics ---------------------------------------------------------------- */

/* Adds what a sender and a receiver have counted of a peer. For all links that count credits. */
void pen_credits_count(const pen_credit_sender *sender, const pen_credit_receiver *receiver,
                       uint32_t peer_i, pen_peer_counters *sum);

uint8_t pen_mailbox_tag(pen_lane lane, pen_credit_tag credit, bool ride);
/* Returns false if the word is malformed. */
bool pen_mailbox_word_parse(uint64_t word, pen_credit_message *out, bool *of_control);

#endif
