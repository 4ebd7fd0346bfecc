/* SPDX-License-Identifier: BSD-3-Clause */
/* send.c: writes packets into the rings of peers, and keeps what does not fit. */
#include "base/compiler.h"
#include "os/os.h"
#include "softnic/portals/inner.h"

#include <stdlib.h>
#include <string.h>

/* Returns when a packet may be looked at: 0 is at once. */
static uint64_t due_of(pen_portals *card, const p4_packet *packet)
{
    const pen_portals_model *model = &card->config.model;
    const pen_portals_faults *faults = &card->config.faults;
    bool is_late = packet->kind >= P4_ACK && p4_draw(card, faults->late_one_in);
    bool is_modelled = (model->latency_ns | model->step_ns | model->bytes_per_us) != 0;
    if (pen_likely(!is_late && !is_modelled))
        return 0;
    uint64_t now = pen_now_ns();
    if (card->link_free_ns < now)
        card->link_free_ns = now;
    if (model->bytes_per_us != 0)
        card->link_free_ns += (uint64_t)packet->bytes * 1000 / model->bytes_per_us;
    uint64_t due = card->link_free_ns + model->latency_ns;
    if (packet->kind != P4_DATA && packet->bytes > PEN_PORTALS_HEADER_PAYLOAD)
        due += model->step_ns;
    return due + (is_late ? faults->late_ns : 0);
}

static void put_plain(p4_side *side, uint32_t ring_len, uint64_t skip, const void *from, size_t len)
{
    size_t first;
    unsigned char *at = p4_ring_at(side, ring_len, skip, len, &first);
    memcpy(at, from, first);
    if (len > first)
        memcpy(side->bytes, (const char *)from + first, len - first);
}

static void put_space(p4_side *side, uint32_t ring_len, uint64_t skip, const p4_payload *payload)
{
    size_t first;
    unsigned char *at = p4_ring_at(side, ring_len, skip, payload->len, &first);
    p4_space_read(payload->space, payload->offset, at, first);
    if (payload->len > first)
        p4_space_read(payload->space, payload->offset + first, side->bytes, payload->len - first);
}

static void announce(pen_portals *card, uint32_t to)
{
    p4_row *row = p4_row_of(card->memory, to);
    /* seq_cst: after the packet, before `sleepers` is read */
    atomic_fetch_or_explicit(&row->ready[card->own / 64], UINT64_C(1) << card->own % 64,
                             memory_order_seq_cst);
    p4_ring_bell(row);
}

p4_sent p4_send(pen_portals *card, uint32_t to, uint32_t lane, p4_packet *packet,
                const p4_payload *payload)
{
    p4_peer *peer = &card->peers[to];
    if (peer->is_lost)
        return P4_BROKEN;
    p4_side *side = &peer->out[lane];
    uint32_t ring_len = card->config.ring_len, bytes = payload->operand_len + payload->len;
    p4_ring_state state = p4_ring_has_room(side, ring_len, bytes);
    if (state != P4_RING_YES)
        return state == P4_RING_NO ? P4_FULL : P4_BROKEN;
    packet->bytes = bytes;
    packet->due_ns = due_of(card, packet);
    uint64_t skip = sizeof(*packet);
    put_plain(side, ring_len, 0, packet, sizeof(*packet));
    if (payload->operand_len > 0)
        put_plain(side, ring_len, skip, payload->operand, payload->operand_len);
    skip += payload->operand_len;
    if (payload->space != NULL)
        put_space(side, ring_len, skip, payload);
    else if (payload->len > 0)
        put_plain(side, ring_len, skip, (const char *)payload->plain + payload->offset,
                  payload->len);
    p4_ring_push(side, bytes);
    announce(card, to);
    card->counts.packets_sent++;
    card->counts.bytes_sent += bytes;
    return P4_SENT;
}

void p4_peer_is_busy(pen_portals *card, p4_peer *peer)
{
    if (peer->is_busy)
        return;
    peer->is_busy = true;
    p4_list_insert(&card->busy, &peer->busy);
}

/* Sends as much of a response as fits. Returns whether all of it was sent. */
static bool send_response(pen_portals *card, uint32_t to, p4_response *response, p4_sent *state)
{
    ptl_size_t len = response->packet.length;
    for (;;) {
        ptl_size_t rest = len - response->moved;
        uint32_t max = p4_payload_max(&card->config);
        p4_payload payload = { .offset = response->moved,
                               .len = rest < max ? (uint32_t)rest : max,
                               .plain = response->copy };
        if (response->reads_entry) {
            payload.space = &response->message.entry->space;
            payload.offset += response->message.offset;
        }
        p4_packet packet = response->packet;
        if (response->moved > 0)
            packet = (p4_packet){ .kind = P4_DATA };
        *state = p4_send(card, to, P4_RESPONSES, &packet, &payload);
        if (*state != P4_SENT)
            return false;
        response->moved += payload.len;
        if (response->moved >= len)
            return true;
    }
}

static bool send_responses(pen_portals *card, uint32_t to, p4_sent *state)
{
    p4_peer *peer = &card->peers[to];
    bool moved = false;
    while (!p4_list_is_empty(&peer->responses)) {
        p4_response *response = pen_container_of(peer->responses.next, p4_response, link);
        ptl_size_t before = response->moved;
        if (!send_response(card, to, response, state))
            return moved || response->moved > before;
        p4_list_remove(&response->link);
        peer->response_count--;
        p4_response_free(card, response);
        moved = true;
    }
    return moved;
}

bool p4_send_queues(pen_portals *card, uint32_t to)
{
    p4_peer *peer = &card->peers[to];
    p4_sent state = P4_SENT;
    bool moved = send_responses(card, to, &state);
    while (state != P4_BROKEN && !p4_list_is_empty(&peer->requests)) {
        p4_op *op = pen_container_of(peer->requests.next, p4_op, link);
        ptl_size_t before = op->moved;
        /* The operation leaves the list first, because it may end. */
        p4_list_remove(&op->link);
        if (!p4_op_send(card, op, &state)) {
            p4_list_insert(peer->requests.next, &op->link);
            moved = moved || op->moved > before;
            break;
        }
        moved = true;
    }
    if (state == P4_BROKEN)
        p4_peer_lose(card, to);
    return moved;
}
