/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll_poll.c: empties the mailbox. The fast path for most packets is here; extoll_receive.c is
 * the slow path. */
#include "conduits/extoll/receive.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "credit/credit.h"
#include "link/host.h"
#include "os/lock.h"
#include "softnic/extoll/velo2.h"

/* ---- straight to where they belong ----------------------------------------------------------- */

/* Whether the fast path may take the packet: it comes from a peer, its lane is wanted, it has
 * bytes of a frame, and no credit word. The functions below leave a packet unchanged if they
 * cannot take it. */
static inline bool is_straight(const extoll_link *link, const extoll_packet *packet, unsigned lanes)
{
    return pen_likely(packet->tag < PEN_LANES && packet->mtt != EXTOLL_CREDIT) &&
           extoll_is_wanted(link, (pen_lane)packet->tag, lanes) && link->plan.coalesced &&
           extoll_is_peer(link, packet->from);
}

static inline bool pass(pen_credit_receiver *receiver, uint32_t i)
{
    return pen_credit_receiver_passed(receiver, i, (pen_credit_tag){ false, 0 }) == PEN_OK;
}

enum { SHORT_MAX = VELO2_MAX_MSG_SIZE_64 }; /* bytes of a packet that each slot has */

/* Copies the packet out of the mailbox. A short packet is copied with the bytes before it in its
 * slot, so that the length is a constant. */
static inline void copy_out(extoll_link *link, const extoll_packet *packet)
{
    _Static_assert(SHORT_MAX <= EXTOLL_COPY_LEAD * EXTOLL_WORD,
                   "the bytes before a packet have a place");
    uint32_t len = (packet->len + EXTOLL_WORD - 1) & ~(uint32_t)(EXTOLL_WORD - 1);
    const char *end = (const char *)velo2_recv_peek(&link->velo) + len;
    if (pen_likely(len <= SHORT_MAX))
        memcpy((char *)extoll_copy_of(link) + len - SHORT_MAX, end - SHORT_MAX, SHORT_MAX);
    else
        (void)velo2_recv_payload(&link->velo, extoll_copy_of(link), 0, packet->len);
}

/* Copies the packet's bytes from `offset` on; those of a full packet in one piece. */
static inline void copy_to(const extoll_link *link, char *to, uint32_t offset, uint32_t len)
{
    if (len == SHORT_MAX)
        memcpy(to, (const char *)velo2_recv_peek(&link->velo) + offset, SHORT_MAX);
    else
        (void)velo2_recv_payload(&link->velo, to, offset, len);
}

/* Takes a packet that is a whole frame. Returns false if it is not. */
static inline bool take_all(extoll_link *link, const extoll_packet *packet, unsigned *delivered)
{
    copy_out(link, packet);
    const bool is_short = packet->mtt == EXTOLL_SHORT;
    const uint64_t begin = *extoll_copy_of(link);
    if (!(is_short ? packet->len % EXTOLL_WORD == 0 && packet->len != 0
                   : extoll_begin_is_whole(begin, packet->len)))
        return false;
    pen_credit_receiver *receiver = extoll_receiver_of(link, packet->lane);
    pen_lock_take(&link->lock);
    bool is_sound = pass(receiver, extoll_source_i(link, packet->from));
    link->touched |= pen_credit_receiver_has_next(receiver);
    extoll_step_over(link);
    pen_lock_drop(&link->lock);
    if (pen_unlikely(!is_sound)) {
        extoll_lose(link, packet->from, EXTOLL_NO_CREDIT);
        return true;
    }
    ++*delivered;
    if (is_short)
        pen_host_hand(link->base.host, packet->from, packet->lane, extoll_copy_of(link),
                      packet->len, NULL, 0);
    else
        extoll_deliver_whole(link, packet->from, packet->lane, extoll_begin_head_len(begin),
                             extoll_begin_body_len(begin));
    return true;
}

