/* SPDX-License-Identifier: BSD-3-Clause */
/* send.c: frames become packets, and packets go when there is a credit for them. One frame of each
 * lane can be under way to each peer; what finds no credit goes on in polls. Credits ride on
 * packets that have eight bytes left; what does not is sent by itself when it is due.
 *
 * All but post() itself is under link->lock. */
#include "conduits/extoll/extoll.h"

#include "base/compiler.h"

#include <string.h>

/* ---- memory for bodies ----------------------------------------------------------------------- */

extoll_buffer *extoll_buffer_take(extoll_link *link)
{
    const pen_host *host = link->base.host;
    extoll_buffer *buffer = link->buffers;
    if (buffer == NULL)
        return host->alloc(host->ctx, sizeof *buffer, PEN_CACHE_LINE);
    link->buffers = buffer->next;
    return buffer;
}

void extoll_buffer_give(extoll_link *link, extoll_buffer *buffer)
{
    buffer->next = link->buffers;
    link->buffers = buffer;
}

/* ---- the card -------------------------------------------------------------------------------- */

void extoll_wake(const extoll_link *link, pen_peer to)
{
    const pen_host *host = link->base.host;
    if (pen_unlikely(link->fenced))
        pen_fence();                           /* pairs with the sleeper's */
    atomic_signal_fence(memory_order_seq_cst); /* the packet was written before we look */
    /* relaxed: pairs with the sleeper's membarrier */
    if (pen_unlikely(atomic_load_explicit(link->to[to].sleeping, memory_order_relaxed) != 0))
        host->wake(host->ctx, to);
}

void extoll_commit(extoll_link *link)
{
    if (link->uncommitted == 0)
        return;
    (void)velo2_recv_commit(&link->velo);
    link->uncommitted = 0;
}

/* False: the card takes it later. To a peer that has gone nothing is sent, as if it had been: who
 * leaves has met everybody else. */
static inline bool card_takes(extoll_link *link, velo2_ret_t result)
{
    if (pen_likely(result != VELO2_RET_TRY_AGAIN))
        return true;
    atomic_store_explicit(&link->try_again, true, memory_order_relaxed);
    return false;
}

/* Whether a packet of the lane is next. Credits are counted when a packet is made, and what packets
 * say of them only makes sense in that order: what the card has refused goes first. */
static inline bool is_next(extoll_link *link, pen_peer to, pen_lane lane)
{
    const extoll_peer *peer = &link->to[to];
    if (pen_likely(peer->refused == PEN_LANES ? link->held_to != to : peer->refused == lane))
        return true;
    atomic_store_explicit(&link->try_again, true, memory_order_relaxed);
    return false;
}

/* ---- credits that ride ----------------------------------------------------------------------- */

/* What is granted has to be free for the card as well, so that is told first. */
static inline bool take_ride(extoll_link *link, pen_peer to, uint64_t *word)
{
    pen_credit_message message;
    uint32_t i = extoll_source_i(link, to);
    if (!link->plan.coalesced || !pen_credit_receiver_is_worth_a_ride(link->data_receiver, i) ||
        !pen_credit_receiver_ride(link->data_receiver, i, EXTOLL_CREDIT_COUNT_MAX, &message))
        return false;
    extoll_commit(link);
    *word = extoll_credit(&message, false);
    return true;
}

/* A request begins with half of the quota in hand or more, as long as credits keep coming: the rest
 * is for replies. Else a rank that sends as many requests as it can has nothing left for replies to
 * its peer's, has to stash those, and returns no credit for them, while its peer does the same.
 * Nobody relies on it: it is for so many tries, then one credit is left, as the rules demand. */
static inline bool is_held_back(extoll_link *link, pen_peer to)
{
    extoll_peer *peer = &link->to[to];
    if (peer->patience == 0 ||
        !pen_credit_sender_is_low(link->data_sender, extoll_source_i(link, to)))
        return false;
    peer->patience--;
    return true;
}

