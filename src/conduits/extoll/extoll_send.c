/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll_send.c: frames become packets. A packet is sent when there is a credit for it and the card
 * takes it. If a frame cannot go on, polls continue it from a copy. Credits are piggybacked on
 * packets that have eight bytes left; otherwise they go in packets of their own. */
#include "conduits/extoll/extoll.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "credit/credit.h"
#include "link/host.h"
#include "link/mailbox.h"
#include "link/pieces.h"
#include "link/transfers.h"
#include "link/turns.h"
#include "os/lock.h"
#include "softnic/extoll/velo2.h"

#include <string.h>

/* ---- the card -------------------------------------------------------------------------------- */

static inline void wake(const extoll_link *link, const extoll_peer *to)
{
    pen_host_wake_sleeper(link->base.host, to->rank, to->sleeping, link->fenced);
}

void extoll_commit(extoll_link *link)
{
    if (link->uncommitted == 0)
        return;
    (void)velo2_recv_commit(&link->velo);
    link->uncommitted = 0;
}

/* Returns its argument; if it is false, the card is tried again later. Credits are counted when a
 * packet is made, and their order in packets matters. So a packet that the card has refused is sent
 * before any new one. A packet to a peer that has gone counts as sent: a rank that leaves has
 * finished with all its peers. */
static inline bool goes_now(extoll_link *link, bool is_taken)
{
    if (pen_likely(is_taken))
        return true;
    atomic_store_explicit(&link->try_again, true, memory_order_relaxed);
    return false;
}

static void tx_list(extoll_link *link, const extoll_peer *to, pen_lane lane)
{
    (void)pen_turns_add(&link->tx_turns, to->rank * PEN_LANES + (uint32_t)lane);
}

/* ---- packets --------------------------------------------------------------------------------- */

/* Keeps a packet that the card has refused. Here and below a packet is two parts instead of a
 * structure, which a call would copy. */
static PEN_COLD bool keep_packet(extoll_link *link, extoll_peer *to, const uint64_t *lead,
                                 uint32_t lead_len, const char *body, uint32_t body_len,
                                 uint8_t tag, uint8_t mtt)
{
    to->packet_len =
        pen_piece_join(to->packet, (pen_piece_parts){ lead, body, lead_len, body_len });
    link->refused++;
    to->packet_tag = tag;
    to->packet_mtt = mtt;
    to->is_stuck = true;
    tx_list(link, to, pen_mailbox_tag_lane(tag));
    return false;
}

/* Each of these functions sends a packet for which there is a credit. Returns false if the card has
 * refused it, and it was kept. */

static inline __attribute__((always_inline)) bool
send_parts(extoll_link *link, extoll_peer *to, pen_piece_parts parts, uint8_t tag, uint8_t mtt)
{
    const velo2_ret_t sent = velo2_send_header(&to->velo, parts.lead, parts.lead_len / EXTOLL_WORD,
                                               parts.body, parts.body_len, tag, mtt);
    if (goes_now(link, sent != VELO2_RET_TRY_AGAIN))
        return true;
    return keep_packet(link, to, parts.lead, parts.lead_len, parts.body, parts.body_len, tag, mtt);
}

/* Appends a credit word if there is one and the packet has room. Slots that it grants must be free
 * for the card as well, so the card is told first. */
static __attribute__((noinline)) bool send_ride(extoll_link *link, extoll_peer *to,
                                                const uint64_t *lead, uint32_t lead_len,
                                                const char *body, uint32_t body_len, uint8_t tag,
                                                uint8_t mtt)
{
    pen_piece_parts parts = { lead, body, lead_len, body_len };
    uint64_t word, room[EXTOLL_PAYLOAD_MAX / EXTOLL_WORD];
    if (link->plan.coalesced && lead_len + body_len + EXTOLL_WORD <= link->packet_max &&
        pen_mailbox_tag_lane(tag) != PEN_LANE_CONTROL &&
        pen_mailbox_ride(&link->credits, to->source_i, &word)) {
        extoll_commit(link);
        if (body_len != 0) {
            const uint32_t len = pen_piece_join(room, parts);
            memcpy((char *)room + len, &word, sizeof word);
            parts = (pen_piece_parts){ .body = (const char *)room, .body_len = len };
        } else {
            parts.body = (const char *)&word;
        }
        parts.body_len += EXTOLL_WORD;
        tag |= PEN_MAILBOX_RIDE;
    }
    return send_parts(link, to, parts, tag, mtt);
}

static inline __attribute__((always_inline)) bool
send_packet(extoll_link *link, extoll_peer *to, pen_piece_parts parts, uint8_t tag, uint8_t mtt)
{
    if (parts.lead_len + parts.body_len < link->packet_max &&
        pen_unlikely(pen_mailbox_is_worth_a_ride(&link->credits, to->source_i)))
        return send_ride(link, to, parts.lead, parts.lead_len, parts.body, parts.body_len, tag,
                         mtt);
    return send_parts(link, to, parts, tag, mtt);
}

