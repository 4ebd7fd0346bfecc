/* SPDX-License-Identifier: BSD-3-Clause */
/* credit.h: credit flow control for a mailbox that many peers send to and that must not overflow.
 * One credit is the right to occupy one data slot of the receiver's mailbox with one packet. The
 * *receiver* grants credits and the *sender* spends them. Both are state machines: the caller
 * reports events and asks for the packets to send. They do no I/O, read no clock, allocate no
 * memory and draw no random numbers, so that the same code runs in a job, in a simulation and in a
 * test.
 *
 * Three policies decide how many credits a peer may have:
 *   static    every peer has the same number, which never changes;
 *   activity  the receiver measures how long each peer takes to use its quota up, counted in
 *             packets that arrive from all peers in that time. It moves credits from peers whose
 *             quota lasts longer to peers that use their quota up sooner;
 *   loan      a sender that stalls reports how many credits it lacked. The receiver lends them
 *             from a reserve. If the reserve is empty, it asks other peers to give credits back.
 *
 * These rules hold for any behaviour of the peers, and every build asserts them:
 *   - the packets of all peers in the mailbox never exceed the data slots;
 *   - the quotas and the free quota add up to the data slots; so do the exposed credits, the
 *     recovered credits and the pool;
 *   - each peer always has at least the least quota (control + 1), exposed or recovered;
 *   - at most `control` of the grants sent to a peer in control packets are not yet consumed.
 * Input from a peer is checked, never asserted on: PEN_ERR_PROTOCOL. docs/design/credits.md has
 * the proofs, and shows why requests and replies over one mailbox do not deadlock.
 *
 * With activity, the packets of a pair, control packets included, must arrive in the order in which
 * they were sent. static and loan need no order (docs/design/credits.md). The library takes no
 * lock: the caller serialises the calls for one object. Peers are numbered from 0 to peers - 1. */
#ifndef PEN_CREDIT_CREDIT_H
#define PEN_CREDIT_CREDIT_H

#include "base/compiler.h"
#include "base/status.h"
#include "credit/constants.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pen_credit_policy {
    PEN_CREDIT_STATIC,
    PEN_CREDIT_ACTIVITY,
    PEN_CREDIT_LOAN,
    PEN_CREDIT_POLICIES,
} pen_credit_policy;

/* ---- parameters ------------------------------------------------------------------------------ */

/* The settings of a user. The module that owns a link has one row for each of them in its table of
 * variables, named PENSTOCK_<its area>_CREDIT_<NAME>.
 * X(FIELD, NAME, type of knob/knob.h, default, summary) */
#define PEN_CREDIT_SETTINGS(X)                                                                 \
    X(policy, POLICY, STRING, "activity",                                                      \
      "How credits are shared among peers: static, activity (to those that use them up) or "   \
      "loan (to those that ask).")                                                             \
    X(quota, QUOTA, INT, "56", "Data slots of the mailbox for each peer, on average.")         \
    X(control, CONTROL, INT, "2", "Control slots of the mailbox for each peer's grants: 2-8.") \
    X(step, STEP, INT, "4",                                                                    \
      "Credits that one decision of the activity policy may move; more for large quotas.")     \
    X(hysteresis, HYSTERESIS, REAL, "1.5",                                                     \
      "Peers that differ by less than this factor count as equally active.")                   \
    X(epoch, EPOCH, INT, "1024",                                                               \
      "Packets in an epoch of the loan policy; its notes fade at the end of each.")            \
    X(start, START, INT, "0",                                                                  \
      "Credits that a peer has at first. 0: the least quota, or with static the whole quota.") \
    X(period, PERIOD, INT, "176",                                                              \
      "Packets over which a peer's activity is measured; should exceed a burst.")

typedef struct pen_credit_settings {
    const char *policy;
    int64_t quota, control, step;
    double hysteresis;
    int64_t epoch, start, period;
} pen_credit_settings;

