/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll_receive.c: packets become frames, one by one (slow path). All lanes come through one
 * mailbox, so it is always emptied. Packets of a lane that was not asked for go to the stash. Their
 * slots still count as in use, so that the stash holds no more than the mailbox could. A frame that
 * waits for its data by RMA waits there, too. */
#include "conduits/extoll/receive.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "credit/credit.h"
#include "diag/log.h"
#include "link/host.h"
#include "link/lanes.h"
#include "os/lock.h"
#include "softnic/extoll/velo2.h"

/* ---- peers that make no sense ---------------------------------------------------------------- */

PEN_COLD void extoll_lose(extoll_link *link, pen_peer peer, const char *what)
{
    const pen_host *host = link->base.host;
    /* relaxed: see extoll_peer */
    if (atomic_load_explicit(&link->to[peer].is_lost, memory_order_relaxed))
        return;
    atomic_store_explicit(&link->to[peer].is_lost, true, memory_order_relaxed);
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot go on with rank %u over extoll: %s; are all ranks the same build, with the "
              "same PENSTOCK_EXTOLL_ variables?",
              peer, what);
    host->peer_lost(host->ctx, peer, PEN_ERR_PROTOCOL);
}

/* ---- the stash ------------------------------------------------------------------------------- */

static void stash_packet(extoll_link *link, const extoll_packet *packet)
{
    const pen_frame frame = { .head = packet->payload,
                              .body = packet->payload,
                              .body_len = packet->len };
    uint64_t tag = (uint64_t)packet->mtt << 8 | packet->tag;
    /* Each has a slot of its own, and no more slots are granted than exist. */
    PEN_INVARIANT(pen_lanes_keep(&link->stash, packet->from, packet->lane, &frame, tag));
}

/* ---- credits --------------------------------------------------------------------------------- */

/* For packets whose slot was not freed on arrival; that way one round of the lock per packet is
 * enough. */
static void free_slot_later(extoll_link *link, pen_peer from, pen_lane lane)
{
    pen_lock_take(&link->lock);
    pen_credit_receiver_freed(extoll_receiver_of(link, lane), extoll_source_i(link, from));
    link->touched |= pen_credit_receiver_has_next(extoll_receiver_of(link, lane));
    pen_lock_drop(&link->lock);
}

/* Under the lock. */
static bool hear(extoll_link *link, pen_peer from, uint64_t word)
{
    pen_credit_message message;
    bool of_control;
    uint32_t i = extoll_source_i(link, from);
    if (!extoll_credit_parse(word, &message, &of_control))
        return false;
    link->touched = link->tx_news = true;
    if (of_control)
        return message.kind == PEN_CREDIT_GRANT &&
               pen_credit_sender_hear(link->control_sender, i, &message) == PEN_OK;
    if (message.kind == PEN_CREDIT_GIVE)
        return pen_credit_receiver_hear(link->data_receiver, i, &message) == PEN_OK;
    link->to[from].patience = EXTOLL_PATIENCE;
    return pen_credit_sender_hear(link->data_sender, i, &message) == PEN_OK;
}

/* Under the lock: notes that a packet has come, frees its slot if it is taken up now, and
 * handles the credits that it carries. */
