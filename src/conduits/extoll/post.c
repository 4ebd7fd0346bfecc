/* SPDX-License-Identifier: BSD-3-Clause */
/* post.c: posts frames. The fast path sends a frame straight to the card. Otherwise a frame goes
 * as far as credits and card let it, and extoll_send.c continues it. */
#include "conduits/extoll/send.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "credit/credit.h"
#include "link/lanes.h"
#include "os/lock.h"
#include "softnic/extoll/velo2.h"

#include <string.h>

/* ---- frames of one packet -------------------------------------------------------------------- */

static inline bool fits_short(const extoll_link *link, const pen_frame *frame)
{
    return frame->body_len == 0 && frame->head_len <= link->short_max;
}

static inline bool fits_packet(const extoll_link *link, const pen_frame *frame)
{
    return link->plan.coalesced &&
           EXTOLL_WORD + frame->head_len + frame->body_len <= link->packet_max;
}

/* Parts of a frame that fits one packet. begun: memory for a begin word and the words behind it. */
static inline extoll_parts whole_parts(const pen_frame *frame, bool is_short,
                                       uint64_t begun[EXTOLL_HEAD_WORDS_MAX + 1])
{
    extoll_parts parts = { frame->head, frame->body, frame->head_len, frame->body_len };
    if (!is_short) {
        begun[0] = extoll_begin(parts.lead_len, parts.body_len, false);
        for (uint32_t i = 0; i < parts.lead_len / EXTOLL_WORD; i++)
            begun[1 + i] = parts.lead[i];
        parts.lead = begun;
        parts.lead_len += EXTOLL_WORD;
    }
    return parts;
}

/* Keeps a frame of one packet under way after the card has refused the packet. */
static PEN_COLD void keep_whole(extoll_link *link, extoll_peer *to, pen_lane lane)
{
    extoll_tx *tx = &to->tx[lane];
    tx->lead_len = tx->sent = tx->packet_len; /* only the packet is left of it */
    tx->body_len = 0;
    extoll_tx_settle(link, to, lane, false);
}

/* Posts a frame that fits one packet. Returns false if there is no credit. */
static bool post_whole(extoll_link *link, extoll_peer *to, pen_lane lane, const pen_frame *frame,
                       bool is_short)
{
    pen_credit_tag credit;
    if (!extoll_is_next(link, to, lane) || !extoll_take_credit(link, to, lane, 1, &credit))
        return false;
    uint64_t begun[EXTOLL_HEAD_WORDS_MAX + 1];
    const extoll_parts parts = whole_parts(frame, is_short, begun);
    if (extoll_send_packet(link, to, lane, &parts, is_short ? EXTOLL_SHORT : EXTOLL_BEGIN, credit))
        extoll_wake(link, to);
    else
        keep_whole(link, to, lane);
    return true;
}

/* ---- frames of more packets ------------------------------------------------------------------ */

/* Whether there is a buffer for a body that cannot go at once. Checked first, because a part of
 * the body may have gone by the time the buffer is needed. */
static bool has_buffer(extoll_link *link)
{
    if (pen_likely(link->buffers != NULL))
        return true;
    extoll_buffer *buffer = extoll_buffer_take(link);
    if (buffer != NULL)
        extoll_buffer_give(link, buffer);
    return buffer != NULL;
}

static pen_post post_packets(extoll_link *link, extoll_peer *to, pen_lane lane,
                             const pen_frame *frame, bool is_short, uint64_t number)
{
    extoll_tx *tx = &to->tx[lane];
    unsigned sent = 0;
    if (frame->body_len != 0 && !has_buffer(link))
        return PEN_POST_AGAIN;
    extoll_tx_begin(tx, frame->head, frame->head_len, frame->body, frame->body_len, is_short,
                    number);
    bool has_gone = extoll_tx_run(link, to, lane, tx, &sent);
    bool is_refused = lane == PEN_LANE_REQUEST && tx->sent == 0; /* no credit: it has not begun */
    extoll_tx_settle(link, to, lane, has_gone || is_refused);
    if (sent != 0)
        extoll_wake(link, to);
    return is_refused ? PEN_POST_AGAIN : PEN_POST_DONE;
}

