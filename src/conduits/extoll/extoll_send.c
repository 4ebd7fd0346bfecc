/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll_send.c: frames become packets, and packets are sent when there is a credit for them. One
 * frame of each lane can be under way to each peer; if it finds no credit, polls continue it.
 * Credits are piggybacked on packets that have eight bytes left; otherwise a packet of their own is
 * sent when they are due.
 *
 * All of it is under link->lock. */
#include "conduits/extoll/send.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "credit/credit.h"
#include "softnic/extoll/velo2.h"

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

void extoll_commit(extoll_link *link)
{
    if (link->uncommitted == 0)
        return;
    (void)velo2_recv_commit(&link->velo);
    link->uncommitted = 0;
}

/* ---- packets of a frame ---------------------------------------------------------------------- */

static uint32_t tx_total(const extoll_tx *tx) { return tx->lead_len + tx->body_len; }

/* End of the packet that begins at `sent`. */
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
    /* Cards have two sizes of packets; a division by a constant costs no division. */
    return link->packet_max == VELO2_MAX_MSG_SIZE_64 ? len / VELO2_MAX_MSG_SIZE_64
                                                     : len / VELO2_MAX_MSG_SIZE;
}

/* Bytes sent..end of lead and body. */
static extoll_parts parts_of(const extoll_tx *tx, uint32_t end)
{
    uint32_t lead_end = end < tx->lead_len ? end : tx->lead_len;
    uint32_t lead_len = tx->sent < lead_end ? lead_end - tx->sent : 0, at = tx->sent + lead_len;
    return (extoll_parts){ .lead = lead_len != 0 ? tx->lead + tx->sent / EXTOLL_WORD : NULL,
                           .lead_len = lead_len,
                           .body = at < end ? tx->body + (at - tx->lead_len) : NULL,
                           .body_len = end - at };
}

void extoll_keep_packet(extoll_tx *tx, const extoll_parts *parts, uint8_t tag, uint8_t mtt)
{
    if (parts->lead_len != 0)
        memcpy(tx->packet, parts->lead, parts->lead_len);
    if (parts->body_len != 0)
        memcpy((char *)tx->packet + parts->lead_len, parts->body, parts->body_len);
    tx->packet_len = parts->lead_len + parts->body_len;
    tx->packet_tag = tag;
    tx->packet_mtt = mtt;
}

static inline bool send_kept(extoll_link *link, extoll_peer *to, const extoll_tx *tx)
{
    return extoll_card_takes(
        link, velo2_send(&to->velo, tx->packet, tx->packet_len, tx->packet_tag, tx->packet_mtt));
}

bool extoll_send_ride(extoll_link *link, extoll_peer *to, pen_lane lane, const extoll_parts *parts,
                      uint8_t tag, uint8_t mtt, uint64_t word)
{
    extoll_tx *tx = &to->tx[lane];
    extoll_keep_packet(tx, parts, tag, mtt);
    memcpy((char *)tx->packet + tx->packet_len, &word, sizeof word);
    tx->packet_len += EXTOLL_WORD;
    if (send_kept(link, to, tx)) {
        tx->packet_len = 0;
        return true;
    }
    to->refused = (uint8_t)lane;
    return false;
}

/* Sends the packet that was kept. Returns false if it has to wait. */
static bool tx_kept(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx)
{
    if (!extoll_is_next(link, to, lane) || !send_kept(link, to, tx))
        return false;
    to->refused = PEN_LANES;
    tx->packet_len = 0;
    return true;
}

/* Sends the next packet with bytes of the lead. */
static bool tx_lead(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx)
{
    pen_credit_tag credit;
    if (!extoll_is_next(link, to, lane) ||
        !extoll_take_credit(link, to, lane, packets_left(link, tx), &credit))
        return false;
    uint32_t end = packet_end(link, tx);
    const extoll_parts parts = parts_of(tx, end);
    uint8_t mtt = tx->is_short ? EXTOLL_SHORT : tx->sent == 0 ? EXTOLL_BEGIN : EXTOLL_MORE;
    tx->sent = end;
    return extoll_send_packet(link, to, lane, &parts, mtt, credit);
}