typedef struct pen_credit_params {
    pen_credit_policy policy;
    uint32_t peers;
    uint32_t quota;    /* average data slots for each peer; the mailbox has peers * quota */
    uint32_t control;  /* n: control slots for grants, for each peer */
    uint32_t start;    /* first credits of each peer. 0: static: the quota; else the least */
    uint32_t step;     /* activity: credits moved at once, for small quotas */
    double hysteresis; /* activity: at least 1 */
    uint32_t period;   /* activity: packets; 0: the default */
    uint32_t epoch;    /* loan: packets */
    /* Least quota of a peer; 0: control + 1. If it is given, packets may take several slots.
     * Control packets with grants then wait for the threshold though a peer is urgent, so that
     * those under way bring the credits of the longest packet. Grants that ride do not wait. */
    uint32_t least;
    bool one_way; /* packets are always drained and never answered under way, as between the ranks
                     of a two-sided library: no reserve is kept, and no sender is urgent */
} pen_credit_params;

/* Returns the name of a policy; never NULL. */
const char *pen_credit_policy_name(pen_credit_policy policy);

/* Fills *out from the settings. Returns NULL on success. On failure it returns the reason as one
 * clause for an error line, and *out is unchanged. */
const char *pen_credit_params_make(const pen_credit_settings *settings, uint32_t peers,
                                   bool one_way, pen_credit_params *out);

/* Returns NULL if the parameters can be used, else the reason. All calls below need parameters
 * that pass. */
const char *pen_credit_params_check(const pen_credit_params *params);

/* Returns the slots that a rank's mailbox needs for data and control of all peers. */
uint64_t pen_credit_mailbox_slots(const pen_credit_params *params);

/* ---- what travels ---------------------------------------------------------------------------- */

/* Sent with every data packet. */
typedef struct pen_credit_tag {
    bool urgent;  /* this packet took the last credit: return recovered credits at once */
    uint8_t need; /* credits that its sender lacked when it stalled, at most PEN_CREDIT_NEED_MAX */
} pen_credit_tag;

typedef enum pen_credit_kind {
    PEN_CREDIT_GRANT,  /* receiver to sender: count further credits */
    PEN_CREDIT_RECALL, /* receiver to sender: give count credits back */
    PEN_CREDIT_GIVE,   /* sender to receiver: the answer; count may be smaller than asked, or 0 */
} pen_credit_kind;

/* A control packet; it takes one control slot and no credit. A grant may be piggybacked on a data
 * packet instead (pen_credit_receiver_ride). */
typedef struct pen_credit_message {
    pen_credit_kind kind;
    uint32_t count;
    int32_t raised; /* GRANT, RECALL: growth of the sender's quota since the last message */
    bool epoch;     /* GRANT, loan: an epoch has ended, so the sender's notes fade */
} pen_credit_message;

/* ---- rules for requests and replies over one mailbox ----------------------------------------- */

typedef enum pen_credit_class { PEN_CREDIT_REQUEST, PEN_CREDIT_REPLY } pen_credit_class;

/* The state of the rank that drains a mailbox. */
typedef enum pen_credit_context {
    PEN_CREDIT_OUTSIDE,    /* polling, waiting, or stalled while it sends a request */
    PEN_CREDIT_IN_HANDLER, /* stalled while a request's handler sends its reply */
} pen_credit_context;

/* Returns whether a data packet from the mailbox is handled now. If false, the caller stashes the
 * packet and keeps its slot occupied until the rank is outside again. Control packets and
 * piggybacked credits are processed in either case. A stash holds at most as many packets as the
 * mailbox has data slots. */
static inline bool pen_credit_may_handle(pen_credit_context context, pen_credit_class packet)
{
    return context == PEN_CREDIT_OUTSIDE || packet == PEN_CREDIT_REPLY;
}

/* ---- the granting receiver ------------------------------------------------------------------- */

typedef struct pen_credit_receiver pen_credit_receiver;

/* _size returns the bytes of one receiver; _open makes a receiver in memory of that size, aligned
 * as malloc does. All peers start with pen_credit_start credits; their senders know this number,
 * so it is not sent. */
size_t pen_credit_receiver_size(const pen_credit_params *params);
pen_credit_receiver *pen_credit_receiver_open(void *memory, const pen_credit_params *params);
uint32_t pen_credit_start(const pen_credit_params *params);

/* Reports that a data packet of the peer was found in the mailbox, with its tag. ERR_PROTOCOL: the
 * peer had no credit for it, or the tag is not valid; nothing has changed, and the caller must not
 * trust the peer any further. */
static inline pen_status pen_credit_receiver_arrived(pen_credit_receiver *receiver, uint32_t peer_i,
                                                     pen_credit_tag tag);

/* Reports that the slot of one arrived data packet is free: it was copied out, or its handler ran.
 */