/* Whether the next packet is there and like the last one. */
static inline bool finds_more(extoll_link *link, const extoll_packet *last, uint32_t *len)
{
    extoll_packet packet;
    if (extoll_find(link, &packet) != VELO2_RET_SUCCESS)
        return false;
    *len = packet.len;
    return packet.mtt == EXTOLL_MORE && packet.tag == last->tag && packet.from == last->from;
}

/* Takes the found packet's bytes from `offset` on, and the packets behind it that continue its
 * frame, which has its head and a buffer. Called under the lock, which it drops. */
static unsigned take_run(extoll_link *link, extoll_rx *rx, const extoll_packet *packet,
                         uint32_t offset, unsigned *packets)
{
    uint32_t left = rx->lead_len + rx->body_len - rx->got, len = packet->len - offset;
    char *to = rx->buffer->body + (rx->body_len - left);
    pen_credit_receiver *receiver = extoll_receiver_of(link, packet->lane);
    const uint32_t i = extoll_source_i(link, packet->from);
    bool is_sound = true;
    do {
        is_sound = offset + len != 0 && len <= left && pass(receiver, i);
        if (pen_likely(is_sound)) {
            copy_to(link, to, offset, len);
            to += len;
            left -= len;
        }
        offset = 0;
        extoll_step_over(link);
        ++*packets;
    } while (is_sound && left != 0 && finds_more(link, packet, &len));
    link->touched |= pen_credit_receiver_has_next(receiver);
    pen_lock_drop(&link->lock);
    rx->got = rx->lead_len + rx->body_len - left;
    if (!is_sound)
        extoll_lose(link, packet->from,
                    "a packet has no credit, or a frame is longer than announced");
    return is_sound && left == 0 ? extoll_rx_end(link, packet, rx, rx->buffer->body) : 0;
}

/* Takes a packet that begins a frame and has all of its head but not all of its body, so that it
 * waits for no puts. Takes the packets of the rest that are there, too. */
static bool take_begin(extoll_link *link, extoll_rx *rx, const extoll_packet *packet,
                       unsigned *delivered, unsigned *packets)
{
    uint64_t begin = 0;
    if (rx->is_active ||
        velo2_recv_payload(&link->velo, &begin, 0, sizeof begin) != VELO2_RET_SUCCESS)
        return false;
    uint32_t head_len = extoll_begin_head_len(begin), offset = EXTOLL_WORD + head_len;
    if (!extoll_begin_is_sound(begin, EXTOLL_BODY_MAX) || packet->len < offset ||
        packet->len >= offset + extoll_begin_body_len(begin))
        return false;
    pen_lock_take(&link->lock);
    extoll_buffer *buffer = extoll_buffer_take(link);
    if (pen_unlikely(buffer == NULL)) {
        pen_lock_drop(&link->lock);
        return false;
    }
    extoll_rx_begin(rx, begin);
    rx->buffer = buffer;
    (void)velo2_recv_payload(&link->velo, rx->lead, EXTOLL_WORD, head_len);
    rx->got = head_len;
    *delivered += take_run(link, rx, packet, offset, packets);
    return true;
}

/* Takes a packet that continues a frame with a head and a buffer, and no data to wait for. */
static bool take_more(extoll_link *link, extoll_rx *rx, const extoll_packet *packet,
                      unsigned *delivered, unsigned *packets)
{
    if (!rx->is_active || rx->buffer == NULL || rx->number_len != 0 || rx->got < rx->lead_len)
        return false;
    pen_lock_take(&link->lock);
    *delivered += take_run(link, rx, packet, 0, packets);
    return true;
}

/* Takes the found packet by the fast path. Returns false if that cannot take it; nothing has
 * happened then. */
static inline bool take_straight(extoll_link *link, const extoll_packet *packet, unsigned lanes,
                                 unsigned *delivered, unsigned *packets)
{
    if (!is_straight(link, packet, lanes))
        return false;
    /* Only full packets continue. */
    if (packet->mtt != EXTOLL_MORE && packet->len != link->packet_max) {
        bool is_whole = take_all(link, packet, delivered);
        *packets += is_whole;
        return is_whole;
    }
    extoll_rx *rx = &link->from[packet->from * PEN_LANES + (uint32_t)packet->lane];
    return packet->mtt == EXTOLL_MORE    ? take_more(link, rx, packet, delivered, packets)
           : packet->mtt == EXTOLL_BEGIN ? take_begin(link, rx, packet, delivered, packets)
                                         : false;
}

