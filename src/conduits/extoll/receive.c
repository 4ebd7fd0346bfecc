/* SPDX-License-Identifier: BSD-3-Clause */
/* receive.c: packets become frames, one by one. All lanes come through one mailbox, so it is always
 * emptied: packets of a lane that was not asked for go to the stash, with their slots still counted
 * as in use, so that the stash holds no more than the mailbox could. A frame whose data comes by
 * RMA and is not there yet waits there, too. */
#include "conduits/extoll/receive.h"

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

static uint32_t stash_take(extoll_link *link)
{
    uint32_t i = link->stash_free;
    if (i != EXTOLL_NONE)
        link->stash_free = link->stash[i].next;
    else if (link->stash_used < link->stash_len)
        i = link->stash_used++;
    /* Each has a slot of its own, and no more slots are granted than there are. */
    PEN_INVARIANT(i != EXTOLL_NONE);
    return i;
}

static void stash_give(extoll_link *link, uint32_t i)
{
    link->stash[i].next = link->stash_free;
    link->stash_free = i;
}

static void list_push(extoll_link *link, extoll_list *list, uint32_t i)
{
    link->stash[i].next = EXTOLL_NONE;
    if (list->first == EXTOLL_NONE)
        list->first = i;
    else
        link->stash[list->last].next = i;
    list->last = i;
}

static void list_drop_first(extoll_link *link, extoll_list *list)
{
    list->first = link->stash[list->first].next;
}

static void stash_packet(extoll_link *link, const extoll_packet *packet)
{
    uint32_t i = stash_take(link);
    extoll_stashed *entry = &link->stash[i];
    entry->from = packet->from;
    entry->mtt = packet->mtt;
    entry->tag = packet->tag;
    entry->lane = (uint8_t)packet->lane;
    entry->len = packet->len;
    memcpy(entry->payload, packet->payload, packet->len);
    list_push(link, &link->stashed[packet->lane], i);
    link->stashed_count++;
}

/* ---- credits --------------------------------------------------------------------------------- */

/* For those that were not freed when they came: one round of the lock for a packet is enough. */
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

/* Under the lock: notes that a packet has come, frees its slot if it is taken up now, and hears the
 * credits that it carries. */
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

/* It keeps the slot of its last packet: so many frames can wait, and no more. */
static void wait_for_data(extoll_link *link, const extoll_packet *packet, const void *head,
                          uint32_t head_len, uint64_t number)
{
    uint32_t i = stash_take(link);
    extoll_stashed *entry = &link->stash[i];
    entry->from = packet->from;
    entry->lane = (uint8_t)packet->lane;
    entry->len = head_len;
    entry->number = number;
    memcpy(entry->payload, head, head_len);
    list_push(link, &link->waiting, i);
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
    extoll_deliver(link, packet->from, packet->lane, (const char *)rx->lead + number_len,
                   rx->lead_len - number_len, body, rx->body_len);
    if (buffer != NULL) {
        pen_lock_take(&link->lock);
        extoll_buffer_give(link, buffer);
        pen_lock_drop(&link->lock);
    }
    return 1;
}

/* Memory for a body that comes in more than one packet. False: there is none. */
static bool rx_buffer(extoll_link *link, extoll_rx *rx)
{
    if (rx->buffer != NULL)
        return true;
    pen_lock_take(&link->lock);
    rx->buffer = extoll_buffer_take(link);
    pen_lock_drop(&link->lock);
    return rx->buffer != NULL;
}

/* Takes the bytes of a packet up; answers frames delivered. The packet's slot is freed here, but
 * for that of a frame that waits. */
static unsigned rx_add(extoll_link *link, const extoll_packet *packet, extoll_rx *rx,
                       const char *bytes, uint32_t len)
{
    char *body = link->small_body;
    if (len > rx->lead_len + rx->body_len - rx->got) {
        extoll_lose(link, packet->from, "a frame is longer than it said");
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
    if (lead < len) /* bytes beyond the lead are of a body */
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
            extoll_lose(link, packet->from, "a frame begins as none does");
            return 0;
        }
        bytes += sizeof begin;
        len -= (uint32_t)sizeof begin;
        uint32_t head_len = extoll_begin_head_len(begin), body_len = extoll_begin_body_len(begin);
        if (!extoll_begin_is_after_puts(begin) && len == head_len + body_len)
            return take_whole(link, packet, head_len, body_len);
        extoll_rx_begin(rx, begin);
    } else if (!rx->is_active || len == 0) {
        extoll_lose(link, packet->from, "a frame goes on that has not begun");
        return 0;
    }
    return rx_add(link, packet, rx, bytes, len);
}

