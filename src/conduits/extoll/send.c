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

static inline void wake(const extoll_link *link, const extoll_peer *to)
{
    const pen_host *host = link->base.host;
    if (pen_unlikely(link->fenced))
        pen_fence();                           /* pairs with the sleeper's */
    atomic_signal_fence(memory_order_seq_cst); /* the packet was written before we look */
    /* relaxed: pairs with the sleeper's membarrier */
    if (pen_unlikely(atomic_load_explicit(to->sleeping, memory_order_relaxed) != 0))
        host->wake(host->ctx, to->rank);
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
static inline bool is_next(extoll_link *link, const extoll_peer *to, pen_lane lane)
{
    if (pen_likely(to->refused == PEN_LANES ? link->held_to != to->rank : to->refused == lane))
        return true;
    atomic_store_explicit(&link->try_again, true, memory_order_relaxed);
    return false;
}

/* ---- credits that ride ----------------------------------------------------------------------- */

/* What is granted has to be free for the card as well, so that is told first. */
static inline bool take_ride(extoll_link *link, const extoll_peer *to, uint64_t *word)
{
    pen_credit_message message;
    if (!link->plan.coalesced ||
        !pen_credit_receiver_is_worth_a_ride(link->data_receiver, to->source_i) ||
        !pen_credit_receiver_ride(link->data_receiver, to->source_i, EXTOLL_CREDIT_COUNT_MAX,
                                  &message))
        return false;
    extoll_commit(link);
    *word = extoll_credit(&message, false);
    return true;
}

/* A request begins with half of the quota in hand or more, as long as credits keep coming: the rest
 * is for replies. Else a rank that sends as many requests as it can has nothing left for replies to
 * its peer's, has to stash those, and returns no credit for them, while its peer does the same.
 * Nobody relies on it: it is for so many tries, then one credit is left, as the rules demand. */
static inline bool is_held_back(const extoll_link *link, extoll_peer *to)
{
    if (to->patience == 0 || !pen_credit_sender_is_low(link->data_sender, to->source_i))
        return false;
    to->patience--;
    return true;
}

static inline bool take_credit(const extoll_link *link, const extoll_peer *to, pen_lane lane,
                               uint32_t left, pen_credit_tag *tag)
{
    return pen_credit_sender_take(
        lane == PEN_LANE_CONTROL ? link->control_sender : link->data_sender, to->source_i,
        lane == PEN_LANE_REPLY ? PEN_CREDIT_REPLY : PEN_CREDIT_REQUEST, left, tag);
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

/* What a packet carries: words, and bytes behind them. */
typedef struct packet_parts {
    const uint64_t *lead;
    const char *body;
    uint32_t lead_len, body_len;
} packet_parts;

/* Bytes sent..end of lead and body. */
static packet_parts parts_of(const extoll_tx *tx, uint32_t end)
{
    uint32_t lead_end = end < tx->lead_len ? end : tx->lead_len;
    uint32_t lead_len = tx->sent < lead_end ? lead_end - tx->sent : 0, at = tx->sent + lead_len;
    return (packet_parts){ .lead = lead_len != 0 ? tx->lead + tx->sent / EXTOLL_WORD : NULL,
                           .lead_len = lead_len,
                           .body = at < end ? tx->body + (at - tx->lead_len) : NULL,
                           .body_len = end - at };
}

/* A packet that cannot go as it is: put together where it can wait, or get a credit behind it. */
static void keep_packet(extoll_tx *tx, const packet_parts *parts)
{
    if (parts->lead_len != 0)
        memcpy(tx->packet, parts->lead, parts->lead_len);
    if (parts->body_len != 0)
        memcpy((char *)tx->packet + parts->lead_len, parts->body, parts->body_len);
    tx->packet_len = parts->lead_len + parts->body_len;
}

static inline bool send_kept(extoll_link *link, extoll_peer *to, const extoll_tx *tx)
{
    return card_takes(
        link, velo2_send(&to->velo, tx->packet, tx->packet_len, tx->packet_tag, tx->packet_mtt));
}

/* A new packet, for which there is a credit; without a copy of ours unless a credit rides. False:
 * the card has refused it, and it is kept. */
static inline __attribute__((always_inline)) bool send_packet(extoll_link *link, extoll_peer *to,
                                                              pen_lane lane, extoll_tx *tx,
                                                              const packet_parts *parts,
                                                              uint8_t mtt, pen_credit_tag credit)
{
    uint64_t word;
    bool ride = lane != PEN_LANE_CONTROL &&
                parts->lead_len + parts->body_len + EXTOLL_WORD <= link->packet_max &&
                take_ride(link, to, &word);
    tx->packet_tag = extoll_tag(lane, credit, ride);
    tx->packet_mtt = mtt;
    if (pen_likely(!ride) &&
        pen_likely(card_takes(link, velo2_send_header(&to->velo, parts->lead,
                                                      parts->lead_len / EXTOLL_WORD, parts->body,
                                                      parts->body_len, tx->packet_tag, mtt))))
        return true;
    keep_packet(tx, parts);
    if (ride) {
        memcpy((char *)tx->packet + tx->packet_len, &word, sizeof word);
        tx->packet_len += EXTOLL_WORD;
        if (send_kept(link, to, tx)) {
            tx->packet_len = 0;
            return true;
        }
    }
    to->refused = (uint8_t)lane;
    return false;
}

/* The packet that was kept. False: it has to wait, as below. */
static bool tx_kept(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx)
{
    if (!is_next(link, to, lane) || !send_kept(link, to, tx))
        return false;
    to->refused = PEN_LANES;
    tx->packet_len = 0;
    return true;
}

/* The next packet with something of the lead. */
static bool tx_lead(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx)
{
    pen_credit_tag credit;
    if (!is_next(link, to, lane) || !take_credit(link, to, lane, packets_left(link, tx), &credit))
        return false;
    uint32_t end = packet_end(link, tx);
    const packet_parts parts = parts_of(tx, end);
    uint8_t mtt = tx->is_short ? EXTOLL_SHORT : tx->sent == 0 ? EXTOLL_BEGIN : EXTOLL_MORE;
    tx->sent = end;
    return send_packet(link, to, lane, tx, &parts, mtt, credit);
}

/* The rest of a body, in packets one like the other. True: all of it has gone. */
static bool tx_body(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx,
                    unsigned *sent)
{
    const char *body = tx->body + (tx->sent - tx->lead_len);
    uint32_t total = tx_total(tx), packets = packets_left(link, tx), len_max = link->packet_max;
    pen_credit_tag credit;
    if (!is_next(link, to, lane))
        return false;
    while (tx->sent != total) {
        if (!take_credit(link, to, lane, packets, &credit))
            return false;
        uint32_t len = total - tx->sent < len_max ? total - tx->sent : len_max;
        const packet_parts parts = { .body = body, .body_len = len };
        tx->sent += len;
        if (!send_packet(link, to, lane, tx, &parts, EXTOLL_MORE, credit))
            return false;
        body += len;
        packets--;
        ++*sent;
    }
    return true;
}

/* Sends what can go. True: all of it has gone. */
static bool tx_run(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx, unsigned *sent)
{
    if (tx->packet_len != 0) {
        if (!tx_kept(link, to, lane, tx))
            return false;
        ++*sent;
    }
    while (tx->sent < tx->lead_len) {
        if (!tx_lead(link, to, lane, tx))
            return false;
        ++*sent;
    }
    return tx->sent == tx_total(tx) || tx_body(link, to, lane, tx, sent);
}

static void tx_begin(extoll_tx *tx, const void *head, uint32_t head_len, const void *body,
                     uint32_t body_len, bool is_short, uint64_t number)
{
    uint32_t words = 0;
    if (!is_short)
        tx->lead[words++] = extoll_begin(head_len, body_len, number != 0);
    if (number != 0)
        tx->lead[words++] = number;
    velo2_copy(&tx->lead[words], head, head_len);
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

static void tx_list(extoll_link *link, extoll_peer *to, pen_lane lane)
{
    extoll_tx *tx = &to->tx[lane];
    if (tx->is_listed)
        return;
    tx->is_listed = true;
    uint32_t size = link->peers * PEN_LANES;
    link->tx_ring[(link->tx_first + link->tx_count++) % size] =
        to->rank * PEN_LANES + (uint32_t)lane;
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
        extoll_peer *to = &link->to[pair / PEN_LANES];
        extoll_tx *tx = &to->tx[pair % PEN_LANES];
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
            wake(link, to);
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
        extoll_peer *to = &link->to[link->held_to];
        if (to->refused != PEN_LANES ||
            !card_takes(link, velo2_send(&to->velo, &link->held_word, sizeof link->held_word, 0,
                                         EXTOLL_CREDIT)))
            break;
        link->held_to = EXTOLL_NONE;
        wake(link, to);
        sent++;
    }
    return sent;
}

/* ---- post ------------------------------------------------------------------------------------ */

/* A frame that is whole in one packet, right away. False: there is no credit. */
static bool post_whole(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx,
                       const pen_frame *frame, bool is_short)
{
    pen_credit_tag credit;
    if (!is_next(link, to, lane) || !take_credit(link, to, lane, 1, &credit))
        return false;
    uint64_t begun[EXTOLL_HEAD_WORDS_MAX + 1];
    packet_parts parts = { frame->head, frame->body, frame->head_len, frame->body_len };
    if (!is_short) {
        begun[0] = extoll_begin(parts.lead_len, parts.body_len, false);
        velo2_copy(&begun[1], frame->head, parts.lead_len);
        parts.lead = begun;
        parts.lead_len += EXTOLL_WORD;
    }
    if (pen_likely(send_packet(link, to, lane, tx, &parts, is_short ? EXTOLL_SHORT : EXTOLL_BEGIN,
                               credit))) {
        wake(link, to);
        return true;
    }
    tx->lead_len = tx->sent = tx->packet_len; /* all that is left of it */
    tx->body_len = 0;
    tx->is_active = true;
    tx_list(link, to, lane);
    tx_set_full(tx, lane);
    return true;
}

/* Whether there is a buffer for a body that does not go at once: by the time that is known, a part
 * of it may be away. */
static bool has_buffer(extoll_link *link)
{
    if (pen_likely(link->buffers != NULL))
        return true;
    extoll_buffer *buffer = extoll_buffer_take(link);
    if (buffer != NULL)
        extoll_buffer_give(link, buffer);
    return buffer != NULL;
}

/* What has not gone becomes ours. */
static void tx_keep(extoll_link *link, extoll_tx *tx)
{
    uint32_t done = tx->sent > tx->lead_len ? tx->sent - tx->lead_len : 0;
    if (tx->body_len == 0)
        return;
    tx->buffer = extoll_buffer_take(link);
    memcpy(tx->buffer->body + done, tx->body + done, tx->body_len - done);
    tx->body = tx->buffer->body;
}

static pen_post post_packets(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx,
                             const pen_frame *frame, bool is_short, uint64_t number)
{
    unsigned sent = 0;
    if (frame->body_len != 0 && !has_buffer(link))
        return PEN_POST_AGAIN;
    tx_begin(tx, frame->head, frame->head_len, frame->body, frame->body_len, is_short, number);
    bool has_gone = tx_run(link, to, lane, tx, &sent);
    bool is_refused = lane == PEN_LANE_REQUEST && tx->sent == 0; /* no credit: it has not begun */
    if (has_gone || is_refused) {
        tx->is_active = false;
    } else {
        tx_keep(link, tx);
        tx_list(link, to, lane);
        tx_set_full(tx, lane);
    }
    if (sent != 0)
        wake(link, to);
    return is_refused ? PEN_POST_AGAIN : PEN_POST_DONE;
}

/* A reply or control frame behind one that is under way. */
static pen_post post_after(extoll_link *link, extoll_peer *to, pen_lane lane,
                           const pen_frame *frame, bool is_short, bool behind_puts)
{
    extoll_tx *tx = &to->tx[lane];
    extoll_buffer *buffer = extoll_buffer_take(link);
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
    tx_set_full(tx, lane);
    return PEN_POST_DONE;
}

static bool fits_short(const extoll_link *link, const pen_frame *frame, bool behind_puts)
{
    return frame->body_len == 0 && !behind_puts && frame->head_len <= link->short_max;
}

static bool fits_packet(const extoll_link *link, const pen_frame *frame, bool behind_puts)
{
    return link->plan.coalesced && !behind_puts &&
           EXTOLL_WORD + frame->head_len + frame->body_len <= link->packet_max;
}

static pen_post post_locked(extoll_link *link, extoll_peer *to, pen_lane lane,
                            const pen_frame *frame, bool behind_puts)
{
    extoll_tx *tx = &to->tx[lane];
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
    uint64_t number = behind_puts ? extoll_rma_number(link, to->rank) : 0;
    return post_packets(link, to, lane, tx, frame, is_short, number);
}

static pen_post post_any(extoll_link *link, extoll_peer *to, pen_lane lane, const pen_frame *frame,
                         bool behind_puts)
{
    /* relaxed: see extoll_peer */
    if (pen_unlikely(atomic_load_explicit(&to->is_lost, memory_order_relaxed)))
        return PEN_POST_FAILED;
    if (pen_unlikely(atomic_load_explicit(&to->tx[lane].is_full, memory_order_relaxed)))
        return PEN_POST_AGAIN; /* without the lock, which the poller may want to make room */
    pen_lock_take(&link->lock);
    pen_post result = to->rank == link->base.self ? extoll_self_post(link, lane, frame, behind_puts)
                                                  : post_locked(link, to, lane, frame, behind_puts);
    pen_lock_drop(&link->lock);
    return result;
}

pen_post extoll_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    (void)op; /* what does not go now is copied */
    extoll_link *link = extoll_of(base);
    return post_any(link, &link->to[to], lane, frame, false);
}

static pen_post post_behind(pen_link *base, pen_peer to, pen_lane lane, const void *head,
                            uint32_t head_len)
{
    const pen_frame frame = { .head = head, .head_len = head_len };
    extoll_link *link = extoll_of(base);
    return post_any(link, &link->to[to], lane, &frame, true);
}

const pen_behind_ops extoll_behind = { .post = post_behind };
