/* SPDX-License-Identifier: BSD-3-Clause */
/* credit.h: credit flow control over a mailbox that many peers send to and that must not overflow.
 * One credit is the right to occupy one data slot of the receiver's mailbox with one packet. The
 * *receiver* grants credits and the *sender* spends them; each is a state machine that is told what
 * happened and asked what to send. Nothing here does I/O, knows the time, allocates or draws random
 * numbers, so that the same code runs in a job, in a simulation and in a test.
 *
 * Three policies decide how many credits a peer may have:
 *   static    every peer the same, for good;
 *   activity  the receiver measures how long each peer takes to use its quota up, in packets that
 *             come meanwhile from all, and moves credits from those whose quota lasts longer to
 *             those that use theirs up sooner;
 *   loan      a sender that stalls says how many credits it lacked; the receiver lends them from a
 *             reserve, and asks others to give back when the reserve is empty.
 *
 * What holds whatever the peers do, and is asserted in every build:
 *   - packets of all peers in the mailbox never exceed the data slots;
 *   - the quotas and the free quota add up to the data slots; so do credits that are out or
 *     recovered and the pool;
 *   - of a peer's, at least the least quota (control + 1) is always out or recovered;
 *   - of grants sent to a peer in control packets, at most `control` are not yet consumed.
 * What a peer sends is checked, never asserted on: PEN_ERR_PROTOCOL. docs/design/credits.md has the
 * proofs, also of why requests and replies over one mailbox do not deadlock.
 *
 * Packets of a pair must arrive in the order in which they were sent, control packets included.
 * Nothing here takes a lock: the caller serialises the calls for one object. Peers are numbered
 * from 0 to peers - 1. */
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

/* What a user may choose. For the module that owns a link: it makes one row of its table of
 * variables of each of these, with PENSTOCK_<its area>_CREDIT_ before the name.
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
    X(epoch, EPOCH, INT, "1024", "Packets after which the loan policy forgets a part.")        \
    X(start, START, INT, "0",                                                                  \
      "Credits that a peer has at first: 0 for the least, with static for the quota.")         \
    X(period, PERIOD, INT, "176",                                                              \
      "Packets over which a peer's activity is measured, more than come in one burst.")

typedef struct pen_credit_settings {
    const char *policy;
    int64_t quota, control, step;
    double hysteresis;
    int64_t epoch, start, period;
} pen_credit_settings;

typedef struct pen_credit_params {
    pen_credit_policy policy;
    uint32_t peers;
    uint32_t quota;    /* data slots for each peer on average; the mailbox has peers times that */
    uint32_t control;  /* n: control slots for grants, for each peer */
    uint32_t start;    /* credits of each peer at first; 0: the quota if static, else the least */
    uint32_t step;     /* activity: credits moved at once, for small quotas */
    double hysteresis; /* activity: at least 1 */
    uint32_t period;   /* activity: packets; 0: the default */
    uint32_t epoch;    /* loan: packets */
    bool one_way;      /* packets are always drained and never answered under way, as between the
                          ranks of a two-sided library: no reserve is left and nobody is hurried */
} pen_credit_params;

/* The name of a policy; never NULL. */
const char *pen_credit_policy_name(pen_credit_policy policy);

/* Fills *out from what the user chose. NULL: done; else what is wrong, one clause for an error
 * line, and *out is as it was. */
const char *pen_credit_params_make(const pen_credit_settings *settings, uint32_t peers,
                                   bool one_way, pen_credit_params *out);

/* NULL: these can be used; else what is wrong. The calls below need params that pass. */
const char *pen_credit_params_check(const pen_credit_params *params);

/* Slots that a rank's mailbox needs, for data and control together, all peers. */
uint64_t pen_credit_mailbox_slots(const pen_credit_params *params);

/* ---- what travels ---------------------------------------------------------------------------- */

/* In every data packet. */
typedef struct pen_credit_tag {
    bool urgent;  /* the last credit went with it: return what there is at once */
    uint8_t need; /* credits that its sender lacked when it stalled, at most PEN_CREDIT_NEED_MAX */
} pen_credit_tag;

typedef enum pen_credit_kind {
    PEN_CREDIT_GRANT,  /* receiver to sender: count credits more */
    PEN_CREDIT_RECALL, /* receiver to sender: give count credits back */
    PEN_CREDIT_GIVE,   /* sender to receiver: the answer; count may be less, or 0 */
} pen_credit_kind;

/* A control packet; takes no credit and one control slot. A grant may ride on a data packet
 * instead (pen_credit_receiver_ride). */
typedef struct pen_credit_message {
    pen_credit_kind kind;
    uint32_t count;
    int32_t raised; /* GRANT, RECALL: by so many is the sender's quota larger than last said */
    bool epoch;     /* GRANT, loan: an epoch has ended; what the sender has noted fades */
} pen_credit_message;

