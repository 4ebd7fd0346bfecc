/* SPDX-License-Identifier: BSD-3-Clause */
/* receiver.c: the granting receiver. It keeps two ledgers: quotas (credits that each peer is
 * entitled to) and slots (credits that each peer has, exposed or recovered). The ledgers may
 * differ for a while, because an exposed credit cannot be taken from its sender, only asked for. A
 * slot is never granted twice. */
#include "base/compiler.h"
#include "base/status.h"
#include "credit/credit_internal.h"

static inline uint32_t held(const pen_credit_source *peer)
{
    return peer->exposed + peer->recovered;
}

/* The sums are kept beside their parts, so that an update which misses one of them is found. */
static inline void check_sums(const pen_credit_receiver *receiver)
{
    PEN_INVARIANT(receiver->quota_free <= receiver->slots && receiver->pool <= receiver->slots);
    PEN_INVARIANT(receiver->quota_sum + receiver->quota_free == receiver->slots);
    PEN_INVARIANT(receiver->held_sum + receiver->pool == receiver->slots);
    PEN_INVARIANT(receiver->occupied <= receiver->slots);
}

static void check_peer(const pen_credit_receiver *receiver, uint32_t peer_i)
{
    const pen_credit_source *peer = &receiver->peers[peer_i];
    uint32_t least = pen_credit_least(&receiver->params);
    PEN_INVARIANT(receiver->shares[peer_i].quota >= least);
    PEN_INVARIANT(held(peer) >= least);
    PEN_INVARIANT(peer->mailbox <= peer->exposed);
    PEN_INVARIANT(peer->before_count <= receiver->params.control);
    check_sums(receiver);
}

static uint32_t threshold(const pen_credit_receiver *receiver, uint32_t peer_i)
{
    uint32_t base = pen_credit_min(receiver->shares[peer_i].quota, held(&receiver->peers[peer_i]));
    return PEN_CREDIT_THRESHOLD(base, receiver->params.control);
}

static inline bool grant_is_due(const pen_credit_receiver *receiver, uint32_t peer_i)
{
    const pen_credit_source *peer = &receiver->peers[peer_i];
    uint32_t base = pen_credit_min(receiver->shares[peer_i].quota, held(peer));
    bool hurries = peer->urgent && receiver->params.least == 0;
    if (!hurries && (uint64_t)peer->recovered * (receiver->params.control + 1) <= base)
        return false; /* below the threshold: the usual case, and it saves a division */
    return peer->before_count < receiver->params.control &&
           PEN_CREDIT_IS_DUE(peer->recovered, threshold(receiver, peer_i), hurries);
}

/* Returns how many packets may be freed one by one before an event that is not listed yet: a grant
 * becomes due, a round ends, or a slot does not stay with its sender. */
static uint32_t calm_of(const pen_credit_receiver *receiver, uint32_t peer_i)
{
    const pen_credit_source *peer = &receiver->peers[peer_i];
    uint32_t quota = receiver->shares[peer_i].quota, calm = 0;
    if (!peer->urgent && !peer->recall_wanted && held(peer) == quota)
        calm = receiver->ready.links[peer_i].listed
                   ? receiver->slots
                   : PEN_CREDIT_SPARE(threshold(receiver, peer_i), peer->recovered + 1);
    if (receiver->rules->round != NULL && calm > 0) {
        uint32_t round = PEN_CREDIT_ROUND(quota, receiver->params.control);
        calm = pen_credit_min(calm, PEN_CREDIT_SPARE(round, peer->round_freed + 1));
    }
    return calm;
}

/* Called after every event that can make a control packet due. */
static inline void consider(pen_credit_receiver *receiver, uint32_t peer_i)
{
    if (receiver->peers[peer_i].recall_wanted || grant_is_due(receiver, peer_i))
        pen_credit_list_push(&receiver->ready, peer_i);
}

/* ---- moving quota and slots ------------------------------------------------------------------ */

static uint32_t worth_a_ride(uint32_t quota, uint32_t control)
{
    return quota / (2 * (control + 1)) + 1;
}

