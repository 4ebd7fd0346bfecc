/* SPDX-License-Identifier: BSD-3-Clause */
/* op.c: the initiator's side of an operation, from its start to its last event. An operation that
 * expects a response has a token, which the response repeats. */
#include "base/compiler.h"
#include "softnic/portals/inner.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_BITS = 20, NUMBERS = 1 << NUMBER_BITS };

p4_op *p4_op_make(p4_ni *ni, p4_kind kind)
{
    p4_op *op = calloc(1, sizeof(*op));
    if (op == NULL)
        return NULL;
    p4_list_init(&op->link);
    op->ni = ni;
    op->kind = kind;
    return op;
}

static void token_end(pen_portals *card, p4_op *op)
{
    if (op->token != 0)
        card->tokens[op->token % NUMBERS] = NULL;
    op->token = 0;
}

/* Gives back what an operation holds, so that descriptors can be released before its last event is
 * posted, and frees it. */
static void end(pen_portals *card, p4_op *op)
{
    token_end(card, op);
    if (op->is_begun) {
        card->peers[op->to].owing--;
        card->owing--;
    }
    p4_list_remove(&op->link);
    p4_op_free(op);
}

void p4_op_free(p4_op *op)
{
    if (op->put_md != NULL)
        op->put_md->pending--;
    if (op->get_md != NULL)
        op->get_md->pending--;
    free(op->copy);
    free(op);
}

/* Finds a number for an operation. 0 stands for no token. */
static bool token_make(pen_portals *card, p4_op *op)
{
    for (uint32_t tries = 1; tries < card->token_len; tries++) {
        card->token_next = card->token_next + 1 < card->token_len ? card->token_next + 1 : 1;
        if (card->tokens[card->token_next] == NULL) {
            card->token_lap++;
            op->token = (card->token_lap << NUMBER_BITS) | card->token_next;
            card->tokens[card->token_next] = op;
            return true;
        }
        if (card->owing * 2 < card->token_len)
            continue;
        break;
    }
    uint32_t len = card->token_len == 0 ? 64 : card->token_len * 2;
    p4_op **tokens = len <= NUMBERS ? realloc(card->tokens, len * sizeof(p4_op *)) : NULL;
    if (tokens == NULL)
        return false;
    memset(tokens + card->token_len, 0, (len - card->token_len) * sizeof(p4_op *));
    card->token_next = card->token_len == 0 ? 0 : card->token_len - 1;
    card->tokens = tokens;
    card->token_len = len;
    return token_make(card, op);
}

p4_op *p4_op_find(pen_portals *card, uint32_t token, uint32_t peer_i)
{
    uint32_t number = token % NUMBERS;
    if (token == 0 || number >= card->token_len)
        return NULL;
    p4_op *op = card->tokens[number];
    return op != NULL && op->token == token && op->to == peer_i ? op : NULL;
}

/* ---- events ----------------------------------------------------------------------------- */

/* The part of a descriptor that events need. The descriptor may be released while they are posted.
 */
typedef struct target {
    ptl_handle_eq_t eq;
    ptl_handle_ct_t ct;
    unsigned options;
} target;

static target target_of(const p4_md *md)
{
    PEN_INVARIANT(md != NULL); /* every operation has a descriptor until its last event */
    return (target){ md->md.eq_handle, md->md.ct_handle, md->md.options };
}

static void tell(pen_portals *card, const target *to, const ptl_event_t *event, bool has_full,
                 unsigned count_option, ptl_size_t bytes)
{
    bool is_ok = event->ni_fail_type == PTL_NI_OK;
    if (has_full && !(is_ok && (to->options & PTL_MD_EVENT_SUCCESS_DISABLE) != 0))
        p4_eq_post(card, to->eq, event);
    if ((to->options & count_option) == 0)
        return;
    ptl_size_t success = (to->options & PTL_MD_EVENT_CT_BYTES) != 0 ? bytes : 1;
    p4_ct_add(card, to->ct, is_ok ? success : 0, is_ok ? 0 : 1);
}