static inline void pen_credit_receiver_freed(pen_credit_receiver *receiver, uint32_t peer_i);

/* Reports arrival and freeing of a packet that was copied out when it was found. Returns the
 * status of the arrival. */
static inline pen_status pen_credit_receiver_passed(pen_credit_receiver *receiver, uint32_t peer_i,
                                                    pen_credit_tag tag);

/* Reports that a GIVE of the peer was found in the mailbox. ERR_PROTOCOL: no recall was open, or
 * the count is more than was asked or than can be; nothing has changed. */
pen_status pen_credit_receiver_hear(pen_credit_receiver *receiver, uint32_t peer_i,
                                    const pen_credit_message *message);

/* Takes the next control packet to send: its peer and its content. Returns false if there is no
 * packet. A packet that was taken counts as sent. The caller calls it after the four calls above
 * until it returns false; it may delay that, which joins grants. */
bool pen_credit_receiver_next(pen_credit_receiver *receiver, uint32_t *peer_i,
                              pen_credit_message *message);

/* Returns whether pen_credit_receiver_next may return true; false is certain. */
static inline bool pen_credit_receiver_has_next(const pen_credit_receiver *receiver);

/* Called before a data packet goes to the peer: takes a grant of at most count_max credits that
 * the packet can carry instead of a control packet. Returns false if there is nothing to grant. A
 * grant that was taken counts as sent. */
bool pen_credit_receiver_ride(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count_max,
                              pen_credit_message *message);

/* Returns whether a piggybacked grant is worth its time at both ends: the recovered credits are
 * half of what justifies a control packet, the peer is urgent, or it has to hear of the end of an
 * epoch. */
static inline bool pen_credit_receiver_is_worth_a_ride(const pen_credit_receiver *receiver,
                                                       uint32_t peer_i);

/* Compares every peer with the sums, in time proportional to the number of peers. Ends the process
 * if they differ. Tests and checked builds call it. */
void pen_credit_receiver_audit(const pen_credit_receiver *receiver);

typedef struct pen_credit_receiver_counters {
    uint32_t quota;     /* the number of credits that the peer is entitled to */
    uint32_t exposed;   /* credits that are out: in hand, under way, or in the mailbox */
    uint32_t recovered; /* freed slots that wait for a grant */
    uint32_t mailbox;   /* packets in the mailbox (and stash) */
    uint64_t packets;   /* packets that arrived, ever */
    uint64_t grants;    /* control packets with grants, ever */
    uint64_t rides;     /* grants that were piggybacked on data packets, ever */
    uint64_t recalls;   /* recalls sent, ever */
} pen_credit_receiver_counters;

void pen_credit_receiver_count(const pen_credit_receiver *receiver, uint32_t peer_i,
                               pen_credit_receiver_counters *out);

/* ---- the spending sender --------------------------------------------------------------------- */

typedef struct pen_credit_sender pen_credit_sender;

size_t pen_credit_sender_size(const pen_credit_params *params);
pen_credit_sender *pen_credit_sender_open(void *memory, const pen_credit_params *params);

/* Takes a credit for one packet to the peer; the tag is sent with the packet. Returns false if the
 * sender is stalled: the caller polls and tries again. left: packets of the message still to send,
 * including this one. The need is counted once for each stall. */
static inline bool pen_credit_sender_take(pen_credit_sender *sender, uint32_t peer_i,
                                          pen_credit_class packet, uint32_t left,
                                          pen_credit_tag *tag);

/* Takes `count` credits for one packet that occupies that many slots. Returns false as
 * pen_credit_sender_take does, and then nothing was taken. The receiver reports arrival and freeing
 * once for each slot. */
static inline bool pen_credit_sender_take_slots(pen_credit_sender *sender, uint32_t peer_i,
                                                pen_credit_class packet, uint32_t count,
                                                pen_credit_tag *tag);

/* Returns the credits of a packet that was not sent after all, and the need in its tag. */
static inline void pen_credit_sender_untake(pen_credit_sender *sender, uint32_t peer_i,
                                            uint32_t count, pen_credit_tag tag);

/* Fast path of pen_credit_sender_take: more than half of the quota is in hand and no credit was
 * lacking, so that a packet of either class may go with an empty tag. Returns false otherwise, and
 * then nothing was taken or noted. */