void pen_credit_quota_add(pen_credit_receiver *receiver, uint32_t peer_i, int64_t count)
{
    uint32_t quota = receiver->shares[peer_i].quota += (uint32_t)count;
    receiver->peers[peer_i].calm = 0;
    receiver->peers[peer_i].worth_a_ride = worth_a_ride(quota, receiver->params.control);
    receiver->quota_sum += (uint32_t)count;
    receiver->quota_free -= (uint32_t)count;
}

/* Moves credits from the pool to the recovered ones of a peer (count < 0: back). */
static void slots_add(pen_credit_receiver *receiver, pen_credit_source *peer, int64_t count)
{
    peer->recovered += (uint32_t)count;
    peer->calm = 0;
    receiver->held_sum += (uint32_t)count;
    receiver->pool -= (uint32_t)count;
}

/* Puts a peer that lacks slots in line for them. */
static void stand_in_line(pen_credit_receiver *receiver, uint32_t peer_i)
{
    if (held(&receiver->peers[peer_i]) < receiver->shares[peer_i].quota)
        pen_credit_list_push(&receiver->deficits, peer_i);
}

void pen_credit_refill(pen_credit_receiver *receiver, uint32_t peer_i)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    uint32_t quota = receiver->shares[peer_i].quota;
    if (held(peer) < quota)
        slots_add(receiver, peer, pen_credit_min(quota - held(peer), receiver->pool));
    stand_in_line(receiver, peer_i);
    consider(receiver, peer_i);
}

/* Gives slots of the pool to the peers that lack some, in the order in which they began to lack
 * them. A peer that gets only a part goes to the end. */
static void feed(pen_credit_receiver *receiver)
{
    uint32_t i = 0;
    while (receiver->pool > 0 && pen_credit_list_pop(&receiver->deficits, &i))
        pen_credit_refill(receiver, i);
}

void pen_credit_recall(pen_credit_receiver *receiver, uint32_t peer_i)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    if (peer->recall_open)
        return;
    peer->recall_open = peer->recall_wanted = true;
    peer->calm = 0;
    receiver->recalls_open++;
    pen_credit_list_push(&receiver->ready, peer_i);
}

void pen_credit_settle(pen_credit_receiver *receiver, uint32_t peer_i)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    uint32_t owed = PEN_CREDIT_SPARE(held(peer), receiver->shares[peer_i].quota);
    /* An urgent peer has no credit in hand, and must get one. */
    uint32_t spare = PEN_CREDIT_SPARE(peer->recovered, peer->urgent ? 1U : 0U);
    slots_add(receiver, peer, -(int64_t)pen_credit_min(owed, spare));
    if (receiver->rules->ask(receiver, peer_i) > 0)
        pen_credit_recall(receiver, peer_i);
    /* No grant becomes due: the threshold falls by at most the credits that were taken. */
}

/* ---- what happened --------------------------------------------------------------------------- */

/* Forgets the grants that the sender must have consumed, since it has shown more credits than it
 * had without them. */
static void forget_consumed(pen_credit_source *peer)
{
    uint8_t gone = 0;
    while (gone < peer->before_count && (int32_t)(peer->shown - peer->before[gone]) > 0)
        gone++;
    for (uint8_t i = gone; i < peer->before_count; i++)
        peer->before[i - gone] = peer->before[i];
    peer->before_count = (uint8_t)(peer->before_count - gone);
}

static void show(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count)
{
    receiver->peers[peer_i].shown += count;
    forget_consumed(&receiver->peers[peer_i]);
}

pen_status pen_credit_receiver_arrived_slow(pen_credit_receiver *receiver, uint32_t peer_i,
                                            pen_credit_tag tag)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    if (peer->exposed == peer->mailbox || tag.need > PEN_CREDIT_NEED_MAX)
        return PEN_ERR_PROTOCOL;
    peer->mailbox++;
    peer->packets++;
    receiver->occupied++;
    PEN_INVARIANT(receiver->occupied <= receiver->slots);
    show(receiver, peer_i, 1);
    if (tag.urgent && peer->exposed == peer->mailbox) { /* else a grant to it is under way */
        peer->urgent = true;
        peer->calm = 0;
    }
    if (receiver->rules->arrival != NULL)
        receiver->rules->arrival(receiver);
    if (tag.need > 0 && receiver->rules->need != NULL)
        receiver->rules->need(receiver, peer_i, tag.need);
    consider(receiver, peer_i);
    check_peer(receiver, peer_i);
    return PEN_OK;
}