static inline bool take_credit(extoll_link *link, pen_peer to, pen_lane lane, uint32_t left,
                               pen_credit_tag *tag)
{
    uint32_t i = extoll_source_i(link, to);
    if (lane == PEN_LANE_CONTROL)
        return pen_credit_sender_take(link->control_sender, i, PEN_CREDIT_REQUEST, left, tag);
    return pen_credit_sender_take(link->data_sender, i,
                                  lane == PEN_LANE_REPLY ? PEN_CREDIT_REPLY : PEN_CREDIT_REQUEST,
                                  left, tag);
}

/* ---- packets of a frame ---------------------------------------------------------------------- */

static uint32_t tx_total(const extoll_tx *tx) { return tx->lead_len + tx->body_len; }

/* Where the packet that begins at `sent` ends. */
static uint32_t packet_end(const extoll_link *link, const extoll_tx *tx)
{
    uint32_t end = tx->sent + link->packet_max, total = tx_total(tx);
    if (!link->plan.coalesced) { /* header, arguments and payload begin packets */
        uint32_t section = tx->sent < tx->lead_first ? tx->lead_first
                           : tx->sent < tx->lead_len ? tx->lead_len
                                                     : total;
        end = end < section ? end : section;
    }
    return end < total ? end : total;
}

static uint32_t packets_left(const extoll_link *link, const extoll_tx *tx)
{
    uint32_t len = tx_total(tx) - tx->sent + link->packet_max - 1;
    /* Cards have two sizes of packets; a division by either is none. */
    return link->packet_max == VELO2_MAX_MSG_SIZE_64 ? len / VELO2_MAX_MSG_SIZE_64
                                                     : len / VELO2_MAX_MSG_SIZE;
}

/* Bytes sent..end of lead and body, one behind the other. */
static void gather(const extoll_tx *tx, uint32_t end, char *out)
{
    uint32_t at = tx->sent;
    if (at < tx->lead_len) {
        uint32_t len = (end < tx->lead_len ? end : tx->lead_len) - at;
        memcpy(out, (const char *)tx->lead + at, len);
        out += len;
        at += len;
    }
    if (at < end)
        memcpy(out, tx->body + (at - tx->lead_len), end - at);
}

/* The next packet, for which there is a credit. */
static void make_packet(extoll_link *link, pen_peer to, pen_lane lane, extoll_tx *tx,
                        pen_credit_tag credit)
{
    uint32_t end = packet_end(link, tx);
    uint32_t len = end - tx->sent;
    gather(tx, end, (char *)tx->packet);
    uint64_t word;
    bool ride = lane != PEN_LANE_CONTROL && len + EXTOLL_WORD <= link->packet_max &&
                take_ride(link, to, &word);
    if (ride) {
        memcpy((char *)tx->packet + len, &word, sizeof word);
        len += EXTOLL_WORD;
    }
    tx->packet_mtt = tx->is_short ? EXTOLL_SHORT : tx->sent == 0 ? EXTOLL_BEGIN : EXTOLL_MORE;
    tx->packet_tag = extoll_tag(lane, credit, ride);
    tx->packet_len = len;
    tx->sent = end;
}

/* Sends what can go. True: all of it has gone. */
static bool tx_run(extoll_link *link, pen_peer to, pen_lane lane, extoll_tx *tx, unsigned *sent)
{
    while (tx->packet_len != 0 || tx->sent != tx_total(tx)) {
        pen_credit_tag credit;
        if (!is_next(link, to, lane))
            return false;
        if (tx->packet_len == 0) {
            if (!take_credit(link, to, lane, packets_left(link, tx), &credit))
                return false;
            make_packet(link, to, lane, tx, credit);
        }
        link->to[to].refused = (uint8_t)lane;
        if (!card_takes(link, velo2_send(&link->to[to].velo, tx->packet, tx->packet_len,
                                         tx->packet_tag, tx->packet_mtt)))
            return false;
        link->to[to].refused = PEN_LANES;
        tx->packet_len = 0;
        ++*sent;
    }
    return true;
}