static bool arrive(extoll_link *link, extoll_packet *packet)
{
    pen_credit_receiver *receiver = extoll_receiver_of(link, packet->lane);
    uint32_t i = extoll_source_i(link, packet->from);
    pen_credit_tag tag = extoll_tag_credit(packet->tag);
    pen_status status = packet->has_slot ? pen_credit_receiver_arrived(receiver, i, tag)
                                         : pen_credit_receiver_passed(receiver, i, tag);
    if (status != PEN_OK)
        return false;
    link->touched |= pen_credit_receiver_has_next(receiver);
    if ((packet->tag & EXTOLL_TAG_RIDE) == 0)
        return true;
    uint64_t word;
    if (packet->len < EXTOLL_WORD)
        return false;
    packet->len -= EXTOLL_WORD;
    memcpy(&word, packet->payload + packet->len, sizeof word);
    return hear(link, packet->from, word);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Keeps a frame until its data has come. It keeps the slot of its last packet, which bounds how
 * many frames can wait. */
static void wait_for_data(extoll_link *link, const extoll_packet *packet, const void *head,
                          uint32_t head_len, uint64_t number)
{
    const pen_frame frame = { .head = head, .head_len = head_len };
    if (!pen_lanes_keep(&link->waiting, packet->from, packet->lane, &frame, number))
        extoll_lose(link, packet->from, "there is no memory for its message");
}

static bool has_data(extoll_link *link, pen_peer from, uint64_t number)
{
    pen_lock_take(&link->lock);
    bool has = number <= link->notified[from];
    pen_lock_drop(&link->lock);
    return has;
}

unsigned extoll_rx_end(extoll_link *link, const extoll_packet *packet, extoll_rx *rx, void *body)
{
    extoll_buffer *buffer = rx->buffer;
    rx->is_active = false;
    rx->buffer = NULL;
    const uint32_t number_len = rx->number_len;
    rx->number_len = 0;
    if (number_len != 0 && !has_data(link, packet->from, rx->lead[0])) {
        wait_for_data(link, packet, rx->lead + 1, rx->lead_len - number_len, rx->lead[0]);
        return 0;
    }
    if (packet->has_slot)
        free_slot_later(link, packet->from, packet->lane);
    pen_host_hand(link->base.host, packet->from, packet->lane, (const char *)rx->lead + number_len,
                  rx->lead_len - number_len, body, rx->body_len);
    if (buffer != NULL) {
        pen_lock_take(&link->lock);
        extoll_buffer_give(link, buffer);
        pen_lock_drop(&link->lock);
    }
    return 1;
}

/* Takes memory for a body that comes in more than one packet. Returns false if there is no
 * memory. */
static bool rx_buffer(extoll_link *link, extoll_rx *rx)
{
    if (rx->buffer != NULL)
        return true;
    pen_lock_take(&link->lock);
    rx->buffer = extoll_buffer_take(link);
    pen_lock_drop(&link->lock);
    return rx->buffer != NULL;
}

/* Takes up the bytes of a packet; returns frames delivered. Frees the packet's slot, unless its
 * frame has to wait. */
static unsigned rx_add(extoll_link *link, const extoll_packet *packet, extoll_rx *rx,
                       const char *bytes, uint32_t len)
{
    char *body = link->small_body;
    if (len > rx->lead_len + rx->body_len - rx->got) {
        extoll_lose(link, packet->from, "a frame is longer than announced");
        return 0;
    }
    bool is_all_here = rx->buffer == NULL && rx->got + len == rx->lead_len + rx->body_len;
    if (rx->body_len != 0 && !is_all_here) {
        if (!rx_buffer(link, rx)) {
            extoll_lose(link, packet->from, "there is no memory for its message");
            return 0;
        }
        body = rx->buffer->body;
    }
    uint32_t lead = 0;
    if (rx->got < rx->lead_len) {
        lead = rx->lead_len - rx->got < len ? rx->lead_len - rx->got : len;
        velo2_copy((char *)rx->lead + rx->got, bytes, lead);
    }
    if (lead < len) /* bytes beyond the lead belong to a body */
        velo2_copy(body + (rx->got + lead - rx->lead_len), bytes + lead, len - lead);
    rx->got += len;
    if (rx->got == rx->lead_len + rx->body_len)
        return extoll_rx_end(link, packet, rx, body);
    if (packet->has_slot)
        free_slot_later(link, packet->from, packet->lane);
    return 0;
}

static unsigned take_whole(extoll_link *link, const extoll_packet *packet, uint32_t head_len,
                           uint32_t body_len)
{
    if (packet->has_slot)
        free_slot_later(link, packet->from, packet->lane);
    extoll_deliver_whole(link, packet->from, packet->lane, head_len, body_len);
    return 1;
}

static __attribute__((noinline)) unsigned take_part(extoll_link *link, const extoll_packet *packet)
{
    extoll_rx *rx = &link->from[packet->from * PEN_LANES + (uint32_t)packet->lane];
    const char *bytes = packet->payload;
    uint32_t len = packet->len;
    if (packet->mtt == EXTOLL_BEGIN) {
        uint64_t begin = 0;
        if (len >= sizeof begin)
            memcpy(&begin, bytes, sizeof begin);
        if (rx->is_active || !extoll_begin_is_sound(begin, EXTOLL_BODY_MAX)) {
            extoll_lose(link, packet->from, "a frame has a malformed begin");
            return 0;
        }
        bytes += sizeof begin;
        len -= (uint32_t)sizeof begin;
        uint32_t head_len = extoll_begin_head_len(begin), body_len = extoll_begin_body_len(begin);
        if (!extoll_begin_is_after_puts(begin) && len == head_len + body_len)
            return take_whole(link, packet, head_len, body_len);
        extoll_rx_begin(rx, begin);
    } else if (!rx->is_active || len == 0) {
        extoll_lose(link, packet->from, "a packet continues a frame that has not begun");
        return 0;
    }
    return rx_add(link, packet, rx, bytes, len);
}

static inline unsigned take_short(extoll_link *link, const extoll_packet *packet)
{
    if (pen_unlikely(packet->len % EXTOLL_WORD != 0 || packet->len < EXTOLL_WORD ||
                     packet->len > PEN_FRAME_HEAD_MAX)) {
        extoll_lose(link, packet->from, "a head has an invalid length");
        return 0;
    }
    if (packet->has_slot)
        free_slot_later(link, packet->from, packet->lane);
    pen_host_hand(link->base.host, packet->from, packet->lane, packet->payload, packet->len, NULL,
                  0);
    return 1;
}

/* Takes up a wanted packet; returns frames delivered. */
static inline unsigned take_data(extoll_link *link, const extoll_packet *packet)
{
    return pen_likely(packet->mtt == EXTOLL_SHORT) ? take_short(link, packet)
                                                   : take_part(link, packet);
}

/* ---- the mailbox ----------------------------------------------------------------------------- */

/* Copies the packet out of the mailbox. Returns false if it comes from no peer, or from a lost
 * one. */
static bool fetch(extoll_link *link, extoll_packet *packet)
{
    packet->payload = (const char *)extoll_copy_of(link);
    return extoll_is_peer(link, packet->from) && packet->len <= EXTOLL_PAYLOAD_MAX &&
           velo2_recv_payload(&link->velo, extoll_copy_of(link), 0, packet->len) ==
               VELO2_RET_SUCCESS;
}

/* Whether the packet may belong to a frame that waits for its data and keeps the slot of its
 * last packet. */
static bool may_wait(const extoll_link *link, const extoll_packet *packet)
{
    uint64_t begin = 0;
    if (pen_likely(packet->mtt == EXTOLL_SHORT))
        return false;
    if (packet->mtt == EXTOLL_MORE)
        return link->from[packet->from * PEN_LANES + (uint32_t)packet->lane].number_len != 0;
    if (packet->len >= sizeof begin)
        memcpy(&begin, packet->payload, sizeof begin);
    return extoll_begin_is_after_puts(begin);
}

static bool hear_packet(extoll_link *link, const extoll_packet *packet)
{
    uint64_t word = 0;
    memcpy(&word, packet->payload, sizeof word);
    return packet->len == sizeof word && packet->tag == 0 && hear(link, packet->from, word);
}

static bool note_packet(extoll_link *link, extoll_packet *packet, unsigned lanes)
{
    if (!extoll_tag_is_sound(packet->tag))
        return false;
    packet->is_wanted = extoll_is_wanted(link, packet->lane, lanes);
    packet->has_slot = !packet->is_wanted || may_wait(link, packet);
    return arrive(link, packet);
}

/* Steps over the packet, and reports it to the credits. */
static bool account(extoll_link *link, extoll_packet *packet, bool is_known, unsigned lanes)
{
    pen_lock_take(&link->lock);
    bool is_sound = is_known && (packet->mtt == EXTOLL_CREDIT ? hear_packet(link, packet)
                                                              : note_packet(link, packet, lanes));
    extoll_step_over(link);
    if (!link->plan.coalesced)
        extoll_commit(link);
    pen_lock_drop(&link->lock);
    if (is_known && !is_sound)
        extoll_lose(link, packet->from, EXTOLL_NO_CREDIT);
    return is_sound;
}

unsigned extoll_take_packet(extoll_link *link, extoll_packet *packet, bool is_known, unsigned lanes)
{
    is_known = is_known && fetch(link, packet);
    if (!account(link, packet, is_known, lanes) || packet->mtt == EXTOLL_CREDIT)
        return 0;
    if (pen_likely(packet->is_wanted))
        return take_data(link, packet);
    stash_packet(link, packet);
    return 0;
}

/* ---- the stash, later ------------------------------------------------------------------------ */

unsigned extoll_unstash(extoll_link *link, unsigned lanes, unsigned budget)
{
    unsigned count = 0;
    while (count < budget) {
        pen_kept *kept = pen_lanes_take(&link->stash, lanes);
        if (kept == NULL)
            break;
        extoll_packet packet = { .from = kept->from,
                                 .mtt = (uint8_t)(kept->tag >> 8),
                                 .tag = (uint8_t)kept->tag,
                                 .lane = kept->lane,
                                 .len = kept->body_len,
                                 .payload = (const char *)extoll_copy_of(link),
                                 .is_wanted = true,
                                 .has_slot = true };
        memcpy(extoll_copy_of(link), kept->bytes, kept->body_len);
        pen_lanes_give(&link->stash, kept);
        if (!atomic_load_explicit(&link->to[packet.from].is_lost, memory_order_relaxed))
            count += take_data(link, &packet);
    }
    return count;
}

static void hand_kept(const extoll_link *link, pen_lanes *lanes, pen_kept *kept)
{
    pen_host_hand(link->base.host, kept->from, kept->lane, pen_kept_head(kept), kept->head_len,
                  pen_kept_body(kept), kept->body_len);
    pen_lanes_give(lanes, kept);
}

static bool data_has_come(void *ctx, const pen_kept *kept)
{
    return has_data((extoll_link *)ctx, kept->from, kept->tag);
}

unsigned extoll_unwait(extoll_link *link, unsigned lanes, unsigned budget)
{
    unsigned count = 0;
    for (; count < budget; count++) {
        pen_kept *kept = pen_lanes_take_ready(&link->waiting, lanes, data_has_come, link);
        if (kept == NULL)
            break;
        free_slot_later(link, kept->from, kept->lane);
        hand_kept(link, &link->waiting, kept);
    }
    return count;
}

/* ---- frames to the rank itself --------------------------------------------------------------- */

/* Under the lock. */
static bool own_data_has_come(void *ctx, const pen_kept *kept)
{
    const extoll_link *link = (const extoll_link *)ctx;
    return kept->tag <= link->notified[link->base.self];
}

unsigned extoll_poll_own(extoll_link *link, unsigned lanes, unsigned budget)
{
    unsigned count = 0;
    for (; count < budget; count++) {
        pen_lock_take(&link->lock);
        pen_kept *kept = pen_lanes_take_ready(&link->own, lanes, own_data_has_come, link);
        pen_lock_drop(&link->lock);
        if (kept == NULL)
            break;
        atomic_fetch_sub_explicit(&link->own_total, 1, memory_order_relaxed);
        hand_kept(link, &link->own, kept); /* it is not of a reserve, so this needs no lock */
    }
    return count;
}
