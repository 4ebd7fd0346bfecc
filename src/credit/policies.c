/* SPDX-License-Identifier: BSD-3-Clause */
/* policies.c: decides how many credits each peer may have. A policy moves quota. receiver.c moves
 * the slots after it where it can, and keeps both ledgers whatever a policy decides. */
#include "credit/credit_internal.h"

#define PACE_STOPPED 1e30

/* Rounds up the number of credits to move, since equally active peers never have quite the same
 * pace. It is below a half, or the credit would come back at once. */
#define PACE_ROUNDING 0.25

/* ---- activity -------------------------------------------------------------------------------- */

/* Returns a peer's pace: the number of packets of all peers for one packet of this peer. It is
 * measured over a period of many packets, so that a burst does not make a peer look fast. It is
 * not a time: if all peers pause together, no peer becomes slower. If the peer is slower in the
 * present period than in the last one, the present pace counts. If nothing has come from it for a
 * whole period of the asking peer, it has stopped, and other peers can use its quota down to the
 * least one. */
static double pace_of(const pen_credit_receiver *receiver, const pen_credit_share *peer, double own)
{
    double present = (double)(receiver->freed - peer->period_start);
    if ((double)(receiver->freed - peer->last_freed) > own * receiver->period)
        return PACE_STOPPED;
    if (present <= peer->pace * receiver->period)
        return peer
            ->pace; /* the usual case; it saves the divisions, since all peers are looked at */
    uint32_t round = PEN_CREDIT_ROUND(peer->quota, receiver->params.control);
    present /= (double)receiver->period + round;
    return present > peer->pace ? present : peer->pace;
}

/* Called when a round has ended. Returns false if the peer has no pace yet. */
static bool measure(pen_credit_receiver *receiver, uint32_t peer_i)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    pen_credit_share *share = &receiver->shares[peer_i];
    share->period_freed += peer->round_freed;
    peer->round_freed = 0;
    if (share->period_freed < receiver->period)
        return share->pace > 0;
    share->pace = (double)(receiver->freed - share->period_start) / share->period_freed;
    share->period_start = receiver->freed;
    share->period_freed = 0;
    peer->has_enough = false;
    return true;
}

/* Returns a peer's pace for the comparison with one's own: only the difference beyond the
 * hysteresis counts. So for peers that are about equally active only the quotas are compared. */
static double pace_beside(double own, double other, double hysteresis)
{
    if (other > own * hysteresis)
        return other / hysteresis;
    return other * hysteresis < own ? other * hysteresis : own;
}

/* Finds the peer whose quota lasts longest, among those above the least quota. *count is the
 * number of credits that it would have to lose for both quotas to last equally long. */
static uint32_t find_victim(const pen_credit_receiver *receiver, uint32_t peer_i, uint32_t *count)
{
    const pen_credit_share *self = &receiver->shares[peer_i];
    double own = self->pace, longest = 0, victims = 0;
    uint32_t found = PEN_CREDIT_NONE;
    for (uint32_t v = 0; v < receiver->params.peers; v++) {
        const pen_credit_share *peer = &receiver->shares[v];
        if (v == peer_i || peer->quota <= pen_credit_least(&receiver->params))
            continue;
        double pace = pace_beside(own, pace_of(receiver, peer, own), receiver->params.hysteresis);
        if (pace * peer->quota <= longest)
            continue;
        found = v;
        longest = pace * peer->quota;
        victims = pace;
    }
    double lasts = own * self->quota;
    *count = longest > lasts ? (uint32_t)((longest - lasts) / (victims + own) + PACE_ROUNDING) : 0;
    return found;
}

/* Moves at most count_max of the slowest peer's quota to the free quota. */
static void take_from_slowest(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count_max)
{
    uint32_t count = 0, victim = find_victim(receiver, peer_i, &count);
    if (victim == PEN_CREDIT_NONE || count == 0) {
        receiver->peers[peer_i].has_enough = true;
        return;
    }
    uint32_t has = receiver->shares[victim].quota - pen_credit_least(&receiver->params);
    count = pen_credit_min(pen_credit_min(count, count_max), has);
    pen_credit_quota_add(receiver, victim, -(int64_t)count);
    receiver->peers[victim].has_enough = false;
    pen_credit_settle(receiver, victim);
}

/* Called when a peer has used its quota up: it gets some of the free quota, else some of a slower
 * peer's quota. A peer with a larger quota gets more at once. So the rounds that quotas need to
 * follow a change of pattern hardly depend on the size of the quotas. */
static void activity_round(pen_credit_receiver *receiver, uint32_t peer_i)
{
    const pen_credit_share *share = &receiver->shares[peer_i];
    bool is_measured = measure(receiver, peer_i);
    uint32_t count_max = pen_credit_max(receiver->params.step, share->quota / 2);
    if (receiver->quota_free == 0 && is_measured && !receiver->peers[peer_i].has_enough)
        take_from_slowest(receiver, peer_i, count_max);
    pen_credit_quota_add(receiver, peer_i, pen_credit_min(receiver->quota_free, count_max));
}