static inline bool pen_credit_sender_take_plain(pen_credit_sender *sender, uint32_t peer_i);

/* Returns whether at most half of the quota is in hand. A user may delay requests on this, so that
 * replies find credits. A user must not wait for this alone, since no peer has to return credits.
 */
static inline bool pen_credit_sender_is_low(const pen_credit_sender *sender, uint32_t peer_i);

/* Reports that a GRANT or RECALL of the peer arrived. ERR_PROTOCOL: the count is more than can be,
 * the recall is a second one before the first was answered, or the policy does not know it;
 * nothing has changed. */
pen_status pen_credit_sender_hear(pen_credit_sender *sender, uint32_t peer_i,
                                  const pen_credit_message *message);

/* Takes the next answer to a recall. Returns false if there is no answer. An answer that was taken
 * counts as sent. With activity it must keep its order among the data packets. */
bool pen_credit_sender_next(pen_credit_sender *sender, uint32_t *peer_i,
                            pen_credit_message *message);
static inline bool pen_credit_sender_has_next(const pen_credit_sender *sender);

typedef struct pen_credit_sender_counters {
    uint32_t quota;   /* as the peer last reported it */
    uint32_t hand;    /* credits in hand */
    uint64_t packets; /* sent, ever */
    uint64_t stalls;  /* waits for credit, ever */
    uint64_t recalls; /* answered, ever */
    uint64_t given;   /* credits given back, ever */
} pen_credit_sender_counters;

void pen_credit_sender_count(const pen_credit_sender *sender, uint32_t peer_i,
                             pen_credit_sender_counters *out);

/* ---- inline ---------------------------------------------------------------------------------- */

/* Fast paths: a credit is in hand and is taken; a packet has its credit; a slot is freed and no
 * control packet becomes due. The slow paths are in sender.c and receiver.c. The structures below
 * are private to the library: its users neither read nor write them. */

#define PEN_CREDIT_NONE UINT32_MAX /* no index */

typedef struct pen_credit_link {
    uint32_t next;
    bool listed;
} pen_credit_link;

/* A first-in-first-out list of peers; each peer is in it at most once. */
typedef struct pen_credit_list {
    uint32_t first, last;
    pen_credit_link *links; /* one for every peer */
} pen_credit_list;

static inline bool pen_credit_list_empty(const pen_credit_list *list)
{
    return list->first == PEN_CREDIT_NONE;
}

/* The part of a sender that decides how quota moves. It is a structure of its own because the
 * activity policy reads it for every peer. */
typedef struct pen_credit_share {
    uint32_t quota;                    /* credits that the peer is entitled to */
    uint32_t period_freed;             /* packets freed in this period, up to its last round */
    uint64_t period_start, last_freed; /* in packets, compare `freed` */
    double pace; /* packets of all peers for one of this peer, in the last period; 0: no period has
                    ended */
} pen_credit_share;

/* The rest of a sender as its receiver sees it. The fields that every packet reads come first. */
typedef struct pen_credit_source {
    uint64_t packets;
    uint32_t exposed;   /* granted and neither freed nor given back */
    uint32_t recovered; /* freed, not yet granted again */
    uint32_t mailbox;   /* arrived, not yet freed; a part of the exposed ones */
    uint32_t round_freed;
    uint32_t calm;         /* packets that can be freed before a control packet is due */
    uint32_t worth_a_ride; /* recovered credits that are half of what justifies a control packet */
    /* Both only grow, and wrap: credits granted, and credits that the sender has shown it had. A
     * grant that was made after `before` credits was consumed if more than `before` have been
     * shown. */
    uint32_t granted, shown;
    uint8_t before_count;
    bool recall_wanted; /* a recall has to be sent */
    bool recall_open;   /* a recall has to be sent, or is sent and not answered */
    bool asked_in_vain; /* loan: the peer had no credit to give in this epoch */
    union {
        struct {
            bool urgent;      /* return recovered credits at once */
            bool epoch_ended; /* loan: the end of the epoch is not yet reported */
        };
        uint16_t calls_for_ride; /* each frame to the peer compares both at once */
    };
    bool has_enough; /* activity: no other peer had credits for it in this period */
    uint32_t told;   /* the quota that the peer knows after all messages */
    uint32_t before[PEN_CREDIT_CONTROL_MAX]; /* `granted` before each grant in a control packet,
                                                oldest first */
    uint16_t requested;                      /* loan: how often it lacked credits recently */
    uint16_t borrowed;                       /* loan: credits that it borrowed recently */
    uint32_t asked;                          /* credits asked by the recall under way */
    uint64_t grants, rides, recalls;
} pen_credit_source;

