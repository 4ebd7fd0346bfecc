/* SPDX-License-Identifier: BSD-3-Clause */
/* policies.c: who may have how many credits. A policy moves quota; slots follow where they can, by
 * receiver.c, which keeps both ledgers whatever is decided here. */
#include "base/compiler.h"
#include "credit/credit_internal.h"

static uint32_t least(const pen_credit_params *params)
{
    return PEN_CREDIT_QUOTA_MIN(params->control);
}

/* ---- activity -------------------------------------------------------------------------------- */

/* How long a peer takes to use its quota up. One that is slower by now than it was last time is
 * that slow, so that those that stopped become victims by and by. */
static uint64_t round_time(const pen_credit_source *peer, uint64_t now)
{
    uint64_t present = now - peer->round_start;
    return present > peer->round_time ? present : peer->round_time;
}

/* The slowest of those that have something to lose and are enough slower than peer i; of equals
 * the one with the largest quota. */
static uint32_t find_victim(const pen_credit_receiver *receiver, uint32_t peer_i, uint64_t now)
{
    double limit = receiver->params.hysteresis * (double)receiver->peers[peer_i].round_time;
    uint32_t found = PEN_CREDIT_NONE, found_quota = 0;
    uint64_t found_time = 0;
    for (uint32_t v = 0; v < receiver->params.peers; v++) {
        const pen_credit_source *peer = &receiver->peers[v];
        if (v == peer_i || peer->quota <= least(&receiver->params))
            continue;
        uint64_t time = round_time(peer, now);
        if ((double)time <= limit || time < found_time ||
            (time == found_time && peer->quota <= found_quota))
            continue;
        found = v;
        found_time = time;
        found_quota = peer->quota;
    }
    return found;
}

/* A peer has used its quota up: it gets some of the free quota, else some of a slower peer's. */
static void activity_round(pen_credit_receiver *receiver, uint32_t peer_i, uint64_t now)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    peer->round_time = now - peer->round_start;
    peer->round_start = now;
    peer->round_freed = 0;
    if (receiver->quota_free == 0) {
        uint32_t victim = find_victim(receiver, peer_i, now);
        if (victim == PEN_CREDIT_NONE)
            return;
        uint32_t has = receiver->peers[victim].quota - least(&receiver->params);
        pen_credit_quota_add(receiver, victim,
                             -(int64_t)pen_credit_min(has, receiver->params.step));
        pen_credit_settle(receiver, victim);
    }
    pen_credit_quota_add(receiver, peer_i,
                         pen_credit_min(receiver->quota_free, receiver->params.step));
}

/* What a peer owes and what does not come back by itself, when packets in the mailbox are freed. */
static uint32_t activity_ask(const pen_credit_receiver *receiver, uint32_t peer_i)
{
    const pen_credit_source *peer = &receiver->peers[peer_i];
    return PEN_CREDIT_SPARE(peer->exposed - peer->mailbox, peer->quota);
}

/* What was not given was sent before the answer and is in the mailbox. Only for what
 * the peer was granted, or came to owe, since then is it asked again. */
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
    return peer->quota > least(&receiver->params) && !peer->recall_open && !peer->asked_in_vain &&
           peer->requested == 0;
}

/* The reserve is empty: some of those that have not lacked credits lately are asked for theirs,
 * going on where the last search ended. */
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
    if (peer->borrowed + need > PEN_CREDIT_LOAN_MAX || peer->quota + need > PEN_CREDIT_LOAN_QUOTA)
        count = 0;
    if (count == 0) {
        scavenge(receiver);
        return;
    }
    peer->borrowed = (uint16_t)(peer->borrowed + count);
    pen_credit_quota_add(receiver, peer_i, count);
    peer->urgent = true; /* it waits for these */
    pen_credit_refill(receiver, peer_i);
}

/* What was noted about peers counts less with every epoch. */
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
    return receiver->peers[peer_i].quota - least(&receiver->params);
}

static void loan_given(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count)
{
    if (count == 0)
        receiver->peers[peer_i].asked_in_vain = true;
}

/* A borrower keeps all while it stalls, else what it has used lately. */
static uint32_t loan_give(const pen_credit_sender *sender, uint32_t peer_i, uint32_t asked)
{
    const pen_credit_target *peer = &sender->peers[peer_i];
    uint32_t keep = least(&sender->params);
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
