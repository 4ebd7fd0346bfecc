/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c: sends what waits and takes packets in. Responses come first and are always taken.
 * Requests of a peer wait while many responses to it are queued. */
#include "base/compiler.h"
#include "os/os.h"
#include "softnic/portals/inner.h"

#include <errno.h>
#include <signal.h>

enum {
    PACKETS_MAX = 64,    /* packets taken from a lane in one round */
    RESPONSES_MAX = 256, /* responses queued to a peer */
    LOOK_NS = 20000000,  /* time between looks whether peers live */
};

/* No model delays a packet for so long. */
static const uint64_t due_max_ns = UINT64_C(10000000000);

bool p4_draw(pen_portals *card, uint32_t one_in)
{
    if (pen_likely(one_in == 0))
        return false;
    card->random ^= card->random << 13; /* xorshift64 */
    card->random ^= card->random >> 7;
    card->random ^= card->random << 17;
    bool strikes = (card->random >> 16) % one_in == 0;
    card->counts.faults += strikes;
    return strikes;
}

/* Writes part of a reply that stands in the ring. */
static void fill(pen_portals *card, uint32_t from, p4_op *op, const p4_arrival *arrival,
                 uint32_t bytes)
{
    size_t first;
    const p4_side *side = &card->peers[from].in[P4_RESPONSES];
    const unsigned char *at =
        p4_ring_at(side, card->config.ring_len, sizeof(p4_packet), bytes, &first);
    p4_op_fill(op, arrival->moved, at, first);
    p4_op_fill(op, arrival->moved + first, side->bytes, bytes - first);
}

/* Takes data of the response under way. */
static bool take_response_data(pen_portals *card, uint32_t from, uint32_t bytes)
{
    p4_arrival *arrival = &card->peers[from].arrival;
    /* The operation may be gone, since its interface may be closed at any time. */
    p4_op *op = p4_op_find(card, arrival->token, from);
    if (bytes > arrival->packet.length - arrival->moved)
        return false;
    if (op != NULL)
        fill(card, from, op, arrival, bytes);
    arrival->moved += bytes;
    if (arrival->moved < arrival->packet.length)
        return true;
    arrival->token = 0;
    if (op != NULL)
        p4_op_answered(card, op, &arrival->packet);
    return true;
}

static bool begin_response(pen_portals *card, uint32_t from, const p4_packet *packet)
{
    p4_arrival *arrival = &card->peers[from].arrival;
    const p4_op *op = p4_op_find(card, packet->token, from);
    bool is_reply = packet->kind == P4_REPLY;
    if (packet->token == 0 || packet->fail > PTL_NI_SEGV || packet->list > PTL_OVERFLOW_LIST ||
        (!is_reply && packet->length != 0))
        return false;
    if (op != NULL && ((op->kind != P4_PUT && op->kind != P4_ATOMIC) != is_reply ||
                       packet->length > op->length || packet->match_bits > op->length))
        return false;
    *arrival = (p4_arrival){ .token = packet->token, .packet = *packet };
    return take_response_data(card, from, packet->bytes);
}

static bool take_response(pen_portals *card, uint32_t from, const p4_packet *packet)
{
    p4_arrival *arrival = &card->peers[from].arrival;
    if (packet->kind == P4_ACK || packet->kind == P4_REPLY)
        return arrival->token == 0 && begin_response(card, from, packet);
    if (arrival->token == 0)
        return false;
    if (packet->kind == P4_DATA)
        return take_response_data(card, from, packet->bytes);
    if (packet->kind != P4_CUT)
        return false;
    p4_op *op = p4_op_find(card, arrival->token, from);
    arrival->token = 0;
    if (op != NULL)
        p4_op_fail(card, op);
    return true;
}

static bool take_request(pen_portals *card, uint32_t from, const p4_packet *packet)
{
    p4_peer *peer = &card->peers[from];
    if (packet->kind <= P4_SWAP)
        return !peer->has_message && p4_target_take(card, from, packet);
    if (!peer->has_message)
        return false;
    if (packet->kind == P4_DATA)
        return p4_target_data(card, from, packet);
    if (packet->kind != P4_CUT)
        return false;
    p4_target_cut(card, from);
    return true;
}

/* Tells whether a packet may be looked at now. */
static p4_ring_state is_due(pen_portals *card, const p4_packet *packet)
{
    if (packet->due_ns == 0)
        return P4_RING_YES;
    uint64_t now = pen_now_ns();
    if (packet->due_ns <= now)
        return P4_RING_YES;
    if (packet->due_ns - now > due_max_ns)
        return P4_RING_BROKEN;
    card->due_ns = packet->due_ns;
    return P4_RING_NO;
}