/* Sends the rest of a body, in equal packets. Returns true if all of it has gone. */
static bool tx_body(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx,
                    unsigned *sent)
{
    const char *body = tx->body + (tx->sent - tx->lead_len);
    uint32_t total = tx_total(tx), packets = packets_left(link, tx), len_max = link->packet_max;
    pen_credit_tag credit;
    if (!extoll_is_next(link, to, lane))
        return false;
    while (tx->sent != total) {
        if (!extoll_take_credit(link, to, lane, packets, &credit))
            return false;
        uint32_t len = total - tx->sent < len_max ? total - tx->sent : len_max;
        const extoll_parts parts = { .body = body, .body_len = len };
        tx->sent += len;
        if (!extoll_send_packet(link, to, lane, &parts, EXTOLL_MORE, credit))
            return false;
        body += len;
        packets--;
        ++*sent;
    }
    return true;
}

bool extoll_tx_run(extoll_link *link, extoll_peer *to, pen_lane lane, extoll_tx *tx, unsigned *sent)
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

void extoll_tx_begin(extoll_tx *tx, const void *head, uint32_t head_len, const void *body,
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

void extoll_tx_set_full(extoll_tx *tx, pen_lane lane)
{
    bool is_full = tx->is_active && (lane == PEN_LANE_REQUEST || tx->behind != NULL);
    atomic_store_explicit(&tx->is_full, is_full, memory_order_relaxed);
}

/* Ends a frame that has gone. Returns true if a frame behind it is under way now. */
static bool tx_end(extoll_link *link, extoll_tx *tx)
{
    extoll_buffer *next = tx->behind;
    if (tx->buffer != NULL)
        extoll_buffer_give(link, tx->buffer);
    tx->buffer = tx->behind = NULL;
    tx->is_active = false;
    if (next == NULL)
        return false;
    extoll_tx_begin(tx, next->head, next->head_len, next->body, next->body_len, next->is_short,
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
        bool is_over = extoll_tx_run(link, to, lane, tx, &sent);
        while (is_over && tx_end(link, tx))
            is_over = extoll_tx_run(link, to, lane, tx, &sent);
        if (!is_over)
            tx_list(link, to, lane);
        extoll_tx_set_full(tx, lane);
        if (sent != before)
            extoll_wake(link, to);
    }
    return sent;
}

/* Copies the bytes that have not gone into a buffer of the link. */
static void tx_keep(extoll_link *link, extoll_tx *tx)
{
    uint32_t done = tx->sent > tx->lead_len ? tx->sent - tx->lead_len : 0;
    if (tx->body_len == 0)
        return;
    tx->buffer = extoll_buffer_take(link);
    memcpy(tx->buffer->body + done, tx->body + done, tx->body_len - done);
    tx->body = tx->buffer->body;
}

void extoll_tx_settle(extoll_link *link, extoll_peer *to, pen_lane lane, bool has_gone)
{
    extoll_tx *tx = &to->tx[lane];
    tx->is_active = !has_gone;
    if (has_gone)
        return;
    tx_keep(link, tx);
    tx_list(link, to, lane);
    extoll_tx_set_full(tx, lane);
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
        extoll_commit(link); /* before a peer uses the slots that it grants */
        extoll_peer *to = &link->to[link->held_to];
        if (to->refused != PEN_LANES ||
            !extoll_card_takes(link, velo2_send(&to->velo, &link->held_word, sizeof link->held_word,
                                                0, EXTOLL_CREDIT)))
            break;
        link->held_to = EXTOLL_NONE;
        extoll_wake(link, to);
        sent++;
    }
    return sent;
}