static void tx_begin(extoll_tx *tx, const void *head, uint32_t head_len, const void *body,
                     uint32_t body_len, bool is_short, uint64_t number)
{
    uint32_t words = 0;
    if (!is_short)
        tx->lead[words++] = extoll_begin(head_len, body_len, number != 0);
    if (number != 0)
        tx->lead[words++] = number;
    memcpy(&tx->lead[words], head, head_len);
    tx->lead_len = words * EXTOLL_WORD + head_len;
    tx->lead_first = (words + 1) * EXTOLL_WORD;
    tx->body_len = body_len;
    tx->body = body;
    tx->sent = tx->packet_len = 0;
    tx->is_short = is_short;
    tx->is_active = true;
}

/* Whether another frame finds no place. */
static void tx_set_full(extoll_tx *tx, pen_lane lane)
{
    bool is_full = tx->is_active && (lane == PEN_LANE_REQUEST || tx->behind != NULL);
    atomic_store_explicit(&tx->is_full, is_full, memory_order_relaxed);
}

/* The frame has gone. True: one that was behind it is under way now. */
static bool tx_end(extoll_link *link, extoll_tx *tx)
{
    extoll_buffer *next = tx->behind;
    if (tx->buffer != NULL)
        extoll_buffer_give(link, tx->buffer);
    tx->buffer = tx->behind = NULL;
    tx->is_active = false;
    if (next == NULL)
        return false;
    tx_begin(tx, next->head, next->head_len, next->body, next->body_len, next->is_short,
             next->number);
    tx->buffer = next;
    return true;
}

static void tx_list(extoll_link *link, pen_peer to, pen_lane lane)
{
    extoll_tx *tx = &link->to[to].tx[lane];
    if (tx->is_listed)
        return;
    tx->is_listed = true;
    uint32_t size = link->peers * PEN_LANES;
    link->tx_ring[(link->tx_first + link->tx_count++) % size] = to * PEN_LANES + (uint32_t)lane;
}

unsigned extoll_send_more(extoll_link *link)
{
    unsigned sent = 0;
    bool was_full = atomic_load_explicit(&link->try_again, memory_order_relaxed);
    atomic_store_explicit(&link->try_again, false, memory_order_relaxed);
    if (link->tx_count == 0 || !(link->tx_news || was_full))
        return 0;
    link->tx_news = false;
    uint32_t size = link->peers * PEN_LANES;
    for (uint32_t left = link->tx_count; left > 0; left--) {
        uint32_t pair = link->tx_ring[link->tx_first];
        link->tx_first = (link->tx_first + 1) % size;
        link->tx_count--;
        pen_peer to = pair / PEN_LANES;
        extoll_tx *tx = &link->to[to].tx[pair % PEN_LANES];
        tx->is_listed = false;
        unsigned before = sent;
        pen_lane lane = (pen_lane)(pair % PEN_LANES);
        bool is_over = tx_run(link, to, lane, tx, &sent);
        while (is_over && tx_end(link, tx))
            is_over = tx_run(link, to, lane, tx, &sent);
        if (!is_over)
            tx_list(link, to, lane);
        tx_set_full(tx, lane);
        if (sent != before)
            extoll_wake(link, to);
    }
    return sent;
}

/* ---- credits by themselves ------------------------------------------------------------------- */

static bool next_credit(extoll_link *link)
{
    uint32_t i = 0;
    pen_credit_message message;
    bool of_control = false;
    if (!pen_credit_sender_next(link->data_sender, &i, &message) &&
        !pen_credit_receiver_next(link->data_receiver, &i, &message)) {
        of_control = true;
        if (!pen_credit_receiver_next(link->control_receiver, &i, &message))
            return false;
    }
    link->held_to = extoll_source_peer(link, i);
    link->held_word = extoll_credit(&message, of_control);
    return true;
}

