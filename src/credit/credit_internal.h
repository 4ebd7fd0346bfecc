/* SPDX-License-Identifier: BSD-3-Clause */
/* credit_internal.h: the decisions of a policy. Only the functions declared here, and those of
 * credit.h, change quotas and slots, so that the sums always follow. */
#ifndef PEN_CREDIT_CREDIT_INTERNAL_H
#define PEN_CREDIT_CREDIT_INTERNAL_H

#include "credit/credit.h"

#include <stdbool.h>
#include <stdint.h>

void pen_credit_list_open(pen_credit_list *list, pen_credit_link *links, uint32_t peers);
void pen_credit_list_push(pen_credit_list *list,
                          uint32_t peer_i); /* does nothing if the peer is in the list */
bool pen_credit_list_pop(pen_credit_list *list, uint32_t *peer_i);

/* The decisions of a policy. NULL: the policy has nothing to decide there. */
typedef struct pen_credit_rules {
    const char *name;
    bool shares_all;  /* all slots are shared out at the start, and nothing is recalled */
    bool gives_quota; /* a sender that gives credits back gives up that much quota */
    void (*round)(pen_credit_receiver *receiver, uint32_t peer_i);
    void (*need)(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t need);
    void (*arrival)(pen_credit_receiver *receiver);
    uint32_t (*ask)(const pen_credit_receiver *receiver, uint32_t peer_i);
    void (*given)(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count);
    uint32_t (*give)(const pen_credit_sender *sender, uint32_t peer_i, uint32_t asked);
} pen_credit_rules;

extern const pen_credit_rules pen_credit_static, pen_credit_activity, pen_credit_loan;
const pen_credit_rules *pen_credit_rules_of(pen_credit_policy policy);
uint32_t pen_credit_slots(const pen_credit_params *params); /* data slots of all peers */

/* Quota: moves count from the free quota to the peer (count < 0: back). */
void pen_credit_quota_add(pen_credit_receiver *receiver, uint32_t peer_i, int64_t count);
/* Slots: moves slots from the pool to the peer, up to its quota. If the pool is too small, the
 * peer is put in line. */
void pen_credit_refill(pen_credit_receiver *receiver, uint32_t peer_i);
/* Called after a quota went down: recovered credits beyond it go to the pool, exposed credits
 * beyond it are recalled. */
void pen_credit_settle(pen_credit_receiver *receiver, uint32_t peer_i);
/* Asks the peer for credits unless a recall is open. */
void pen_credit_recall(pen_credit_receiver *receiver, uint32_t peer_i);

/* The least quota of a peer. */
static inline uint32_t pen_credit_least(const pen_credit_params *params)
{
    return params->least != 0 ? params->least : PEN_CREDIT_QUOTA_MIN(params->control);
}

static inline uint32_t pen_credit_min(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t pen_credit_max(uint32_t a, uint32_t b) { return a > b ? a : b; }

#endif