/* ---- rules for requests and replies over one mailbox ----------------------------------------- */

typedef enum pen_credit_class { PEN_CREDIT_REQUEST, PEN_CREDIT_REPLY } pen_credit_class;

/* What the rank that drains a mailbox is doing at the time. */
typedef enum pen_credit_context {
    PEN_CREDIT_OUTSIDE,    /* polling, waiting, or stalled while it sends a request */
    PEN_CREDIT_IN_HANDLER, /* stalled while a request's handler sends its reply */
} pen_credit_context;

/* Whether a data packet taken out of the mailbox is to be handled now. False: it is stashed, its
 * slot is not freed, until its rank is outside again. Control packets, and credits that ride, are
 * heard in either case. A stash holds no more than the mailbox's data slots. */
static inline bool pen_credit_may_handle(pen_credit_context context, pen_credit_class packet)
{
    return context == PEN_CREDIT_OUTSIDE || packet == PEN_CREDIT_REPLY;
}

/* ---- the granting receiver ------------------------------------------------------------------- */

typedef struct pen_credit_receiver pen_credit_receiver;

/* Bytes for one receiver, and making one in so many bytes, aligned as malloc does. All peers start
 * with pen_credit_start credits, which their senders know without being told. */
size_t pen_credit_receiver_size(const pen_credit_params *params);
pen_credit_receiver *pen_credit_receiver_open(void *memory, const pen_credit_params *params);
uint32_t pen_credit_start(const pen_credit_params *params);

/* A data packet of the peer's was found in the mailbox, with this tag. ERR_PROTOCOL: it had no
 * credit for it, or the tag is none; nothing has changed then, and the peer is not to be trusted
 * any more. */
static inline pen_status pen_credit_receiver_arrived(pen_credit_receiver *receiver, uint32_t peer_i,
                                                     pen_credit_tag tag);

/* The slot of one data packet that had arrived is free again: copied out, or its handler ran. */
static inline void pen_credit_receiver_freed(pen_credit_receiver *receiver, uint32_t peer_i);

/* Both, of a packet that was copied out when it was found. As arrived answers, so does this. */
static inline pen_status pen_credit_receiver_passed(pen_credit_receiver *receiver, uint32_t peer_i,
                                                    pen_credit_tag tag);

/* A GIVE of the peer's was found in the mailbox. ERR_PROTOCOL: none was asked for, or it is more
 * than was asked or can be; nothing has changed then. */
pen_status pen_credit_receiver_hear(pen_credit_receiver *receiver, uint32_t peer_i,
                                    const pen_credit_message *message);

/* The next control packet to send, if any: its peer and what it says. It counts as sent. To be
 * asked after the four calls above until it answers false; waiting is allowed, and joins grants.
 */
bool pen_credit_receiver_next(pen_credit_receiver *receiver, uint32_t *peer_i,
                              pen_credit_message *message);

/* Whether the call above would answer true, now or after looking twice. */
static inline bool pen_credit_receiver_has_next(const pen_credit_receiver *receiver);

/* A data packet is about to go to the peer: what it can carry as a grant, of at most count_max
 * credits, without a control packet. False: nothing. It counts as sent. */
bool pen_credit_receiver_ride(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count_max,
                              pen_credit_message *message);

/* Whether so many are recovered that a grant may as well ride: half of what is worth a control
 * packet, or the peer hurries. A ride takes time at both ends, too. */
static inline bool pen_credit_receiver_is_worth_a_ride(const pen_credit_receiver *receiver,
                                                       uint32_t peer_i);

/* Compares every peer with the sums, which takes as long as there are peers. Ends the process if
 * they differ; for tests and checked builds. */
void pen_credit_receiver_audit(const pen_credit_receiver *receiver);

typedef struct pen_credit_receiver_counters {
    uint32_t quota;     /* what the peer is entitled to */
    uint32_t exposed;   /* credits that are out: in hand, under way, or in the mailbox */
    uint32_t recovered; /* freed slots that wait for a grant */
    uint32_t mailbox;   /* packets in the mailbox (and stash) */
    uint64_t packets;   /* that arrived, ever */
    uint64_t grants;    /* control packets with grants, ever */
    uint64_t rides;     /* grants that rode on data packets, ever */
    uint64_t recalls;   /* recalls sent, ever */
} pen_credit_receiver_counters;

void pen_credit_receiver_count(const pen_credit_receiver *receiver, uint32_t peer_i,
                               pen_credit_receiver_counters *out);

/* ---- the spending sender --------------------------------------------------------------------- */

typedef struct pen_credit_sender pen_credit_sender;