/* Posts a frame behind one that is under way. Requests are never queued like this. */
static pen_post post_after(extoll_link *link, extoll_peer *to, pen_lane lane,
                           const pen_frame *frame, bool is_short, bool behind_puts)
{
    extoll_tx *tx = &to->tx[lane];
    bool has_place = lane != PEN_LANE_REQUEST && tx->behind == NULL;
    extoll_buffer *buffer = has_place ? extoll_buffer_take(link) : NULL;
    if (buffer == NULL)
        return PEN_POST_AGAIN;
    buffer->head_len = frame->head_len;
    buffer->body_len = frame->body_len;
    buffer->number = behind_puts ? extoll_rma_number(link, to->rank) : 0;
    buffer->is_short = is_short;
    memcpy(buffer->head, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(buffer->body, frame->body, frame->body_len);
    tx->behind = buffer;
    extoll_tx_set_full(tx, lane);
    return PEN_POST_DONE;
}

/* ---- frames to ourselves --------------------------------------------------------------------- */

/* Frames to itself take no slot of the mailbox, which has room for peers only. */
static pen_post post_own(extoll_link *link, pen_lane lane, const pen_frame *frame, bool behind_puts)
{
    uint64_t number = behind_puts ? extoll_rma_number(link, link->base.self) : 0;
    if (link->own.count[lane] == EXTOLL_SELF_MAX ||
        !pen_lanes_keep(&link->own, link->base.self, lane, frame, number))
        return PEN_POST_AGAIN;
    atomic_fetch_add_explicit(&link->own_total, 1, memory_order_relaxed);
    return PEN_POST_DONE;
}

/* ---- any frame ------------------------------------------------------------------------------- */

/* Holds a request back while less than half of the quota is left, as long as credits keep
 * coming: the rest is for replies. Without this rule, a rank that sends as many requests as it
 * can has no credit left for replies to its peer. It has to stash the peer's requests and
 * returns no credit for them, while its peer does the same. Correctness does not depend on
 * this rule: after a fixed number of tries one credit is enough, as the credit rules demand. */
static inline bool is_held_back(const extoll_link *link, extoll_peer *to)
{
    if (to->patience == 0 || !pen_credit_sender_is_low(link->data_sender, to->source_i))
        return false;
    to->patience--;
    return true;
}

static pen_post post_locked(extoll_link *link, extoll_peer *to, pen_lane lane,
                            const pen_frame *frame, bool behind_puts)
{
    bool is_short = !behind_puts && fits_short(link, frame);
    if (to->tx[lane].is_active)
        return post_after(link, to, lane, frame, is_short, behind_puts);
    if (lane == PEN_LANE_REQUEST && is_held_back(link, to))
        return PEN_POST_AGAIN;
    if (is_short || (!behind_puts && fits_packet(link, frame))) {
        if (post_whole(link, to, lane, frame, is_short))
            return PEN_POST_DONE;
        if (lane == PEN_LANE_REQUEST)
            return PEN_POST_AGAIN;
    }
    uint64_t number = behind_puts ? extoll_rma_number(link, to->rank) : 0;
    return post_packets(link, to, lane, frame, is_short, number);
}

static __attribute__((noinline)) pen_post post_any(extoll_link *link, extoll_peer *to,
                                                   pen_lane lane, const pen_frame *frame,
                                                   bool behind_puts)
{
    return to->rank == link->base.self ? post_own(link, lane, frame, behind_puts)
                                       : post_locked(link, to, lane, frame, behind_puts);
}

/* ---- what most frames are -------------------------------------------------------------------- */

/* Whether no frame blocks this one, and no credit waits to be piggybacked. */
static inline bool is_plain(const extoll_link *link, const extoll_peer *to, pen_lane lane)
{
    return pen_likely(lane != PEN_LANE_CONTROL) && pen_likely(!to->tx[lane].is_active) &&
           pen_likely(to->refused == PEN_LANES && link->held_to != to->rank) &&
           pen_likely(to->rank != link->base.self) &&
           pen_likely(!pen_credit_receiver_is_worth_a_ride(link->data_receiver, to->source_i));
}

/* Fast path for frames of one packet. Returns false if there is no plain credit; nothing has
 * happened then. */
static inline bool post_plain_whole(extoll_link *link, extoll_peer *to, pen_lane lane,
                                    const pen_frame *frame, bool is_short)
{
    if (pen_unlikely(!pen_credit_sender_take_plain(link->data_sender, to->source_i)))
        return false;
    uint64_t begun[EXTOLL_HEAD_WORDS_MAX + 1];
    const extoll_parts parts = whole_parts(frame, is_short, begun);
    if (pen_likely(extoll_send_parts(link, to, lane, &parts, (uint8_t)lane,
                                     is_short ? EXTOLL_SHORT : EXTOLL_BEGIN)))
        extoll_wake(link, to);
    else
        keep_whole(link, to, lane);
    return true;
}

/* Continues a frame of which a part has gone. refused: that part's last packet if the card has
 * refused it, or NULL. */
static PEN_COLD void go_on(extoll_link *link, extoll_peer *to, pen_lane lane,
                           const pen_frame *frame, uint32_t done, const extoll_parts *refused,
                           uint8_t mtt)
{
    extoll_tx *tx = &to->tx[lane];
    unsigned sent = 0;
    extoll_tx_begin(tx, frame->head, frame->head_len, frame->body, frame->body_len, false, 0);
    tx->sent = done;
    if (refused != NULL) {
        extoll_keep_packet(tx, refused, (uint8_t)lane, mtt);
        to->refused = (uint8_t)lane;
    }
    extoll_tx_settle(link, to, lane, extoll_tx_run(link, to, lane, tx, &sent));
}

/* Fast path for frames of several packets. Returns false if nothing was sent: there is no plain
 * credit, or the head is longer than a packet. */
static __attribute__((noinline)) bool post_plain_run(extoll_link *link, extoll_peer *to,
                                                     pen_lane lane, const pen_frame *frame)
{
    uint64_t begun[EXTOLL_HEAD_WORDS_MAX + 1];
    extoll_parts parts = whole_parts(frame, false, begun);
    uint32_t len_max = link->packet_max, done = 0, total = parts.lead_len + parts.body_len;
    uint8_t mtt = EXTOLL_BEGIN;
    bool is_refused = false;
    if (pen_unlikely(parts.lead_len > len_max) || pen_unlikely(!has_buffer(link)))
        return false;
    parts.body_len = len_max - parts.lead_len;
    while (pen_likely(pen_credit_sender_take_plain(link->data_sender, to->source_i))) {
        done += parts.lead_len + parts.body_len;
        is_refused = !extoll_card_takes(
            link, velo2_send_header(&to->velo, parts.lead, parts.lead_len / EXTOLL_WORD, parts.body,
                                    parts.body_len, (uint8_t)lane, mtt));
        if (done == total || pen_unlikely(is_refused))
            break;
        uint32_t left = total - done;
        parts.body += parts.body_len;
        parts.body_len = left < len_max ? left : len_max;
        parts.lead_len = 0;
        mtt = EXTOLL_MORE;
    }
    if (pen_unlikely(done == 0))
        return false;
    if (pen_unlikely(done != total || is_refused))
        go_on(link, to, lane, frame, done, is_refused ? &parts : NULL, mtt);
    extoll_wake(link, to);
    return true;
}

/* Fast path for any frame. Returns false if it does not apply; nothing has happened then. */
static inline bool post_plain(extoll_link *link, extoll_peer *to, pen_lane lane,
                              const pen_frame *frame)
{
    if (!is_plain(link, to, lane))
        return false;
    const bool is_short = fits_short(link, frame);
    if (pen_likely(is_short || fits_packet(link, frame)))
        return post_plain_whole(link, to, lane, frame, is_short);
    return link->plan.coalesced && post_plain_run(link, to, lane, frame);
}

/* Answer that needs no look at the frame; DONE if the frame decides. Reads without the lock,
 * which the poller may need to make room. relaxed: see extoll_peer, extoll_tx */
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
    if (pen_unlikely(!post_plain(link, peer, lane, frame)))
        result = post_any(link, peer, lane, frame, false);
    pen_lock_drop(&link->lock);
    return result;
}

static pen_post post_behind(pen_link *base, pen_peer to, pen_lane lane, const void *head,
                            uint32_t head_len)
{
    const pen_frame frame = { .head = head, .head_len = head_len };
    extoll_link *link = extoll_of(base);
    extoll_peer *peer = &link->to[to];
    pen_post result = answer_at_once(peer, lane);
    if (result != PEN_POST_DONE)
        return result;
    pen_lock_take(&link->lock);
    result = post_any(link, peer, lane, &frame, true);
    pen_lock_drop(&link->lock);
    return result;
}

const pen_behind_ops extoll_behind = { .post = post_behind };