/* Takes packets of a lane. Returns whether more may be there. */
static bool drain_lane(pen_portals *card, uint32_t from, uint32_t lane, bool *moved)
{
    p4_peer *peer = &card->peers[from];
    p4_side *side = &peer->in[lane];
    for (int packet_i = 0; packet_i < PACKETS_MAX; packet_i++) {
        p4_packet packet;
        if (lane == P4_REQUESTS && peer->response_count >= RESPONSES_MAX)
            return true;
        p4_ring_state state =
            p4_ring_peek(side, card->config.ring_len, p4_payload_max(&card->config), &packet);
        if (state == P4_RING_NO)
            return false;
        if (state == P4_RING_YES)
            state = is_due(card, &packet);
        if (state == P4_RING_NO)
            return true;
        bool is_sound =
            state == P4_RING_YES && (lane == P4_REQUESTS ? take_request(card, from, &packet)
                                                         : take_response(card, from, &packet));
        if (!is_sound) {
            p4_peer_lose(card, from);
            return false;
        }
        p4_ring_pop(side, packet.bytes);
        card->counts.packets_received++;
        *moved = true;
    }
    return true;
}

static bool drain_ready(pen_portals *card)
{
    bool moved = false;
    card->due_ns = 0;
    for (uint32_t word_i = 0; word_i * 64 < card->config.processes; word_i++) {
        _Atomic uint64_t *shared = &card->row->ready[word_i];
        if (atomic_load_explicit(shared, memory_order_seq_cst) != 0)
            card->ready[word_i] |= atomic_exchange_explicit(shared, 0, memory_order_acquire);
        for (uint64_t bits = card->ready[word_i]; bits != 0; bits &= bits - 1) {
            uint32_t from = word_i * 64 + (uint32_t)__builtin_ctzll(bits);
            bool more = false;
            if (from < card->config.processes && !card->peers[from].is_lost) {
                more = drain_lane(card, from, P4_RESPONSES, &moved);
                more = drain_lane(card, from, P4_REQUESTS, &moved) || more;
            }
            if (!more)
                card->ready[word_i] &= ~(bits & -bits);
        }
    }
    return moved;
}

static bool send_waiting(pen_portals *card)
{
    bool moved = false;
    p4_link *end = &card->busy;
    for (p4_link *link = end->next, *next; link != end; link = next) {
        next = link->next;
        p4_peer *peer = pen_container_of(link, p4_peer, busy);
        moved = p4_send_queues(card, (uint32_t)(peer - card->peers)) || moved;
        if (p4_list_is_empty(&peer->requests) && p4_list_is_empty(&peer->responses)) {
            p4_list_remove(link);
            peer->is_busy = false;
        }
    }
    return moved;
}

static bool is_gone(pen_portals *card, uint32_t process_i)
{
    p4_row *row = p4_row_of(card->memory, process_i);
    /* acquire: packets that the process wrote before it closed are visible */
    uint32_t state = atomic_load_explicit(&row->state, memory_order_acquire);
    if (state == P4_ROW_CLOSED)
        return true;
    int32_t pid = atomic_load_explicit(&row->pid, memory_order_relaxed);
    return state == P4_ROW_OPEN && pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

static bool is_needed(const p4_peer *peer)
{
    return peer->owing > 0 || peer->has_message || peer->arrival.token != 0 || peer->is_busy;
}

/* Ends what is under way with peers that are gone, once all that they wrote is taken. */
static void look_at_peers(pen_portals *card)
{
    uint64_t now = pen_now_ns();
    if (now < card->next_look_ns)
        return;
    card->next_look_ns = now + LOOK_NS;
    for (uint32_t i = 0; i < card->config.processes; i++) {
        p4_peer *peer = &card->peers[i];
        if (!is_needed(peer) || peer->is_lost || i == card->own || !is_gone(card, i))
            continue;
        bool moved = false, more = drain_lane(card, i, P4_RESPONSES, &moved);
        more = drain_lane(card, i, P4_REQUESTS, &moved) || more;
        if (!more && !moved)
            p4_peer_lose(card, i);
    }
}

void p4_peer_lose(pen_portals *card, uint32_t process_i)
{
    p4_peer *peer = &card->peers[process_i];
    if (peer->is_lost)
        return;
    peer->is_lost = true;
    card->counts.lost_peers++;
    peer->arrival.token = 0;
    if (peer->has_message)
        p4_target_cut(card, process_i);
    while (!p4_list_is_empty(&peer->responses)) {
        p4_link *link = peer->responses.next;
        p4_list_remove(link);
        p4_response_free(card, pen_container_of(link, p4_response, link));
    }
    peer->response_count = 0;
    while (!p4_list_is_empty(&peer->requests)) {
        p4_link *link = peer->requests.next;
        p4_list_remove(link);
        p4_op_fail(card, pen_container_of(link, p4_op, link));
    }
    for (uint32_t i = 0; i < card->token_len; i++) {
        p4_op *op = card->tokens[i];
        if (op != NULL && op->to == process_i)
            p4_op_fail(card, op);
    }
}

bool p4_progress(pen_portals *card)
{
    if (card->peers == NULL)
        return false;
    card->calls++;
    bool moved = !p4_list_is_empty(&card->busy) && send_waiting(card);
    moved = drain_ready(card) || moved;
    if (!moved)
        look_at_peers(card);
    p4_start_fired(card);
    return moved;
}