size_t pen_credit_sender_size(const pen_credit_params *params);
pen_credit_sender *pen_credit_sender_open(void *memory, const pen_credit_params *params);

/* Takes a credit for one packet to the peer; the tag goes with it. False: stalled; poll, then try
 * again. left: packets of the message still to go, with this one; what is lacking is counted once
 * for each stall. */
static inline bool pen_credit_sender_take(pen_credit_sender *sender, uint32_t peer_i,
                                          pen_credit_class packet, uint32_t left,
                                          pen_credit_tag *tag);

/* The same for what most packets are: more than half of the quota is in hand and nothing was
 * lacked, so that a packet of either class may go and its tag says nothing. False: it is not so,
 * and nothing was taken or noted. */
static inline bool pen_credit_sender_take_plain(pen_credit_sender *sender, uint32_t peer_i);

/* Whether half of the quota or less is in hand. For users that let requests wait so that replies
 * find credits; a user may not wait for this alone, since nobody owes it. */
static inline bool pen_credit_sender_is_low(const pen_credit_sender *sender, uint32_t peer_i);

/* A GRANT or RECALL of the peer's came. ERR_PROTOCOL: more than there can be, a second recall
 * before the first was answered, or one that the policy does not know; nothing has changed then. */
pen_status pen_credit_sender_hear(pen_credit_sender *sender, uint32_t peer_i,
                                  const pen_credit_message *message);

/* The next answer to a recall, if any. It counts as sent and goes in order with data packets. */
bool pen_credit_sender_next(pen_credit_sender *sender, uint32_t *peer_i,
                            pen_credit_message *message);
static inline bool pen_credit_sender_has_next(const pen_credit_sender *sender);

typedef struct pen_credit_sender_counters {
    uint32_t quota;   /* as the peer last said */
    uint32_t hand;    /* credits in hand */
    uint64_t packets; /* sent, ever */
    uint64_t stalls;  /* waits for credit, ever */
    uint64_t recalls; /* answered, ever */
    uint64_t given;   /* credits given back, ever */
} pen_credit_sender_counters;

void pen_credit_sender_count(const pen_credit_sender *sender, uint32_t peer_i,
                             pen_credit_sender_counters *out);

/* ---- inline ---------------------------------------------------------------------------------- */

/* What most packets come to: a credit is at hand and is taken; a packet has its credit; a slot is
 * freed and nothing comes due. All else is in sender.c and receiver.c. The state below is the
 * library's own: nobody else reads or writes it. */

enum { PEN_CREDIT_NONE = UINT32_MAX };

typedef struct pen_credit_link {
    uint32_t next;
    bool listed;
} pen_credit_link;

/* A first-in-first-out list of peers, each at most once. */
typedef struct pen_credit_list {
    uint32_t first, last;
    pen_credit_link *links; /* of every peer */
} pen_credit_list;

static inline bool pen_credit_list_empty(const pen_credit_list *list)
{
    return list->first == PEN_CREDIT_NONE;
}

/* Of a sender, what decides whose quota goes to whom. They stand by themselves since the activity
 * policy looks at every peer's. */
typedef struct pen_credit_share {
    uint32_t quota;                    /* what it is entitled to */
    uint32_t period_freed;             /* in this period, up to its last round */
    uint64_t period_start, last_freed; /* in packets, see `freed` */
    double pace; /* packets of all for one of its, in the last period; 0: none has ended */
} pen_credit_share;

/* The rest of a sender as its receiver sees it. What every packet looks at comes first. */
typedef struct pen_credit_source {
    uint64_t packets;
    uint32_t exposed;   /* granted and neither freed nor given back */
    uint32_t recovered; /* freed, not yet granted again */
    uint32_t mailbox;   /* arrived, not yet freed; of those exposed */
    uint32_t round_freed;
    uint32_t calm;         /* so many packets may be freed, at least, before anything comes due */
    uint32_t worth_a_ride; /* so many recovered are half of what is worth a control packet */
    /* Both only grow, and wrap: credits granted, and credits that the sender has shown it had. A
     * grant that was made after `before` of them was consumed if more than that have been shown. */
    uint32_t granted, shown;
    uint8_t before_count;
    bool urgent;        /* return what there is at once */
    bool recall_wanted; /* to be sent */
    bool recall_open;   /* wanted, or sent and not answered */
    bool asked_in_vain; /* loan: it had nothing to give in this epoch */
    bool epoch_ended;   /* loan: not yet told */
    bool has_enough;    /* activity: nobody had anything for it in this period */
    uint32_t told;      /* what it knows its quota to be, when it has heard all */
    uint32_t before[PEN_CREDIT_CONTROL_MAX]; /* of grants in control packets, oldest first */
    uint16_t requested;                      /* loan: how often it lacked credits lately */
    uint16_t borrowed;                       /* loan: what it was lent lately */
    uint32_t asked;                          /* by the recall that is under way */
    uint64_t grants, rides, recalls;
} pen_credit_source;

