/* SPDX-License-Identifier: BSD-3-Clause */
/* sender.c: the spending sender. A sender knows its credits in hand, and how many must stay there.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "credit/credit_internal.h"

void pen_credit_sender_stall(pen_credit_target *peer, uint32_t reserve, uint32_t left)
{
    if (peer->need > 0)
        return;
    uint64_t lacking = (uint64_t)left + reserve - peer->hand;
    peer->need = (uint8_t)(lacking < PEN_CREDIT_NEED_MAX ? lacking : PEN_CREDIT_NEED_MAX);
    peer->stalls++;
    if (peer->stalled < UINT16_MAX)
        peer->stalled++;
}

static void fade(pen_credit_target *peer)
{
    peer->stalled = (uint16_t)(peer->stalled >> PEN_CREDIT_FADE_SHIFT);
    peer->given = (uint16_t)(peer->given >> PEN_CREDIT_FADE_SHIFT);
    peer->used_max >>= PEN_CREDIT_FADE_SHIFT;
    pen_credit_note_used(peer);
}

static pen_status hear_grant(const pen_credit_sender *sender, pen_credit_target *peer,
                             const pen_credit_message *message, uint32_t quota)
{
    if (message->count > sender->slots || peer->hand > sender->slots - message->count)
        return PEN_ERR_PROTOCOL;
    peer->hand += message->count;
    peer->quota = quota;
    if (message->epoch)
        fade(peer);
    return PEN_OK;
}

pen_status pen_credit_sender_hear(pen_credit_sender *sender, uint32_t peer_i,
                                  const pen_credit_message *message)
{
    pen_credit_target *peer = &sender->peers[peer_i];
    int64_t quota = (int64_t)peer->quota + message->raised;
    if (quota < 0 || quota > sender->slots)
        return PEN_ERR_PROTOCOL;
    if (message->kind == PEN_CREDIT_GRANT)
        return hear_grant(sender, peer, message, (uint32_t)quota);
    if (message->kind != PEN_CREDIT_RECALL || sender->rules->give == NULL || peer->asked > 0 ||
        message->count == 0)
        return PEN_ERR_PROTOCOL;
    peer->asked = message->count;
    peer->quota = (uint32_t)quota;
    pen_credit_list_push(&sender->answers, peer_i);
    return PEN_OK;
}

bool pen_credit_sender_next(pen_credit_sender *sender, uint32_t *peer_i,
                            pen_credit_message *message)
{
    uint32_t i = 0;
    if (!pen_credit_list_pop(&sender->answers, &i))
        return false;
    pen_credit_target *peer = &sender->peers[i];
    uint32_t count = sender->rules->give(sender, i, peer->asked);
    PEN_INVARIANT(count <= peer->asked && count <= peer->hand);
    peer->asked = 0;
    peer->hand -= count;
    if (sender->rules->gives_quota)
        peer->quota -= count;
    peer->given = (uint16_t)pen_credit_min(peer->given + count, UINT16_MAX);
    peer->given_ever += count;
    peer->recalls++;
    *message = (pen_credit_message){ PEN_CREDIT_GIVE, count, 0, false };
    *peer_i = i;
    return true;
}

size_t pen_credit_sender_size(const pen_credit_params *params)
{
    return sizeof(pen_credit_sender) +
           params->peers * (sizeof(pen_credit_target) + sizeof(pen_credit_link));
}

pen_credit_sender *pen_credit_sender_open(void *memory, const pen_credit_params *params)
{
    PEN_INVARIANT(pen_credit_params_check(params) == NULL);
    pen_credit_sender *sender = memory;
    uint32_t start = pen_credit_start(params);
    *sender = (pen_credit_sender){
        .rules = pen_credit_rules_of(params->policy),
        .params = *params,
        .slots = pen_credit_slots(params),
        .reserve = params->one_way ? 0 : PEN_CREDIT_RESERVE,
        .notes_use = pen_credit_rules_of(params->policy)->gives_quota,
    };
    for (uint32_t i = 0; i < params->peers; i++)
        sender->peers[i] = (pen_credit_target){ .hand = start, .quota = start };
    pen_credit_list_open(&sender->answers, (pen_credit_link *)&sender->peers[params->peers],
                         params->peers);
    return sender;
}

void pen_credit_sender_count(const pen_credit_sender *sender, uint32_t peer_i,
                             pen_credit_sender_counters *out)
{
    const pen_credit_target *peer = &sender->peers[peer_i];
    *out = (pen_credit_sender_counters){
        .quota = peer->quota,
        .hand = peer->hand,
        .packets = peer->packets,
        .stalls = peer->stalls,
        .recalls = peer->recalls,
        .given = peer->given_ever,
    };
}