struct pen_credit_receiver {
    const struct pen_credit_rules *rules;
    pen_credit_params params;
    uint32_t slots;                 /* data slots */
    bool counts_arrivals;           /* the policy has a function for arrivals */
    uint32_t period;                /* activity: packets */
    uint32_t quota_free, quota_sum; /* together: slots */
    uint32_t pool, held_sum;        /* their sum is slots */
    uint32_t occupied;              /* their sum is slots; held: exposed and recovered */
    uint64_t freed;                 /* packets of all, ever: what activity is measured by */
    uint32_t recalls_open;    /* packets of all peers, ever: the clock of the activity policy */
    uint32_t scavenge_i;      /* peers with an open recall */
    uint32_t epoch_packets;   /* loan: the peer at which the next search begins */
    pen_credit_list deficits; /* loan: packets that arrived in this epoch */
    pen_credit_list ready;    /* peers that hold less than their quota */
    pen_credit_share *shares; /* peers that may be owed a control packet */
    pen_credit_source peers[];
};

/* A receiver as a sender sees it. */
typedef struct pen_credit_target {
    uint32_t hand, quota;
    uint32_t asked;    /* credits of the recall to be answered */
    uint32_t used_max; /* loan: the most of the quota that was used recently */
    uint16_t stalled;  /* loan: stalls, recently */
    uint16_t given;    /* loan: credits given back, recently */
    uint8_t need;      /* credits lacking when the present stall began; 0: not stalled */
    uint64_t packets, stalls, recalls, given_ever;
} pen_credit_target;

struct pen_credit_sender {
    const struct pen_credit_rules *rules;
    pen_credit_params params;
    uint32_t slots, reserve;
    bool notes_use; /* notes how much of each quota is used, which limits the credits that are given
                       back */
    pen_credit_list answers;
    pen_credit_target peers[];
};

/* Returns whether one packet more shows that the oldest grant in a control packet was consumed. */
static inline bool pen_credit_shows_a_grant(const pen_credit_source *peer)
{
    return peer->before_count > 0 && (int32_t)(peer->shown + 1 - peer->before[0]) > 0;
}

pen_status pen_credit_receiver_arrived_slow(pen_credit_receiver *receiver, uint32_t peer_i,
                                            pen_credit_tag tag);

/* Returns whether a packet has its credit and its tag is empty. */
static inline bool pen_credit_is_plain(const pen_credit_receiver *receiver,
                                       const pen_credit_source *peer, pen_credit_tag tag)
{
    return !tag.urgent && tag.need == 0 && !receiver->counts_arrivals &&
           peer->exposed != peer->mailbox && !pen_credit_shows_a_grant(peer);
}

static inline pen_status pen_credit_receiver_arrived(pen_credit_receiver *receiver, uint32_t peer_i,
                                                     pen_credit_tag tag)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    if (pen_unlikely(!pen_credit_is_plain(receiver, peer, tag)))
        return pen_credit_receiver_arrived_slow(receiver, peer_i, tag);
    peer->mailbox++;
    peer->packets++;
    peer->shown++;
    receiver->occupied++;
    PEN_INVARIANT(receiver->occupied <= receiver->slots);
    return PEN_OK;
}

void pen_credit_receiver_freed_slow(pen_credit_receiver *receiver, uint32_t peer_i);

/* Leaves the slot with its sender. */
static inline void pen_credit_keep(pen_credit_receiver *receiver, pen_credit_source *peer,
                                   uint32_t peer_i)
{
    peer->calm--;
    peer->exposed--;
    peer->recovered++;
    peer->round_freed++;
    receiver->shares[peer_i].last_freed = ++receiver->freed;
}

static inline void pen_credit_receiver_freed(pen_credit_receiver *receiver, uint32_t peer_i)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    if (pen_unlikely(peer->calm == 0)) {
        pen_credit_receiver_freed_slow(receiver, peer_i);
        return;
    }
    PEN_INVARIANT(peer->mailbox > 0);
    peer->mailbox--;
    receiver->occupied--;
    pen_credit_keep(receiver, peer, peer_i);
}