static bool retry_packet(extoll_link *link, extoll_peer *to)
{
    const velo2_ret_t sent =
        velo2_send(&to->velo, to->packet, to->packet_len, to->packet_tag, to->packet_mtt);
    if (!goes_now(link, sent != VELO2_RET_TRY_AGAIN))
        return false;
    to->packet_len = 0;
    to->is_stuck = false;
    link->refused--;
    return true;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static inline bool fits_short(const extoll_link *link, const pen_frame *frame)
{
    return frame->body_len == 0 && frame->head_len <= link->short_max;
}

static inline bool fits_packet(const extoll_link *link, const pen_frame *frame)
{
    return EXTOLL_WORD + frame->head_len + frame->body_len <= link->whole_max;
}

/* Sends the next packet with bytes before the body. Returns false if the frame has to wait. */
static inline __attribute__((always_inline)) bool send_lead(extoll_link *link, extoll_peer *to,
                                                            pen_credit_sender *sender,
                                                            pen_lane lane, pen_out *out)
{
    const uint32_t left = pen_out_left(out);
    uint32_t len = left;
    int tag = (int)lane;
    if (!pen_likely(pen_credit_sender_take_plain(sender, to->source_i)) &&
        (tag = pen_mailbox_take(&link->credits, to->source_i, lane, left,
                                out->kind != EXTOLL_MORE)) < 0)
        return false;
    if (pen_unlikely(!link->plan.coalesced)) /* header, arguments and payload begin packets */
        len = out->lead_left > out->args_len ? out->lead_left - out->args_len : out->lead_left;
    len = len < link->packet_max ? len : link->packet_max;
    const uint8_t mtt = out->kind;
    const pen_piece_parts parts = pen_out_cut(out, len);
    return send_packet(link, to, parts, (uint8_t)tag, mtt);
}

/* Sends packets of the frame as far as credits and card allow. The caller wakes the peer. */
static inline __attribute__((always_inline)) void out_run(extoll_link *link, extoll_peer *to,
                                                          pen_lane lane, pen_out *out)
{
    const uint32_t len_max = link->packet_max, source_i = to->source_i;
    pen_credit_sender *const sender = pen_mailbox_sender(&link->credits, lane);
    bool goes_on = goes_now(link, !to->is_stuck);
    while (goes_on && out->lead_left != 0)
        goes_on = send_lead(link, to, sender, lane, out);
    while (goes_on && out->body_left != 0) {
        const uint32_t len = out->body_left < len_max ? out->body_left : len_max;
        const pen_piece_parts parts = { .body = out->body, .body_len = len };
        int tag = (int)lane;
        if (!pen_likely(pen_credit_sender_take_plain(sender, source_i)) &&
            (tag = pen_mailbox_take(&link->credits, source_i, lane, out->body_left, false)) < 0)
            break;
        out->body += len;
        out->body_left -= len;
        goes_on = send_packet(link, to, parts, (uint8_t)tag, EXTOLL_MORE);
    }
}

/* ---- frames under way ------------------------------------------------------------------------ */

/* Keeps the rest of a frame, so that polls send it. */
static PEN_COLD pen_post tx_keep(extoll_link *link, extoll_peer *to, pen_lane lane, pen_out out)
{
    tx_list(link, to, lane);
    return pen_out_keep(&link->out_pool, &to->tx[lane], lane, out);
}

/* Sends packets to the peer; returns true if nothing of the lane is left. */
static bool tx_run(extoll_link *link, extoll_peer *to, pen_lane lane, unsigned *sent)
{
    pen_out_queue *tx = &to->tx[lane];
    if (to->packet_len != 0) {
        if (!retry_packet(link, to))
            return false;
        ++*sent;
    }
    while (tx->first != NULL) {
        pen_piece_buffer *buffer = tx->first;
        const uint32_t before = pen_out_left(&buffer->out);
        out_run(link, to, lane, &buffer->out);
        *sent += pen_out_left(&buffer->out) != before;
        if (pen_out_left(&buffer->out) != 0)
            return false;
        tx->first = buffer->next;
        pen_piece_give(&link->out_pool, buffer);
    }
    return to->packet_len == 0;
}

unsigned extoll_send_more(extoll_link *link)
{
    unsigned sent = 0;
    bool was_full = atomic_load_explicit(&link->try_again, memory_order_relaxed);
    atomic_store_explicit(&link->try_again, false, memory_order_relaxed);
    if (link->tx_turns.count == 0 || !(link->tx_news || was_full))
        return 0;
    link->tx_news = false;
    for (uint32_t left = link->tx_turns.count; left > 0; left--) {
        const uint32_t pair = pen_turns_take(&link->tx_turns);
        extoll_peer *to = &link->to[pair / PEN_LANES];
        pen_lane lane = (pen_lane)(pair % PEN_LANES);
        const unsigned before = sent;
        if (!tx_run(link, to, lane, &sent))
            tx_list(link, to, lane);
        if (sent != before)
            wake(link, to);
        pen_out_set_full(&to->tx[lane], lane);
    }
    return sent;
}

/* ---- credits by themselves ------------------------------------------------------------------- */

/* Words about credits have an order, too. So they wait while any packet is refused. */
unsigned extoll_send_credits(extoll_link *link)
{
    unsigned sent = 0;
    pen_peer peer = 0;
    uint64_t word;
    while (link->refused == 0 && pen_mailbox_has_next(&link->credits) &&
           pen_mailbox_next(&link->credits, &peer, &word)) {
        extoll_peer *to = &link->to[peer];
        extoll_commit(link); /* before the peer uses the slots that the word grants */
        if (send_parts(link, to, (pen_piece_parts){ .lead = &word, .lead_len = sizeof word }, 0,
                       EXTOLL_CREDIT)) {
            wake(link, to);
            sent++;
        }
    }
    return sent;
}

/* ---- posting --------------------------------------------------------------------------------- */

/* Frames to itself take no slot of the mailbox, which has room for peers only. */
static pen_post post_own(extoll_link *link, pen_lane lane, const pen_frame *frame, uint64_t number)
{
    if (link->transfers.held.count[lane] >= EXTOLL_SELF_MAX + link->plan.credits.data_slots ||
        !pen_transfers_hold(&link->transfers, link->base.self, lane, frame, number))
        return PEN_POST_AGAIN;
    return PEN_POST_DONE;
}

/* Posts a frame that may need more than one packet, or more than a plain credit. */
static __attribute__((noinline)) pen_post post_run(extoll_link *link, extoll_peer *to,
                                                   pen_lane lane, const pen_frame *frame,
                                                   bool is_short, uint64_t number)
{
    uint64_t lead[PEN_PIECE_LEAD_WORDS];
    if (pen_unlikely(to->is_stuck) && to->rank == link->base.self)
        return post_own(link, lane, frame, number);
    pen_out out = pen_out_begin(frame, is_short, number, lead);
    if (to->tx[lane].first == NULL) {
        if (!pen_piece_has_buffer(&link->out_pool)) /* for a part that cannot go now */
            return PEN_POST_AGAIN;
        out_run(link, to, lane, &out);
        if (out.kind == EXTOLL_MORE)
            wake(link, to);
        if (pen_out_left(&out) == 0)
            return PEN_POST_DONE;
    }
    if (lane == PEN_LANE_REQUEST && out.kind != EXTOLL_MORE)
        return PEN_POST_AGAIN;
    return tx_keep(link, to, lane, out);
}

/* Posts a frame that waits for no puts. Most frames are one packet and find a plain credit. */
static inline pen_post post_frame(extoll_link *link, extoll_peer *to, pen_lane lane,
                                  const pen_frame *frame)
{
    uint64_t lead[PEN_PIECE_LEAD_WORDS];
    const bool is_short = fits_short(link, frame);
    if (pen_unlikely(!is_short && !fits_packet(link, frame)) || pen_unlikely(to->is_stuck) ||
        pen_unlikely(to->tx[lane].first != NULL) || pen_unlikely(lane == PEN_LANE_CONTROL) ||
        !pen_likely(pen_credit_sender_take_plain(link->credits.data_sender, to->source_i)))
        return post_run(link, to, lane, frame, is_short, 0);
    const pen_out out = pen_out_begin(frame, is_short, 0, lead);
    (void)send_packet(link, to,
                      (pen_piece_parts){ out.lead, out.body, out.lead_left, out.body_left },
                      (uint8_t)lane, out.kind);
    wake(link, to);
    return PEN_POST_DONE;
}

/* Answer that needs no look at the frame; DONE if the frame decides. Reads without the lock,
 * which the poller may need to make room. relaxed: see extoll_peer, pen_out_queue */
static inline pen_post answer_at_once(const extoll_peer *to, pen_lane lane)
{
    if (pen_unlikely(atomic_load_explicit(&to->is_lost, memory_order_relaxed)))
        return PEN_POST_FAILED;
    if (pen_unlikely(atomic_load_explicit(&to->tx[lane].is_full, memory_order_relaxed)))
        return PEN_POST_AGAIN;
    return PEN_POST_DONE;
}

pen_post extoll_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    (void)op; /* data that cannot go now are copied */
    extoll_link *link = extoll_of(base);
    extoll_peer *peer = &link->to[to];
    pen_post result = answer_at_once(peer, lane);
    if (pen_unlikely(result != PEN_POST_DONE))
        return result;
    pen_lock_take(&link->lock);
    result = post_frame(link, peer, lane, frame);
    pen_lock_drop(&link->lock);
    return result;
}

static pen_post post_behind(pen_link *base, pen_peer to, pen_lane lane, const void *head,
                            uint32_t head_len)
{
    const pen_frame frame = { .head = head, .head_len = head_len };
    extoll_link *link = extoll_of(base);
    pen_post result = answer_at_once(&link->to[to], lane);
    if (result != PEN_POST_DONE)
        return result;
    pen_lock_take(&link->lock);
    const uint64_t number = pen_transfers_number(&link->transfers, to);
    const bool is_short = number == 0 && fits_short(link, &frame);
    result = post_run(link, &link->to[to], lane, &frame, is_short, number);
    pen_lock_drop(&link->lock);
    return result;
}

const pen_behind_ops extoll_behind = { .post = post_behind };