void pen_credit_receiver_freed_slow(pen_credit_receiver *receiver, uint32_t peer_i)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    pen_credit_share *share = &receiver->shares[peer_i];
    PEN_INVARIANT(peer->mailbox > 0);
    peer->mailbox--;
    receiver->occupied--;
    peer->exposed--;
    if (PEN_CREDIT_IS_KEPT(peer->exposed, peer->recovered, share->quota, peer->urgent)) {
        peer->recovered++;
    } else {
        receiver->held_sum--;
        receiver->pool++;
    }
    peer->round_freed++;
    share->last_freed = ++receiver->freed;
    if (receiver->rules->round != NULL && peer->round_freed > share->quota && /* no division */
        peer->round_freed >= PEN_CREDIT_ROUND(share->quota, receiver->params.control))
        receiver->rules->round(receiver, peer_i);
    stand_in_line(receiver, peer_i);
    feed(receiver);
    consider(receiver, peer_i);
    peer->calm = calm_of(receiver, peer_i);
    check_peer(receiver, peer_i);
}

pen_status pen_credit_receiver_passed_slow(pen_credit_receiver *receiver, uint32_t peer_i,
                                           pen_credit_tag tag)
{
    pen_status status = pen_credit_receiver_arrived(receiver, peer_i, tag);
    if (status == PEN_OK)
        pen_credit_receiver_freed(receiver, peer_i);
    return status;
}

pen_status pen_credit_receiver_hear(pen_credit_receiver *receiver, uint32_t peer_i,
                                    const pen_credit_message *message)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    uint32_t count = message->count;
    if (message->kind != PEN_CREDIT_GIVE || !peer->recall_open || peer->recall_wanted ||
        count > peer->asked || count > peer->exposed - peer->mailbox)
        return PEN_ERR_PROTOCOL;
    peer->recall_open = false;
    receiver->recalls_open--;
    peer->exposed -= count;
    peer->calm = 0;
    receiver->held_sum -= count;
    receiver->pool += count;
    show(receiver, peer_i, count);
    if (receiver->rules->gives_quota) {
        pen_credit_quota_add(receiver, peer_i, -(int64_t)count);
        peer->told -= count;
    }
    receiver->rules->given(receiver, peer_i, count);
    /* The peer itself comes first: slots that it freed meanwhile may have gone to other peers. */
    pen_credit_refill(receiver, peer_i);
    feed(receiver);
    check_peer(receiver, peer_i);
    return PEN_OK;
}

/* ---- what to send ---------------------------------------------------------------------------- */

static int32_t tell_quota(pen_credit_receiver *receiver, uint32_t peer_i)
{
    uint32_t before = receiver->peers[peer_i].told, quota = receiver->shares[peer_i].quota;
    receiver->peers[peer_i].told = quota;
    return (int32_t)(quota - before);
}

/* Grants the recovered credits, at most count_max. */
static void grant(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count_max,
                  pen_credit_message *out)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    uint32_t count = pen_credit_min(peer->recovered, count_max);
    *out = (pen_credit_message){ PEN_CREDIT_GRANT, count, tell_quota(receiver, peer_i),
                                 peer->epoch_ended };
    peer->recovered -= count;
    peer->exposed += count;
    peer->granted += count;
    peer->calls_for_ride = 0;
}

/* Returns false if there are no longer credits to ask back. */
static bool take_recall(pen_credit_receiver *receiver, uint32_t peer_i, pen_credit_message *out)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    peer->recall_wanted = false;
    uint32_t count = receiver->rules->ask(receiver, peer_i);
    if (count == 0) {
        peer->recall_open = false;
        receiver->recalls_open--;
        return false;
    }
    *out = (pen_credit_message){ PEN_CREDIT_RECALL, count, tell_quota(receiver, peer_i), false };
    peer->asked = count;
    peer->recalls++;
    return true;
}

bool pen_credit_receiver_next(pen_credit_receiver *receiver, uint32_t *peer_i,
                              pen_credit_message *message)
{
    uint32_t i = 0;
    while (pen_credit_list_pop(&receiver->ready, &i)) {
        pen_credit_source *peer = &receiver->peers[i];
        bool found = peer->recall_wanted && take_recall(receiver, i, message);
        if (!found && grant_is_due(receiver, i)) {
            PEN_INVARIANT(peer->before_count < receiver->params.control);
            peer->before[peer->before_count++] = peer->granted;
            grant(receiver, i, UINT32_MAX, message);
            peer->grants++;
            found = true;
        }
        consider(receiver, i);
        peer->calm = calm_of(receiver, i);
        if (found) {
            *peer_i = i;
            check_peer(receiver, i);
            return true;
        }
    }
    return false;
}