unsigned extoll_send_credits(extoll_link *link)
{
    unsigned sent = 0;
    while (link->held_to != EXTOLL_NONE || next_credit(link)) {
        extoll_commit(link); /* before anybody uses what it grants */
        pen_peer to = link->held_to;
        if (link->to[to].refused != PEN_LANES ||
            !card_takes(link, velo2_send(&link->to[to].velo, &link->held_word,
                                         sizeof link->held_word, 0, EXTOLL_CREDIT)))
            break;
        link->held_to = EXTOLL_NONE;
        extoll_wake(link, to);
        sent++;
    }
    return sent;
}

/* ---- post ------------------------------------------------------------------------------------ */

/* A packet whose credit is spent and that has not gone: put together where it can wait. */
static void keep_packet(extoll_tx *tx, const pen_frame *frame, const uint64_t *lead,
                        uint32_t lead_len)
{
    memcpy(tx->packet, lead, lead_len);
    if (frame->body_len != 0)
        memcpy((char *)tx->packet + lead_len, frame->body, frame->body_len);
    tx->packet_len = tx->lead_len = tx->sent = lead_len + frame->body_len;
    tx->body_len = 0;
}

/* A frame that is whole in one packet, right away, without a copy unless a credit rides. */
static bool post_whole(extoll_link *link, pen_peer to, pen_lane lane, extoll_tx *tx,
                       const pen_frame *frame, bool is_short)
{
    pen_credit_tag credit;
    if (!is_next(link, to, lane) || !take_credit(link, to, lane, 1, &credit))
        return false;
    uint64_t begun[EXTOLL_HEAD_WORDS_MAX + 1], word;
    const uint64_t *lead = frame->head;
    uint32_t lead_len = frame->head_len;
    if (!is_short) {
        begun[0] = extoll_begin(lead_len, frame->body_len, false);
        memcpy(&begun[1], frame->head, lead_len);
        lead = begun;
        lead_len += EXTOLL_WORD;
    }
    bool ride = lane != PEN_LANE_CONTROL &&
                lead_len + frame->body_len + EXTOLL_WORD <= link->packet_max &&
                take_ride(link, to, &word);
    velo2_connection_t *velo = &link->to[to].velo;
    tx->packet_tag = extoll_tag(lane, credit, ride);
    tx->packet_mtt = is_short ? EXTOLL_SHORT : EXTOLL_BEGIN;
    bool has_gone = !ride && card_takes(link, velo2_send_header(velo, lead, lead_len / EXTOLL_WORD,
                                                                frame->body, frame->body_len,
                                                                tx->packet_tag, tx->packet_mtt));
    if (pen_unlikely(!has_gone)) {
        keep_packet(tx, frame, lead, lead_len);
        if (ride) {
            memcpy((char *)tx->packet + tx->packet_len, &word, sizeof word);
            tx->packet_len += EXTOLL_WORD;
            has_gone = card_takes(
                link, velo2_send(velo, tx->packet, tx->packet_len, tx->packet_tag, tx->packet_mtt));
        }
    }
    if (has_gone) {
        tx->packet_len = 0;
        extoll_wake(link, to);
        return true;
    }
    link->to[to].refused = (uint8_t)lane;
    tx->is_active = true;
    tx_list(link, to, lane);
    tx_set_full(tx, lane);
    return true;
}

/* What has not gone becomes ours. The buffer was taken before: by now a part may be away. */
static void tx_keep(extoll_tx *tx, extoll_buffer *buffer)
{
    uint32_t done = tx->sent > tx->lead_len ? tx->sent - tx->lead_len : 0;
    tx->buffer = buffer;
    if (buffer == NULL)
        return;
    memcpy(buffer->body + done, tx->body + done, tx->body_len - done);
    tx->body = buffer->body;
}