pen_status pen_credit_receiver_passed_slow(pen_credit_receiver *receiver, uint32_t peer_i,
                                           pen_credit_tag tag);

static inline __attribute__((always_inline)) pen_status
pen_credit_receiver_passed(pen_credit_receiver *receiver, uint32_t peer_i, pen_credit_tag tag)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    if (pen_unlikely(peer->calm == 0 || !pen_credit_is_plain(receiver, peer, tag)))
        return pen_credit_receiver_passed_slow(receiver, peer_i, tag);
    PEN_INVARIANT(receiver->occupied < receiver->slots);
    peer->packets++;
    peer->shown++;
    pen_credit_keep(receiver, peer, peer_i);
    return PEN_OK;
}

static inline bool pen_credit_receiver_has_next(const pen_credit_receiver *receiver)
{
    return !pen_credit_list_empty(&receiver->ready);
}

static inline bool pen_credit_receiver_is_worth_a_ride(const pen_credit_receiver *receiver,
                                                       uint32_t peer_i)
{
    const pen_credit_source *peer = &receiver->peers[peer_i];
    return peer->calls_for_ride != 0 || peer->recovered >= peer->worth_a_ride;
}

/* Notes the stall if it has just begun. */
void pen_credit_sender_stall(pen_credit_target *peer, uint32_t reserve, uint32_t left);

static inline void pen_credit_note_used(pen_credit_target *peer)
{
    uint32_t used = peer->quota > peer->hand ? peer->quota - peer->hand : 0;
    if (used > peer->used_max)
        peer->used_max = used;
}

/* Takes count credits if that many are in hand, and otherwise notes that `left` were wanted. */
static inline __attribute__((always_inline)) bool
pen_credit_sender_spend(pen_credit_sender *sender, uint32_t peer_i, pen_credit_class packet,
                        uint32_t count, uint32_t left, pen_credit_tag *tag)
{
    pen_credit_target *peer = &sender->peers[peer_i];
    PEN_ASSERT(count > 0 && left >= count);
    uint32_t reserve = packet == PEN_CREDIT_REQUEST ? sender->reserve : 0;
    if (pen_unlikely(!PEN_CREDIT_MAY_TAKE(peer->hand, reserve + count - 1))) {
        pen_credit_sender_stall(peer, reserve, left);
        return false;
    }
    peer->hand -= count;
    peer->packets++;
    if (sender->notes_use)
        pen_credit_note_used(peer);
    *tag = (pen_credit_tag){
        .urgent = sender->reserve > 0 && PEN_CREDIT_IS_URGENT(peer->hand),
        .need = peer->need,
    };
    peer->need = 0;
    return true;
}

static inline bool pen_credit_sender_take(pen_credit_sender *sender, uint32_t peer_i,
                                          pen_credit_class packet, uint32_t left,
                                          pen_credit_tag *tag)
{
    return pen_credit_sender_spend(sender, peer_i, packet, 1, left, tag);
}

static inline bool pen_credit_sender_take_slots(pen_credit_sender *sender, uint32_t peer_i,
                                                pen_credit_class packet, uint32_t count,
                                                pen_credit_tag *tag)
{
    return pen_credit_sender_spend(sender, peer_i, packet, count, count, tag);
}

static inline void pen_credit_sender_untake(pen_credit_sender *sender, uint32_t peer_i,
                                            uint32_t count, pen_credit_tag tag)
{
    pen_credit_target *peer = &sender->peers[peer_i];
    peer->hand += count;
    peer->packets--;
    peer->need = tag.need;
}

static inline bool pen_credit_sender_take_plain(pen_credit_sender *sender, uint32_t peer_i)
{
    pen_credit_target *peer = &sender->peers[peer_i];
    if (pen_unlikely(peer->hand <= (peer->quota / 2 | PEN_CREDIT_RESERVE)) ||
        pen_unlikely(peer->need != 0) || pen_unlikely(sender->notes_use))
        return false;
    peer->hand--;
    peer->packets++;
    return true;
}

static inline bool pen_credit_sender_is_low(const pen_credit_sender *sender, uint32_t peer_i)
{
    const pen_credit_target *peer = &sender->peers[peer_i];
    return peer->hand <= peer->quota / 2;
}

static inline bool pen_credit_sender_has_next(const pen_credit_sender *sender)
{
    return !pen_credit_list_empty(&sender->answers);
}

#endif