/* Returns the credits that a peer owes and that do not come back by themselves when packets in the
 * mailbox are freed. */
static uint32_t activity_ask(const pen_credit_receiver *receiver, uint32_t peer_i)
{
    const pen_credit_source *peer = &receiver->peers[peer_i];
    return PEN_CREDIT_SPARE(peer->exposed - peer->mailbox, receiver->shares[peer_i].quota);
}

/* Credits that the peer did not give were spent before the answer, and their packets are in the
 * mailbox. The peer is asked again only for credits that it was granted, or came to owe, since
 * then. */
static void activity_given(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count)
{
    (void)count;
    if (activity_ask(receiver, peer_i) > 0)
        pen_credit_recall(receiver, peer_i);
}

static uint32_t activity_give(const pen_credit_sender *sender, uint32_t peer_i, uint32_t asked)
{
    return pen_credit_min(asked, PEN_CREDIT_SPARE(sender->peers[peer_i].hand, sender->reserve));
}

/* ---- loan ------------------------------------------------------------------------------------ */

static bool can_ask_back(const pen_credit_receiver *receiver, uint32_t peer_i)
{
    const pen_credit_source *peer = &receiver->peers[peer_i];
    return receiver->shares[peer_i].quota > pen_credit_least(&receiver->params) &&
           !peer->recall_open && !peer->asked_in_vain && peer->requested == 0;
}

/* Called when the reserve is empty: asks some of the peers that have not lacked credits recently
 * to give theirs back. Each search begins where the last one ended. */
static void scavenge(pen_credit_receiver *receiver)
{
    uint32_t peers = receiver->params.peers;
    for (uint32_t looked = 0; looked < peers; looked++) {
        if (receiver->recalls_open >= PEN_CREDIT_RECALLS_MAX)
            return;
        uint32_t i = receiver->scavenge_i;
        receiver->scavenge_i = i + 1 < peers ? i + 1 : 0;
        if (can_ask_back(receiver, i))
            pen_credit_recall(receiver, i);
    }
}

static void loan_need(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t need)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    if (peer->requested < UINT16_MAX)
        peer->requested++;
    uint32_t count = pen_credit_min(need, receiver->quota_free);
    if (peer->borrowed + need > PEN_CREDIT_LOAN_MAX ||
        receiver->shares[peer_i].quota + need > PEN_CREDIT_LOAN_QUOTA)
        count = 0;
    if (count == 0) {
        scavenge(receiver);
        return;
    }
    peer->borrowed = (uint16_t)(peer->borrowed + count);
    pen_credit_quota_add(receiver, peer_i, count);
    peer->urgent = true; /* the peer waits for these credits */
    pen_credit_refill(receiver, peer_i);
}

/* Fades the notes about peers at the end of every epoch. */
static void loan_arrival(pen_credit_receiver *receiver)
{
    if (++receiver->epoch_packets < receiver->params.epoch)
        return;
    receiver->epoch_packets = 0;
    for (uint32_t i = 0; i < receiver->params.peers; i++) {
        pen_credit_source *peer = &receiver->peers[i];
        peer->asked_in_vain = false;
        peer->epoch_ended = true;
        peer->requested = (uint16_t)(peer->requested >> PEN_CREDIT_FADE_SHIFT);
        peer->borrowed = (uint16_t)(peer->borrowed >> PEN_CREDIT_FADE_SHIFT);
    }
}

static uint32_t loan_ask(const pen_credit_receiver *receiver, uint32_t peer_i)
{
    return receiver->shares[peer_i].quota - pen_credit_least(&receiver->params);
}

static void loan_given(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count)
{
    if (count == 0)
        receiver->peers[peer_i].asked_in_vain = true;
}

/* A borrower keeps all credits while it stalls, else as many as it has used recently. */
static uint32_t loan_give(const pen_credit_sender *sender, uint32_t peer_i, uint32_t asked)
{
    const pen_credit_target *peer = &sender->peers[peer_i];
    uint32_t keep = pen_credit_least(&sender->params);
    if (peer->stalled > 0 || peer->given >= PEN_CREDIT_LOAN_MAX)
        return 0;
    if (peer->used_max > keep)
        keep = peer->used_max;
    uint32_t count = pen_credit_min(asked, PEN_CREDIT_SPARE(peer->hand, sender->reserve));
    count = pen_credit_min(count, PEN_CREDIT_SPARE(peer->quota, keep));
    return pen_credit_min(count, PEN_CREDIT_LOAN_MAX - peer->given);
}

/* ---- the table ------------------------------------------------------------------------------- */

const pen_credit_rules pen_credit_static = { .name = "static", .shares_all = true };

const pen_credit_rules pen_credit_activity = {
    .name = "activity",
    .round = activity_round,
    .ask = activity_ask,
    .given = activity_given,
    .give = activity_give,
};

const pen_credit_rules pen_credit_loan = {
    .name = "loan",
    .gives_quota = true,
    .need = loan_need,
    .arrival = loan_arrival,
    .ask = loan_ask,
    .given = loan_given,
    .give = loan_give,
};