bool pen_credit_receiver_ride(pen_credit_receiver *receiver, uint32_t peer_i, uint32_t count_max,
                              pen_credit_message *message)
{
    pen_credit_source *peer = &receiver->peers[peer_i];
    if (peer->recovered == 0 || count_max == 0)
        return false;
    grant(receiver, peer_i, count_max, message);
    peer->rides++;
    check_peer(receiver, peer_i);
    return true;
}

/* ---- making and looking ---------------------------------------------------------------------- */

size_t pen_credit_receiver_size(const pen_credit_params *params)
{
    return sizeof(pen_credit_receiver) +
           params->peers *
               (sizeof(pen_credit_source) + sizeof(pen_credit_share) + 2 * sizeof(pen_credit_link));
}

pen_credit_receiver *pen_credit_receiver_open(void *memory, const pen_credit_params *params)
{
    PEN_INVARIANT(pen_credit_params_check(params) == NULL);
    pen_credit_receiver *receiver = memory;
    uint32_t slots = pen_credit_slots(params), start = pen_credit_start(params);
    *receiver = (pen_credit_receiver){
        .rules = pen_credit_rules_of(params->policy),
        .params = *params,
        .slots = slots,
        .counts_arrivals = pen_credit_rules_of(params->policy)->arrival != NULL,
        .period = params->period > 0 ? params->period : PEN_CREDIT_PERIOD_DEFAULT,
        .quota_free = slots - params->peers * start,
        .quota_sum = params->peers * start,
        .pool = slots - params->peers * start,
        .held_sum = params->peers * start,
    };
    receiver->shares = (pen_credit_share *)&receiver->peers[params->peers];
    for (uint32_t i = 0; i < params->peers; i++) {
        receiver->shares[i] = (pen_credit_share){ .quota = start };
        receiver->peers[i] =
            (pen_credit_source){ .told = start,
                                 .exposed = start,
                                 .granted = start,
                                 .worth_a_ride = worth_a_ride(start, params->control) };
    }
    pen_credit_link *links = (pen_credit_link *)&receiver->shares[params->peers];
    pen_credit_list_open(&receiver->deficits, links, params->peers);
    pen_credit_list_open(&receiver->ready, links + params->peers, params->peers);
    check_sums(receiver);
    return receiver;
}

void pen_credit_receiver_audit(const pen_credit_receiver *receiver)
{
    uint64_t quota = 0, slots = 0, mailbox = 0;
    for (uint32_t i = 0; i < receiver->params.peers; i++) {
        const pen_credit_source *peer = &receiver->peers[i];
        check_peer(receiver, i);
        quota += receiver->shares[i].quota;
        slots += held(peer);
        mailbox += peer->mailbox;
        PEN_INVARIANT(peer->granted - peer->shown == peer->exposed - peer->mailbox);
        PEN_INVARIANT(peer->calm <= calm_of(receiver, i));
        PEN_INVARIANT(!grant_is_due(receiver, i) || receiver->ready.links[i].listed);
        PEN_INVARIANT(held(peer) >= receiver->shares[i].quota ||
                      receiver->deficits.links[i].listed);
    }
    PEN_INVARIANT(quota == receiver->quota_sum);
    PEN_INVARIANT(slots == receiver->held_sum);
    PEN_INVARIANT(mailbox == receiver->occupied);
}

void pen_credit_receiver_count(const pen_credit_receiver *receiver, uint32_t peer_i,
                               pen_credit_receiver_counters *out)
{
    const pen_credit_source *peer = &receiver->peers[peer_i];
    *out = (pen_credit_receiver_counters){
        .quota = receiver->shares[peer_i].quota,
        .exposed = peer->exposed,
        .recovered = peer->recovered,
        .mailbox = peer->mailbox,
        .packets = peer->packets,
        .grants = peer->grants,
        .rides = peer->rides,
        .recalls = peer->recalls,
    };
}
