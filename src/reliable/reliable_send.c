/* SPDX-License-Identifier: BSD-3-Clause */
/* reliable_send.c: the sender's half of a session: posting, acknowledgements, lost frames, probes.
 */
#include "reliable/protocol_internal.h"

#include "base/compiler.h"
#include "conduit/conduit.h"

#include <string.h>

enum { REORDER_MAX = 3 }; /* transmissions that overtake a frame before it counts as lost */

/* ---- one transmission ------------------------------------------------------------------------ */

static void fill_ack(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns, uint32_t ranges_max,
                     pen_rel_ack *ack)
{
    uint64_t delay_us = rel_since(now_ns, peer->heard_ns) / 1000;
    ack->base = peer->window.base;
    ack->transmission = peer->heard_transmission;
    ack->delay_us = delay_us < UINT32_MAX ? (uint32_t)delay_us : UINT32_MAX;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        ack->limit[lane] = peer->lanes[lane].granted =
            peer->lanes[lane].consumed + core->quota[lane];
    ack->range_count =
        pen_rel_window_ranges(&peer->window, peer->heard_sequence, ack->ranges, ranges_max);
}

/* The acknowledgement went out. */
static void ack_sent(pen_rel_core *core, pen_rel_peer *peer)
{
    if (peer->ack_count != 0)
        core->acks_due--;
    peer->ack_count = 0;
    peer->ack_now = false;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        peer->lanes[lane].told = peer->lanes[lane].granted;
}

static pen_post hand_down(pen_rel_core *core, pen_rel_peer *peer, const pen_rel_head *head,
                          pen_frame *frame, void *bytes, pen_op *op)
{
    if (!core->config.intact)
        pen_rel_sum_write(bytes, pen_rel_sum(bytes, frame->head_len, frame->body, frame->body_len));
    frame->head = bytes;
    pen_lane lane = head->kind == PEN_REL_NOTE ? PEN_LANE_CONTROL : (pen_lane)head->lane;
    pen_post result = core->out.send(core->out.ctx, rel_number(core, peer), lane, frame, op);
    if (result == PEN_POST_FAILED) {
        peer->is_lost = true;
        rel_activate(core, peer, 0);
    } else if (result != PEN_POST_AGAIN && (head->flags & PEN_REL_ACK) != 0) {
        ack_sent(core, peer);
    }
    return result;
}

/* The engine's head goes behind this link's header if it fits there, else in front of the body. */
static void lay_out(const pen_rel_record *record, pen_rel_head *head, pen_frame *frame,
                    unsigned char *bytes)
{
    uint32_t body_off = (uint32_t)pen_align_up(record->head_len, REL_ALIGN);
    uint32_t own_len = PEN_REL_HEAD_LEN;
    if ((head->flags & PEN_REL_ACK) != 0)
        own_len += PEN_REL_ACK_LEN + (head->ack.range_count + 1) / 2 * 8;
    if (own_len + record->head_len > PEN_FRAME_HEAD_MAX)
        head->flags |= PEN_REL_HEAD_IN_BODY;
    frame->head_len = (uint32_t)pen_rel_encode(head, bytes);
    frame->body = record->body;
    frame->body_len = record->body_len;
    if ((head->flags & PEN_REL_HEAD_IN_BODY) != 0) {
        frame->body = record->bytes;
        frame->body_len += body_off;
        return;
    }
    memcpy(bytes + frame->head_len, record->bytes, record->head_len);
    frame->head_len += record->head_len;
}

static pen_post transmit(pen_rel_core *core, pen_rel_peer *peer, pen_rel_record *record,
                         uint64_t now_ns, uint32_t flags)
{
    _Alignas(8) unsigned char bytes[PEN_FRAME_HEAD_MAX];
    pen_rel_head head = { .kind = PEN_REL_FRAME,
                          .lane = record->lane,
                          .flags = flags,
                          .head_len = record->head_len,
                          .session = peer->session,
                          .sequence = record->sequence,
                          .transmission = peer->next_transmission };
    if (peer->ack_count != 0) {
        uint32_t room = pen_rel_ranges_room(record->op != NULL ? record->head_len : 0);
        head.flags |= PEN_REL_ACK;
        fill_ack(core, peer, now_ns, room < PEN_REL_FRAME_RANGES ? room : PEN_REL_FRAME_RANGES,
                 &head.ack);
    }
    pen_frame frame = { 0 };
    lay_out(record, &head, &frame, bytes);
    /* relaxed: no other thread knows the op yet */
    atomic_store_explicit(&record->reading.source_busy, 1, memory_order_relaxed);
    atomic_store_explicit(&record->reading.incomplete, 1, memory_order_relaxed);
    pen_post result = hand_down(core, peer, &head, &frame, bytes, &record->reading);
    if (result != PEN_POST_PENDING)
        atomic_store_explicit(&record->reading.incomplete, 0, memory_order_relaxed);
    if (result == PEN_POST_AGAIN || result == PEN_POST_FAILED)
        return result;
    record->transmission = peer->next_transmission++;
    record->sent_ns = now_ns;
    peer->probe_base_ns = now_ns;
    return result;
}

