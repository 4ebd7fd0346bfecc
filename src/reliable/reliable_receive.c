/* SPDX-License-Identifier: BSD-3-Clause */
/* reliable_receive.c: the receiver's half of a session: what arrives is checked, told from what
 * arrived before, and handed on or kept. Bytes come from a peer: nothing is believed. */
#include "reliable/protocol_internal.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "link/lanes.h"

#include <string.h>

/* A frame of the link below, once it was read. */
typedef struct arrival {
    pen_rel_head head;
    uint64_t bytes[PEN_FRAME_HEAD_MAX / 8]; /* its head, read once */
    size_t used;
} arrival;

static bool read_arrival(pen_rel_core *core, const pen_frame *frame, arrival *out)
{
    if (frame->head_len < PEN_REL_HEAD_LEN || frame->head_len > sizeof out->bytes) {
        core->counts.malformed++;
        return false;
    }
    memcpy(out->bytes, frame->head, frame->head_len);
    if (!core->config.intact && pen_rel_sum(out->bytes, frame->head_len, frame->body,
                                            frame->body_len) != pen_rel_sum_read(out->bytes)) {
        core->counts.damaged++;
        return false;
    }
    if (!pen_rel_decode(out->bytes, frame->head_len, &out->head, &out->used)) {
        core->counts.malformed++;
        return false;
    }
    if (out->head.session != core->config.session) {
        core->counts.stale++;
        return false;
    }
    return true;
}

/* Finds the engine's frame in a received one. Returns false if the lengths do not fit. */
static bool split(const arrival *in, const pen_frame *frame, pen_rel_delivery *out)
{
    uint32_t head_len = in->head.head_len;
    uint32_t rest = frame->head_len - (uint32_t)in->used;
    out->lane = (pen_lane)in->head.lane;
    out->head_len = head_len;
    if ((in->head.flags & PEN_REL_HEAD_IN_BODY) == 0) {
        if (rest != head_len)
            return false;
        memcpy(out->head, (const unsigned char *)in->bytes + in->used, head_len);
        out->body = (void *)(uintptr_t)frame->body;
        out->body_len = frame->body_len;
        return true;
    }
    uint32_t body_off = (uint32_t)pen_align_up(head_len, REL_ALIGN);
    if (rest != 0 || frame->body_len < body_off)
        return false;
    memcpy(out->head, frame->body, head_len);
    out->body_len = frame->body_len - body_off;
    out->body = out->body_len != 0 ? (unsigned char *)(uintptr_t)frame->body + body_off : NULL;
    return true;
}

/* ---- frames nobody asked for ----------------------------------------------------------------- */

static bool keep(pen_rel_core *core, const pen_rel_delivery *delivery)
{
    static const size_t parts[PEN_LANES] = { 2, 3, 4 };
    const pen_frame frame = { delivery->head, delivery->body, delivery->head_len,
                              delivery->body_len };
    size_t size = pen_lanes_charge(frame.head_len, frame.body_len);
    if (core->kept.len + size > core->config.memory_max / 4 * parts[delivery->lane])
        return false;
    return pen_lanes_keep(&core->kept, delivery->from, delivery->lane, &frame, delivery->charge);
}

pen_kept *pen_rel_next_kept(pen_rel_core *core, unsigned lanes, pen_rel_delivery *out)
{
    pen_kept *kept = pen_lanes_take(&core->kept, lanes);
    if (kept == NULL)
        return NULL;
    out->from = kept->from;
    out->lane = kept->lane;
    out->head_len = kept->head_len;
    out->body_len = kept->body_len;
    out->charge = (uint32_t)kept->tag;
    memcpy(out->head, pen_kept_head(kept), kept->head_len);
    out->body = pen_kept_body(kept);
    return kept;
}

void pen_rel_kept_consumed(pen_rel_core *core, uint64_t now_ns, pen_kept *kept,
                           const pen_rel_delivery *delivery)
{
    pen_lanes_give(&core->kept, kept);
    pen_rel_consumed(core, now_ns, delivery);
}

/* ---- receiving ------------------------------------------------------------------------------- */