static pen_post post_packets(extoll_link *link, pen_peer to, pen_lane lane, extoll_tx *tx,
                             const pen_frame *frame, bool is_short, uint64_t number)
{
    extoll_buffer *buffer = NULL;
    unsigned sent = 0;
    if (frame->body_len != 0) {
        buffer = extoll_buffer_take(link);
        if (buffer == NULL)
            return PEN_POST_AGAIN;
    }
    tx_begin(tx, frame->head, frame->head_len, frame->body, frame->body_len, is_short, number);
    bool has_gone = tx_run(link, to, lane, tx, &sent);
    bool is_refused = lane == PEN_LANE_REQUEST && tx->sent == 0; /* no credit: it has not begun */
    if (has_gone || is_refused) {
        tx->buffer = buffer;
        (void)tx_end(link, tx);
    } else {
        tx_keep(tx, buffer);
        tx_list(link, to, lane);
        tx_set_full(tx, lane);
    }
    if (sent != 0)
        extoll_wake(link, to);
    return is_refused ? PEN_POST_AGAIN : PEN_POST_DONE;
}

/* A reply or control frame behind one that is under way. */
static pen_post post_after(extoll_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                           bool is_short, bool behind_puts)
{
    extoll_tx *tx = &link->to[to].tx[lane];
    extoll_buffer *buffer = extoll_buffer_take(link);
    if (buffer == NULL)
        return PEN_POST_AGAIN;
    buffer->head_len = frame->head_len;
    buffer->body_len = frame->body_len;
    buffer->number = behind_puts ? extoll_rma_number(link, to) : 0;
    buffer->is_short = is_short;
    memcpy(buffer->head, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(buffer->body, frame->body, frame->body_len);
    tx->behind = buffer;
    tx_set_full(tx, lane);
    return PEN_POST_DONE;
}

static bool fits_short(const extoll_link *link, const pen_frame *frame, bool behind_puts)
{
    return frame->body_len == 0 && !behind_puts && frame->head_len <= link->packet_max &&
           (link->plan.coalesced || frame->head_len == EXTOLL_WORD);
}

static bool fits_packet(const extoll_link *link, const pen_frame *frame, bool behind_puts)
{
    return link->plan.coalesced && !behind_puts &&
           EXTOLL_WORD + frame->head_len + frame->body_len <= link->packet_max;
}

static pen_post post_locked(extoll_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                            bool behind_puts)
{
    extoll_tx *tx = &link->to[to].tx[lane];
    bool is_short = fits_short(link, frame, behind_puts);
    if (pen_unlikely(tx->is_active)) {
        if (lane == PEN_LANE_REQUEST || tx->behind != NULL)
            return PEN_POST_AGAIN;
        return post_after(link, to, lane, frame, is_short, behind_puts);
    }
    if (lane == PEN_LANE_REQUEST && is_held_back(link, to))
        return PEN_POST_AGAIN;
    if (pen_likely(is_short || fits_packet(link, frame, behind_puts))) {
        if (pen_likely(post_whole(link, to, lane, tx, frame, is_short)))
            return PEN_POST_DONE;
        if (lane == PEN_LANE_REQUEST)
            return PEN_POST_AGAIN;
    }
    uint64_t number = behind_puts ? extoll_rma_number(link, to) : 0;
    return post_packets(link, to, lane, tx, frame, is_short, number);
}

static pen_post post_any(extoll_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                         bool behind_puts)
{
    /* relaxed: see extoll_peer */
    if (pen_unlikely(atomic_load_explicit(&link->to[to].is_lost, memory_order_relaxed)))
        return PEN_POST_FAILED;
    if (pen_unlikely(atomic_load_explicit(&link->to[to].tx[lane].is_full, memory_order_relaxed)))
        return PEN_POST_AGAIN; /* without the lock, which the poller may want to make room */
    pen_lock_take(&link->lock);
    pen_post result = to == link->base.self ? extoll_self_post(link, lane, frame, behind_puts)
                                            : post_locked(link, to, lane, frame, behind_puts);
    pen_lock_drop(&link->lock);
    return result;
}

pen_post extoll_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    (void)op; /* what does not go now is copied */
    return post_any(extoll_of(base), to, lane, frame, false);
}

static pen_post post_behind(pen_link *base, pen_peer to, pen_lane lane, const void *head,
                            uint32_t head_len)
{
    const pen_frame frame = { .head = head, .head_len = head_len };
    return post_any(extoll_of(base), to, lane, &frame, true);
}

const pen_behind_ops extoll_behind = { .post = post_behind };