bool rel_send_note(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns, uint32_t flags)
{
    _Alignas(8) unsigned char bytes[PEN_FRAME_HEAD_MAX];
    pen_rel_head head = { .kind = PEN_REL_NOTE,
                          .lane = PEN_LANE_CONTROL,
                          .flags = flags | PEN_REL_ACK,
                          .session = peer->session };
    /* An answer shows which frames were overtaken, by enough later frames to count as lost. */
    if ((flags & PEN_REL_ASK) != 0)
        head.transmission = peer->next_transmission + REORDER_MAX - 1;
    pen_frame frame = { 0 };
    fill_ack(core, peer, now_ns, PEN_REL_RANGES_MAX, &head.ack);
    frame.head_len = (uint32_t)pen_rel_encode(&head, bytes);
    if (hand_down(core, peer, &head, &frame, bytes, NULL) != PEN_POST_DONE)
        return false;
    if ((flags & PEN_REL_ASK) != 0)
        peer->next_transmission = head.transmission + 1;
    core->counts.notes++;
    return true;
}

/* ---- posting --------------------------------------------------------------------------------- */

/* Shared resources keep a part for the later lanes. */
static bool has_place(const pen_rel_peer *peer, pen_lane lane)
{
    static const uint32_t numbers[PEN_LANES] = { PEN_REL_WINDOW / 2, PEN_REL_WINDOW / 4 * 3,
                                                 PEN_REL_WINDOW };
    const uint64_t window = peer->pace.window;
    if (!rel_chain_is_empty(&peer->unacked)) {
        const pen_rel_record *oldest =
            pen_container_of(peer->unacked.behind, pen_rel_record, by_sequence);
        if (peer->next_sequence - oldest->sequence >= numbers[lane])
            return false;
    }
    return lane == PEN_LANE_CONTROL ||
           peer->flight < (lane == PEN_LANE_REPLY ? 2 * window : window);
}

static bool has_credit(const pen_rel_peer *peer, pen_lane lane, uint32_t charge)
{
    const pen_rel_lane *side = &peer->lanes[lane];
    return !pen_rel_after(side->sent + charge, side->limit);
}

/* The first frames of a burst leave at once, and so does a single frame. */
static bool may_gather(pen_rel_peer *peer, uint64_t now_ns)
{
    const bool is_burst = rel_since(now_ns, peer->posted_ns) < REL_GATHER_WAIT_NS;
    peer->posted_ns = now_ns;
    if (!is_burst || rel_chain_is_empty(&peer->unacked))
        return false;
    const pen_rel_record *oldest =
        pen_container_of(peer->unacked.behind, pen_rel_record, by_sequence);
    return peer->next_sequence - oldest->sequence >= REL_GATHER_AFTER;
}

static void fly(pen_rel_peer *peer, pen_rel_record *record)
{
    record->lost = false;
    rel_chain_append(&peer->flying, &record->by_transmission);
    peer->flight += record->charge;
}

/* The limit rises with what the peer acknowledges, or when it is asked. */
static void want_credit(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns)
{
    if (!peer->has_asked && rel_chain_is_empty(&peer->unacked)) {
        peer->probe_base_ns = now_ns;
        peer->has_asked = true;
        (void)rel_send_note(core, peer, now_ns, PEN_REL_ASK);
    }
    peer->wants_credit = true;
    rel_activate(core, peer, rel_probe_due(peer));
}