/* ---- the mailbox, packet by packet ----------------------------------------------------------- */

/* Empties the mailbox as far as the budget goes; returns events, and frames in *delivered. */
static __attribute__((noinline)) unsigned drain(extoll_link *link, unsigned lanes, unsigned budget)
{
    unsigned events = 0, delivered = 0;
    unsigned packets_max = link->plan.coalesced ? EXTOLL_DRAIN_MAX : 1;
    for (unsigned i = 0; i < packets_max && delivered < budget; i++) {
        extoll_packet packet;
        velo2_ret_t found = extoll_find(link, &packet);
        if (found == VELO2_RET_NO_MSG)
            break;
        bool is_known = found == VELO2_RET_SUCCESS;
        if (pen_likely(is_known && take_straight(link, &packet, lanes, &delivered, &events)))
            continue;
        events++;
        delivered += extoll_take_packet(link, &packet, is_known, lanes);
    }
    return events;
}

/* ---- poll ------------------------------------------------------------------------------------ */

enum {
    RMA_LOOK_EVERY = 16
}; /* polls; a notification that no operation waits for may lie a little */

/* Whether there may be work besides packets to receive and to send. */
static inline bool has_more_than_mail(extoll_link *link)
{
    /* relaxed: a thread sees what it began itself, and polls look again */
    return atomic_load_explicit(&link->rma_work, memory_order_relaxed) != 0 ||
           link->waiting.total != 0 ||
           atomic_load_explicit(&link->own_total, memory_order_relaxed) != 0 ||
           link->stash.total != 0 || ++link->quiet % RMA_LOOK_EVERY == 0;
}

/* Handles operations of RMA, frames from the rank to itself, and the stash; returns events,
 * frames among them. */
static __attribute__((noinline)) unsigned poll_more(extoll_link *link, unsigned lanes,
                                                    unsigned budget, unsigned *frames)
{
    unsigned events = extoll_rma_poll(link);
    if (atomic_load_explicit(&link->own_total, memory_order_relaxed) != 0)
        *frames = extoll_poll_own(link, lanes, budget);
    if (link->stash.total != 0 && *frames < budget)
        *frames += extoll_unstash(link, lanes, budget - *frames);
    if (link->waiting.total != 0 && *frames < budget)
        *frames += extoll_unwait(link, lanes, budget - *frames);
    return events + *frames;
}

/* Reports the packets read to the card; called when there was no further work. */
static __attribute__((noinline)) void tell_card(extoll_link *link)
{
    pen_lock_take(&link->lock);
    extoll_commit(link);
    pen_lock_drop(&link->lock);
    link->stale = false;
}

/* Sends all that can be sent. */
static __attribute__((noinline)) unsigned push(extoll_link *link)
{
    pen_lock_take(&link->lock);
    unsigned sent = extoll_send_more(link);
    sent += extoll_send_credits(link);
    extoll_commit(link);
    link->stale = false;
    link->touched = link->held_to != EXTOLL_NONE;
    bool waits_for_card =
        link->touched || atomic_load_explicit(&link->try_again, memory_order_relaxed);
    pen_lock_drop(&link->lock);
    return sent + waits_for_card; /* no event comes when the card has room */
}

unsigned extoll_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    extoll_link *link = extoll_of(base);
    unsigned events = 0, frames = 0;
    if (pen_unlikely(has_more_than_mail(link)))
        events = poll_more(link, lanes, budget, &frames);
    if (!velo2_is_empty(&link->velo))
        events += drain(link, lanes, budget - frames);
    if (events == 0 && link->stale)
        tell_card(link);
    if (link->touched || atomic_load_explicit(&link->try_again, memory_order_relaxed))
        events += push(link);
    return events;
}