void pen_rel_consumed(pen_rel_core *core, uint64_t now_ns, const pen_rel_delivery *delivery)
{
    pen_rel_peer *peer = &core->peers[delivery->from];
    pen_rel_lane *side = &peer->lanes[delivery->lane];
    side->consumed += delivery->charge;
    core->counts.delivered++;
    uint32_t untold = side->consumed + core->quota[delivery->lane] - side->told;
    if (untold >= core->quota[delivery->lane] / 4) {
        rel_ack_owed(core, peer);
        peer->ack_now = true;
        rel_activate(core, peer, now_ns);
    }
}

static bool is_within_credit(const pen_rel_lane *side, uint32_t charge)
{
    return !pen_rel_after(side->accepted + charge, side->granted);
}

static pen_rel_result take_frame(pen_rel_core *core, pen_rel_peer *peer, const arrival *in,
                                 unsigned lanes, pen_rel_delivery *out)
{
    pen_rel_place place = pen_rel_window_look(&peer->window, in->head.sequence);
    pen_rel_lane *side = &peer->lanes[out->lane];
    if (place == PEN_REL_SEEN) {
        core->counts.duplicates++;
        peer->ack_now = true; /* its sender has not heard of the first */
        return PEN_REL_NOTHING;
    }
    out->charge = rel_charge(&core->config, out->head_len, out->body_len);
    if (place == PEN_REL_BEYOND || !is_within_credit(side, out->charge)) {
        core->counts.beyond++;
        return PEN_REL_NOTHING;
    }
    bool is_wanted = (lanes & PEN_LANE_BIT(out->lane)) != 0;
    if (!is_wanted && !keep(core, out)) {
        core->counts.unkept++;
        return PEN_REL_NOTHING; /* as if it had been lost */
    }
    bool makes_gap = pen_rel_after(in->head.sequence, peer->window.high);
    pen_rel_window_add(&peer->window, in->head.sequence);
    side->accepted += out->charge;
    uint32_t ahead = peer->window.high - peer->window.base;
    if (makes_gap || (ahead != 0 && ahead <= REL_GAP_NEAR)) /* the sender wants to know */
        peer->ack_now = true;
    return is_wanted ? PEN_REL_DELIVER : PEN_REL_KEPT;
}

/* The sender of a frame that is not acknowledged must not believe that it arrived. Among notes,
 * only questions have a number. */
static void note_transmission(pen_rel_peer *peer, uint64_t now_ns, const pen_rel_head *head)
{
    bool is_taken = head->kind == PEN_REL_NOTE
                        ? (head->flags & PEN_REL_ASK) != 0
                        : pen_rel_window_look(&peer->window, head->sequence) == PEN_REL_SEEN;
    if (!is_taken || !pen_rel_after(head->transmission, peer->heard_transmission))
        return;
    peer->heard_transmission = head->transmission;
    if (head->kind == PEN_REL_FRAME)
        peer->heard_sequence = head->sequence;
    peer->heard_ns = now_ns;
}

pen_rel_result pen_rel_receive(pen_rel_core *core, uint64_t now_ns, pen_peer from,
                               const pen_frame *frame, unsigned lanes, pen_rel_delivery *out)
{
    arrival in = { 0 };
    if (from >= core->config.peers || !read_arrival(core, frame, &in))
        return PEN_REL_NOTHING;
    pen_rel_peer *peer = &core->peers[from];
    bool has_ack = (in.head.flags & PEN_REL_ACK) != 0;
    if ((in.head.kind == PEN_REL_FRAME && !split(&in, frame, out)) ||
        (has_ack && !rel_ack_is_possible(peer, &in.head.ack))) {
        core->counts.malformed++;
        return PEN_REL_NOTHING;
    }
    out->from = from;
    if (has_ack)
        rel_take_ack(core, peer, now_ns, &in.head.ack);
    if (in.head.kind == PEN_REL_FRAME || (in.head.flags & PEN_REL_ASK) != 0)
        rel_ack_owed(core, peer);
    if ((in.head.flags & PEN_REL_ASK) != 0)
        peer->ack_now = true;
    rel_activate(core, peer, now_ns);
    if (in.head.kind == PEN_REL_NOTE) {
        note_transmission(peer, now_ns, &in.head);
        return PEN_REL_NOTHING;
    }
    pen_rel_result result = take_frame(core, peer, &in, lanes, out);
    note_transmission(peer, now_ns, &in.head);
    return result;
}
