/* SPDX-License-Identifier: BSD-3-Clause */
/* credit_internal.h: the state of receiver and sender, and what a policy decides. Only the
 * functions declared here change quotas and slots, so that the sums always follow. */
#ifndef PEN_CREDIT_CREDIT_INTERNAL_H
#define PEN_CREDIT_CREDIT_INTERNAL_H

#include "credit/credit.h"

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

void pen_credit_list_open(pen_credit_list *list, pen_credit_link *links, uint32_t peers);
void pen_credit_list_push(pen_credit_list *list, uint32_t peer_i); /* unless it is in the list */
bool pen_credit_list_pop(pen_credit_list *list, uint32_t *peer_i);

static inline bool pen_credit_list_empty(const pen_credit_list *list)
{
    return list->first == PEN_CREDIT_NONE;
}

/* Of a sender, what decides whose quota goes to whom. They stand by themselves since the activity
 * policy looks at every peer's. */
typedef struct pen_credit_share {
    uint32_t quota;        /* what it is entitled to */
    uint32_t period_freed; /* in this period, up to its last round */
    uint64_t period_start, last_freed;
    double pace; /* time for a packet in the last period; 0: none has ended */
} pen_credit_share;

/* The rest of a sender as its receiver sees it. What every packet looks at comes first. */
typedef struct pen_credit_source {
    uint64_t packets;
    uint32_t exposed;   /* granted and neither freed nor given back */
    uint32_t recovered; /* freed, not yet granted again */
    uint32_t mailbox;   /* arrived, not yet freed; of those exposed */
    uint32_t round_freed;
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
    uint32_t period;                /* activity: packets */
    uint32_t quota_free, quota_sum; /* together: slots */
    uint32_t pool, held_sum;        /* together: slots; held: exposed and recovered */
    uint32_t occupied;              /* packets in the mailbox */
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
    pen_credit_list answers;
    pen_credit_target peers[];
};

/* What a policy decides. A function that is NULL: nothing to do. */
typedef struct pen_credit_rules {
    const char *name;
    bool shares_all;  /* all slots are shared out at the start, and nothing is recalled */
    bool gives_quota; /* with credits a sender gives back the quota for them */
    void (*round)(pen_credit_receiver *receiver, uint32_t peer_i, uint64_t now);
    void (*need)(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t need);
    void (*arrival)(pen_credit_receiver *receiver);
    uint32_t (*ask)(const pen_credit_receiver *receiver, uint32_t peer_i);
    void (*given)(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count);
    uint32_t (*give)(const pen_credit_sender *sender, uint32_t peer_i, uint32_t asked);
} pen_credit_rules;

extern const pen_credit_rules pen_credit_static, pen_credit_activity, pen_credit_loan;
const pen_credit_rules *pen_credit_rules_of(pen_credit_policy policy);
uint32_t pen_credit_slots(const pen_credit_params *params); /* data slots of all peers */

/* Quota: from the free quota to the peer (count < 0: back). */
void pen_credit_quota_add(pen_credit_receiver *receiver, uint32_t peer_i, int64_t count);
/* Slots: from the pool to the peer, up to its quota; the peer is remembered if it lacks some. */
void pen_credit_refill(pen_credit_receiver *receiver, uint32_t peer_i);
/* After a quota went down: what is recovered beyond it goes to the pool, and what is out beyond it
 * is recalled. */
void pen_credit_settle(pen_credit_receiver *receiver, uint32_t peer_i);
/* Asks for credits of the peer, unless that has been done. */
void pen_credit_recall(pen_credit_receiver *receiver, uint32_t peer_i);

static inline uint32_t pen_credit_min(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t pen_credit_max(uint32_t a, uint32_t b) { return a > b ? a : b; }

#endif