static void tell_sent(pen_portals *card, const target *to, void *user_ptr, ptl_size_t bytes,
                      ptl_ni_fail_t fail)
{
    ptl_event_t event = { .type = PTL_EVENT_SEND, .user_ptr = user_ptr, .ni_fail_type = fail };
    tell(card, to, &event, (to->options & PTL_MD_EVENT_SEND_DISABLE) == 0, PTL_MD_EVENT_CT_SEND,
         bytes);
}

/* Ends an operation with ACK or REPLY. */
static void tell_answer(pen_portals *card, p4_op *op, ptl_event_t event)
{
    bool is_reply = op->get_md != NULL;
    target to = target_of(is_reply ? op->get_md : op->put_md);
    ptl_ack_req_t ack = op->ack;
    event.type = is_reply ? PTL_EVENT_REPLY : PTL_EVENT_ACK;
    event.user_ptr = op->user_ptr;
    end(card, op);
    ptl_size_t bytes = event.mlength;
    if (!is_reply && ack == PTL_OC_ACK_REQ) { /* says only that the operation is over */
        to.options &= ~(unsigned)PTL_MD_EVENT_CT_BYTES;
        event.ni_fail_type =
            event.ni_fail_type == PTL_NI_UNDELIVERABLE ? event.ni_fail_type : PTL_NI_OK;
    }
    tell(card, &to, &event, is_reply || ack == PTL_ACK_REQ,
         is_reply ? PTL_MD_EVENT_CT_REPLY : PTL_MD_EVENT_CT_ACK, bytes);
}

void p4_op_answered(pen_portals *card, p4_op *op, const p4_packet *packet)
{
    tell_answer(card, op,
                (ptl_event_t){ .ni_fail_type = packet->fail,
                               .ptl_list = packet->list,
                               .mlength = packet->match_bits,
                               .remote_offset = packet->offset });
}

/* progress.c has checked the length of the whole reply. */
void p4_op_fill(p4_op *op, ptl_size_t moved, const void *from, size_t len)
{
    if (len > 0) /* an acknowledgement has no data, and its operation no descriptor for data */
        p4_space_write(&op->get_md->space, op->get_offset + moved, from, len);
}

void p4_op_fail(pen_portals *card, p4_op *op)
{
    bool was_sent = op->is_sent;
    if (!was_sent && op->put_md != NULL) {
        target to = target_of(op->put_md);
        void *user_ptr = op->user_ptr;
        ptl_size_t length = op->length;
        bool has_reply = op->get_md != NULL;
        if (has_reply) {
            op->put_md->pending--;
            op->put_md = NULL;
        } else {
            end(card, op);
        }
        tell_sent(card, &to, user_ptr, length, PTL_NI_UNDELIVERABLE);
        if (!has_reply)
            return;
    }
    tell_answer(card, op, (ptl_event_t){ .ni_fail_type = PTL_NI_UNDELIVERABLE });
}

/* ---- sending ---------------------------------------------------------------------------- */

static bool has_response(const p4_op *op)
{
    return op->get_md != NULL || op->ack != PTL_NO_ACK_REQ;
}

/* All of the operation was sent: the buffer may change. */
static void sent(pen_portals *card, p4_op *op)
{
    op->is_sent = true;
    if (op->put_md == NULL)
        return;
    target to = target_of(op->put_md);
    void *user_ptr = op->user_ptr;
    ptl_size_t length = op->length;
    if (!has_response(op)) {
        end(card, op);
    } else if (op->get_md != NULL) { /* the descriptor is not needed for the reply */
        op->put_md->pending--;
        op->put_md = NULL;
    }
    tell_sent(card, &to, user_ptr, length, PTL_NI_OK);
}

static p4_packet first_packet(const pen_portals *card, const p4_op *op)
{
    return (p4_packet){ .kind = (uint8_t)op->kind,
                        .ni = (uint8_t)op->ni->kind,
                        .ack = op->ack,
                        .operation = op->operation,
                        .datatype = op->datatype,
                        .pt_index = op->pt_index,
                        .uid = card->uid,
                        .token = op->token,
                        .match_bits = op->match_bits,
                        .offset = op->remote_offset,
                        .length = op->length,
                        .hdr_data = op->hdr_data };
}