static inline unsigned take_short(extoll_link *link, const extoll_packet *packet)
{
    if (pen_unlikely(packet->len % EXTOLL_WORD != 0 || packet->len < EXTOLL_WORD ||
                     packet->len > PEN_FRAME_HEAD_MAX)) {
        extoll_lose(link, packet->from, "a head has a length that none has");
        return 0;
    }
    if (packet->has_slot)
        free_slot_later(link, packet->from, packet->lane);
    extoll_deliver(link, packet->from, packet->lane, packet->payload, packet->len, NULL, 0);
    return 1;
}

/* A packet that is wanted; answers frames delivered. */
static inline unsigned take_data(extoll_link *link, const extoll_packet *packet)
{
    return pen_likely(packet->mtt == EXTOLL_SHORT) ? take_short(link, packet)
                                                   : take_part(link, packet);
}

/* ---- the mailbox ----------------------------------------------------------------------------- */

/* Copies the packet out of the mailbox. False: it is nobody's, or a lost peer's. */
static bool fetch(extoll_link *link, extoll_packet *packet)
{
    packet->payload = (const char *)extoll_copy_of(link);
    return extoll_is_peer(link, packet->from) && packet->len <= EXTOLL_PAYLOAD_MAX &&
           velo2_recv_payload(&link->velo, extoll_copy_of(link), 0, packet->len) ==
               VELO2_RET_SUCCESS;
}

/* Whether the packet may be of a frame that waits for its data, with the slot of its last one. */
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

/* Steps over the packet, and tells the credits of it. */
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

/* ---- what was put aside ---------------------------------------------------------------------- */

static unsigned unstash_lane(extoll_link *link, unsigned lane, unsigned budget)
{
    extoll_list *list = &link->stashed[lane];
    unsigned count = 0;
    while (list->first != EXTOLL_NONE && count < budget) {
        uint32_t i = list->first;
        const extoll_stashed *entry = &link->stash[i];
        extoll_packet packet = { .from = entry->from,
                                 .mtt = entry->mtt,
                                 .tag = entry->tag,
                                 .lane = (pen_lane)lane,
                                 .len = entry->len,
                                 .payload = (const char *)extoll_copy_of(link),
                                 .is_wanted = true,
                                 .has_slot = true };
        memcpy(extoll_copy_of(link), entry->payload, entry->len);
        list_drop_first(link, list);
        link->stashed_count--;
        stash_give(link, i);
        if (!atomic_load_explicit(&link->to[packet.from].is_lost, memory_order_relaxed))
            count += take_data(link, &packet);
    }
    return count;
}

unsigned extoll_unstash(extoll_link *link, unsigned lanes, unsigned budget)
{
    unsigned count = 0;
    for (unsigned lane = PEN_LANES; lane-- > 0;)
        if ((lanes & PEN_LANE_BIT(lane)) != 0 && link->stashed[lane].first != EXTOLL_NONE &&
            count < budget)
            count += unstash_lane(link, lane, budget - count);
    return count;
}

unsigned extoll_unwait(extoll_link *link, unsigned lanes, unsigned budget)
{
    unsigned count = 0;
    extoll_list kept = { EXTOLL_NONE, EXTOLL_NONE };
    while (link->waiting.first != EXTOLL_NONE) {
        uint32_t i = link->waiting.first;
        extoll_stashed *entry = &link->stash[i];
        list_drop_first(link, &link->waiting);
        if (count >= budget || (lanes & PEN_LANE_BIT(entry->lane)) == 0 ||
            !has_data(link, entry->from, entry->number)) {
            list_push(link, &kept, i);
            continue;
        }
        free_slot_later(link, entry->from, (pen_lane)entry->lane);
        extoll_deliver(link, entry->from, (pen_lane)entry->lane, entry->payload, entry->len, NULL,
                       0);
        stash_give(link, i);
        count++;
    }
    link->waiting = kept;
    return count;
}