pen_post pen_rel_post(pen_rel_core *core, uint64_t now_ns, pen_peer to, pen_lane lane,
                      const pen_frame *frame, pen_op *op)
{
    pen_rel_peer *peer = &core->peers[to];
    if (peer->is_lost)
        return PEN_POST_FAILED;
    if (!peer->is_held_up) {
        peer->is_held_up = true;
        if (rel_hurry_due(peer) != UINT64_MAX)
            rel_activate(core, peer, rel_hurry_due(peer));
    }
    if (!has_credit(peer, lane, rel_charge(&core->config, frame->head_len, frame->body_len))) {
        want_credit(core, peer, now_ns);
        return PEN_POST_AGAIN;
    }
    if (!has_place(peer, lane))
        return PEN_POST_AGAIN;
    pen_rel_record *record = rel_record_make(core, lane, frame, op);
    if (record == NULL)
        return PEN_POST_AGAIN;
    record->sequence = peer->next_sequence;
    core->may_gather = may_gather(peer, now_ns);
    pen_post result = transmit(core, peer, record, now_ns, 0);
    core->may_gather = false;
    if (result == PEN_POST_AGAIN || result == PEN_POST_FAILED) {
        rel_record_free(core, record);
        return result;
    }
    peer->is_held_up = false;
    peer->next_sequence++;
    peer->lanes[lane].sent += record->charge;
    rel_chain_append(&peer->unacked, &record->by_sequence);
    fly(peer, record);
    core->counts.sent++;
    rel_activate(core, peer, rel_probe_due(peer));
    return record->op != NULL ? PEN_POST_PENDING : PEN_POST_DONE;
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

bool rel_ack_is_possible(const pen_rel_peer *peer, const pen_rel_ack *ack)
{
    uint32_t end = ack->base;
    if (ack->range_count != 0) {
        const pen_rel_range *last = &ack->ranges[ack->range_count - 1];
        end += (uint32_t)last->first + last->count;
    }
    return !pen_rel_after(end, peer->next_sequence) && !pen_rel_after(ack->base, end) &&
           pen_rel_after(peer->next_transmission, ack->transmission);
}

static void take_limits(pen_rel_peer *peer, const pen_rel_ack *ack)
{
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        pen_rel_lane *side = &peer->lanes[lane];
        uint32_t more = ack->limit[lane] - side->limit;
        if (more == 0 || more > REL_CREDIT_SERIAL_MAX) /* old, or nonsense */
            continue;
        side->limit = ack->limit[lane];
        peer->wants_credit = peer->has_asked = false;
    }
}

static void acked(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns, pen_rel_record *record,
                  const pen_rel_ack *ack)
{
    if (!record->lost)
        peer->flight -= record->charge;
    if (record->transmission == ack->transmission) {
        uint64_t round_ns = rel_since(now_ns, record->sent_ns),
                 delay_ns = (uint64_t)ack->delay_us * 1000;
        pen_rel_pace_sample(&peer->pace, now_ns, round_ns > delay_ns ? round_ns - delay_ns : 1,
                            record->charge);
    }
    rel_record_retire(core, record);
}

/* Whether that many behind the base have arrived; *i goes up with ahead. */
static bool is_in_ranges(const pen_rel_ack *ack, uint32_t ahead, uint32_t *i)
{
    while (*i < ack->range_count &&
           ahead >= (uint32_t)ack->ranges[*i].first + ack->ranges[*i].count)
        ++*i;
    return *i < ack->range_count && ahead >= ack->ranges[*i].first;
}

void rel_take_ack(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns, const pen_rel_ack *ack)
{
    uint32_t range_i = 0;
    bool is_news = false;
    if (pen_rel_after(ack->transmission, peer->acked_transmission))
        peer->acked_transmission = ack->transmission;
    for (pen_rel_chain *at = peer->unacked.behind; at != &peer->unacked;) {
        pen_rel_record *record = pen_container_of(at, pen_rel_record, by_sequence);
        uint32_t ahead = record->sequence - ack->base;
        at = at->behind;
        if (!pen_rel_after(ack->base, record->sequence) && !is_in_ranges(ack, ahead, &range_i)) {
            if (range_i == ack->range_count)
                break;
            continue;
        }
        acked(core, peer, now_ns, record, ack);
        is_news = true;
    }
    take_limits(peer, ack);
    pen_rel_pace_heard(&peer->pace);
    if (is_news) {
        peer->probe_base_ns = now_ns;
        peer->has_hurried = false;
    }
    rel_find_lost(core, peer, now_ns);
    rel_send_lost(core, peer, now_ns);
}