bool p4_op_send(pen_portals *card, p4_op *op, p4_sent *state)
{
    ptl_size_t len = op->put_md != NULL ? op->length : 0;
    bool is_first = op->moved == 0 && !op->is_headed;
    do {
        p4_packet packet = { .kind = P4_DATA };
        p4_payload payload = { .plain = op->copy, .offset = op->moved };
        uint32_t max = p4_payload_max(&card->config);
        if (is_first) {
            packet = first_packet(card, op);
            payload.operand = op->operand;
            payload.operand_len = op->kind == P4_SWAP ? P4_OPERAND_LEN : 0;
        }
        if (op->copy == NULL && op->put_md != NULL) {
            payload.space = &op->put_md->space;
            payload.offset += op->put_offset;
        }
        payload.len = (uint32_t)(len - op->moved < max ? len - op->moved : max);
        *state = p4_send(card, op->to, P4_REQUESTS, &packet, &payload);
        if (*state != P4_SENT)
            return false;
        op->moved += payload.len;
        op->is_headed = true;
        is_first = false;
    } while (op->moved < len);
    sent(card, op);
    return true;
}

/* Keeps the data of an operation whose buffer may change at once. */
static void keep_copy(p4_op *op)
{
    if (op->put_md == NULL || (op->put_md->md.options & PTL_MD_VOLATILE) == 0 || op->copy != NULL ||
        op->is_headed || op->length == 0)
        return;
    op->copy = malloc(op->length);
    /* Without memory the data is read later, as of an operation that is not volatile. */
    if (op->copy != NULL)
        p4_space_read(&op->put_md->space, op->put_offset, op->copy, op->length);
}

void p4_op_start(pen_portals *card, p4_op *op)
{
    p4_peer *peer = &card->peers[op->to];
    op->is_begun = true;
    peer->owing++;
    card->owing++;
    if (peer->is_lost || p4_draw(card, card->config.faults.fail_one_in) ||
        (has_response(op) && !token_make(card, op))) {
        p4_op_fail(card, op);
        return;
    }
    p4_sent state = P4_FULL;
    if (p4_list_is_empty(&peer->requests) && p4_op_send(card, op, &state))
        return;
    keep_copy(op);
    p4_list_insert(&peer->requests, &op->link);
    card->counts.waited++;
    if (state == P4_BROKEN)
        p4_peer_lose(card, op->to);
    else
        p4_peer_is_busy(card, peer);
}

/* Tells the target that the rest of a message will not come. */
static void cut(pen_portals *card, p4_op *op)
{
    p4_packet packet = { .kind = P4_CUT };
    p4_payload nothing = { 0 };
    if (p4_send(card, op->to, P4_REQUESTS, &packet, &nothing) == P4_SENT)
        return;
    /* Without room for the notice the message cannot be ended: the connection is given up. */
    card->peers[op->to].is_lost = true;
}

static void drop_list(pen_portals *card, p4_link *list, const p4_ni *ni)
{
    for (p4_link *link = list->next, *next; link != list; link = next) {
        next = link->next;
        p4_op *op = pen_container_of(link, p4_op, link);
        if (op->ni != ni)
            continue;
        if (op->is_headed && !op->is_sent)
            cut(card, op);
        end(card, op);
    }
}

void p4_op_drop_all(p4_ni *ni)
{
    pen_portals *card = ni->card;
    drop_list(card, &card->fired, ni);
    for (uint32_t i = 0; i < card->config.processes; i++)
        drop_list(card, &card->peers[i].requests, ni);
    for (uint32_t i = 0; card->tokens != NULL && i < card->token_len; i++) {
        if (card->tokens[i] != NULL && card->tokens[i]->ni == ni)
            end(card, card->tokens[i]);
    }
}