struct pen_credit_receiver {
    const struct pen_credit_rules *rules;
    pen_credit_params params;
    uint32_t slots;                 /* data slots */
    bool counts_arrivals;           /* the policy wants to know of each */
    uint32_t period;                /* activity: packets */
    uint32_t quota_free, quota_sum; /* together: slots */
    uint32_t pool, held_sum;        /* together: slots; held: exposed and recovered */
    uint32_t occupied;              /* packets in the mailbox */
    uint64_t freed;                 /* packets of all, ever: what activity is measured by */
    uint32_t recalls_open;          /* peers with one */
    uint32_t scavenge_i;            /* loan: where to go on looking */
    uint32_t epoch_packets;         /* loan: arrived in this epoch */
    pen_credit_list deficits;       /* peers that have less than their quota */
    pen_credit_list ready;          /* peers that may be owed a control packet */
    pen_credit_share *shares;       /* of every peer */
    pen_credit_source peers[];
};

/* A receiver as a sender sees it. */
typedef struct pen_credit_target {
    uint32_t hand, quota;
    uint32_t asked;    /* of the recall to be answered */
    uint32_t used_max; /* loan: of the quota, lately */
    uint16_t stalled;  /* loan: how often, lately */
    uint16_t given;    /* loan: credits, lately */
    uint8_t need;      /* lacking when the present stall began; 0: not stalled */
    uint64_t packets, stalls, recalls, given_ever;
} pen_credit_target;

struct pen_credit_sender {
    const struct pen_credit_rules *rules;
    pen_credit_params params;
    uint32_t slots, reserve;
    bool notes_use; /* of quotas, which decides how much of them is given back */
    pen_credit_list answers;
    pen_credit_target peers[];
};

/* Whether one packet more shows that the oldest grant in a control packet was consumed. */
static inline bool pen_credit_shows_a_grant(const pen_credit_source *peer)
{
    return peer->before_count > 0 && (int32_t)(peer->shown + 1 - peer->before[0]) > 0;
}

pen_status pen_credit_receiver_arrived_in_full(pen_credit_receiver *receiver, uint32_t peer_i,
                                               pen_credit_tag tag);

/* Whether a packet has its credit and says nothing but that it has come. */
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
        return pen_credit_receiver_arrived_in_full(receiver, peer_i, tag);
    peer->mailbox++;
    peer->packets++;
    peer->shown++;
    receiver->occupied++;
    PEN_INVARIANT(receiver->occupied <= receiver->slots);
    return PEN_OK;
}

void pen_credit_receiver_freed_in_full(pen_credit_receiver *receiver, uint32_t peer_i);

/* The slot stays with its sender. */
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
        pen_credit_receiver_freed_in_full(receiver, peer_i);
        return;
    }
    PEN_INVARIANT(peer->mailbox > 0);
    peer->mailbox--;
    receiver->occupied--;
    pen_credit_keep(receiver, peer, peer_i);
}

pen_status pen_credit_receiver_passed_in_full(pen_credit_receiver *receiver, uint32_t peer_i,
                                              pen_credit_tag tag);

static inline __attribute__((always_inline)) pen_status
pen_credit_receiver_passed(pen_credit_receiver *receiver, uint32_t peer_i, pen_credit_tag tag)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    if (pen_unlikely(peer->calm == 0 || !pen_credit_is_plain(receiver, peer, tag)))
        return pen_credit_receiver_passed_in_full(receiver, peer_i, tag);
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
    return peer->urgent || peer->recovered >= peer->worth_a_ride;
}

/* Notes the stall, if it begins. */
void pen_credit_sender_stall(pen_credit_target *peer, uint32_t reserve, uint32_t left);

static inline void pen_credit_note_used(pen_credit_target *peer)
{
    uint32_t used = peer->quota > peer->hand ? peer->quota - peer->hand : 0;
    if (used > peer->used_max)
        peer->used_max = used;
}

static inline bool pen_credit_sender_take(pen_credit_sender *sender, uint32_t peer_i,
                                          pen_credit_class packet, uint32_t left,
                                          pen_credit_tag *tag)
{
    pen_credit_target *peer = &sender->peers[peer_i];
    PEN_ASSERT(left > 0);
    uint32_t reserve = packet == PEN_CREDIT_REQUEST ? sender->reserve : 0;
    if (pen_unlikely(!PEN_CREDIT_MAY_TAKE(peer->hand, reserve))) {
        pen_credit_sender_stall(peer, reserve, left);
        return false;
    }
    peer->hand--;
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