/* ---- what is lost ---------------------------------------------------------------------------- */

void rel_find_lost(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns)
{
    const uint64_t wait_ns = pen_rel_pace_loss_ns(&peer->pace);
    pen_rel_record *record;
    peer->loss_ns = 0;
    while ((record = rel_first_sent(&peer->flying)) != NULL &&
           pen_rel_after(peer->acked_transmission, record->transmission)) {
        uint32_t overtaken = peer->acked_transmission - record->transmission;
        if (overtaken < REORDER_MAX && rel_since(now_ns, record->sent_ns) < wait_ns) {
            peer->loss_ns = record->sent_ns + wait_ns;
            rel_activate(core, peer, peer->loss_ns);
            return;
        }
        rel_chain_remove(&record->by_transmission);
        rel_chain_append(&peer->lost, &record->by_transmission);
        record->lost = true;
        peer->flight -= record->charge;
    }
}

/* One more try; false: no room below. */
static bool send_again(pen_rel_core *core, pen_rel_peer *peer, pen_rel_record *record,
                       uint64_t now_ns, uint32_t flags)
{
    if (rel_record_is_read(record)) /* the last try has not left yet */
        return false;
    pen_post result = transmit(core, peer, record, now_ns, flags);
    if (result == PEN_POST_AGAIN || result == PEN_POST_FAILED)
        return false;
    rel_chain_remove(&record->by_transmission);
    if (!record->lost)
        peer->flight -= record->charge;
    fly(peer, record);
    core->counts.resent++;
    return true;
}

void rel_send_lost(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns)
{
    pen_rel_record *record;
    bool any_sent = false;
    while ((record = rel_first_sent(&peer->lost)) != NULL &&
           (peer->flight == 0 || peer->flight + record->charge <= peer->pace.window)) {
        /* All frames but the last are marked; the last one, or the note below, sends the bundle. */
        core->may_gather =
            peer->is_held_up || (record->by_transmission.behind != &peer->lost &&
                                 peer->flight + 2 * record->charge <= peer->pace.window);
        bool is_sent = send_again(core, peer, record, now_ns, 0);
        core->may_gather = false;
        if (!is_sent) {
            rel_activate(core, peer, now_ns + REL_ACK_WAIT_NS);
            return;
        }
        any_sent = true;
    }
    /* Nothing new follows them that would show, by arriving, that the last ones are lost again. */
    if (any_sent && peer->is_held_up)
        (void)rel_send_note(core, peer, now_ns, PEN_REL_ASK);
}

/* ---- probes ---------------------------------------------------------------------------------- */

uint64_t rel_probe_due(const pen_rel_peer *peer)
{
    if (rel_chain_is_empty(&peer->unacked) && !peer->wants_credit)
        return UINT64_MAX;
    return peer->probe_base_ns + pen_rel_pace_probe_ns(&peer->pace);
}

uint64_t rel_hurry_due(const pen_rel_peer *peer)
{
    const uint64_t wait_ns = pen_rel_pace_hurry_ns(&peer->pace);
    if (!peer->is_held_up || peer->has_hurried || rel_chain_is_empty(&peer->unacked) ||
        wait_ns == UINT64_MAX)
        return UINT64_MAX;
    return peer->probe_base_ns + wait_ns;
}

void rel_hurry(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns)
{
    peer->has_hurried = true;
    (void)rel_send_note(core, peer, now_ns, PEN_REL_ASK);
}

void rel_probe(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns)
{
    pen_rel_record *record = rel_first_sent(&peer->lost);
    if (record == NULL)
        record = rel_first_sent(&peer->flying);
    bool is_sent;
    if (record == NULL)
        is_sent = rel_send_note(core, peer, now_ns, PEN_REL_ASK);
    else
        is_sent = send_again(core, peer, record, now_ns, PEN_REL_ASK);
    core->counts.probes += is_sent && record != NULL;
    peer->probe_base_ns = now_ns;
    if (!is_sent) { /* no room below: that says nothing of the peer */
        peer->probe_base_ns = now_ns + REL_ACK_WAIT_NS - pen_rel_pace_probe_ns(&peer->pace);
        return;
    }
    pen_rel_pace_probed(&peer->pace);
}
