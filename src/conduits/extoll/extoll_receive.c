/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll_receive.c: packets become frames. All lanes come through one mailbox, so it is always
 * emptied. Packets of a lane that was not asked for go to the stash. Their slots still count as in
 * use, so that the stash holds no more than the mailbox could. A frame that waits for its data by
 * RMA keeps the slot of its last packet. */
#include "conduits/extoll/extoll.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "credit/credit.h"
#include "diag/log.h"
#include "link/host.h"
#include "link/lanes.h"
#include "link/mailbox.h"
#include "link/pieces.h"
#include "link/transfers.h"
#include "os/lock.h"
#include "softnic/extoll/velo2.h"

#include <string.h>

enum {
    SHORT_MAX = VELO2_MAX_MSG_SIZE_64, /* bytes of a packet that each slot has */
    RMA_LOOK_EVERY = 16, /* polls; a notification that no operation waits for may lie a little */
};

static const char no_credit[] = "a packet has no credit, or is malformed";
static const char no_memory[] = "there is no memory for its message";

/* The next step with a packet that was counted. */
typedef enum extoll_verdict {
    TAKE_UP,
    TAKE_UP_SLOT, /* its slot still counts as in use */
    STEP_OVER,    /* it is about credits, or stashed */
    REFUSE,
} extoll_verdict;

typedef struct extoll_packet {
    pen_peer from;
    pen_lane lane;
    uint8_t mtt, tag;
    uint32_t len; /* without the piggybacked credit word */
    char *bytes;
    bool has_slot; /* its slot still counts as in use */
} extoll_packet;

PEN_COLD void extoll_lose(extoll_link *link, pen_peer peer, const char *what)
{
    const pen_host *host = link->base.host;
    /* relaxed: see extoll_peer */
    if (atomic_load_explicit(&link->to[peer].is_lost, memory_order_relaxed))
        return;
    atomic_store_explicit(&link->to[peer].is_lost, true, memory_order_relaxed);
    atomic_store_explicit(&link->to[peer].is_ignored, true, memory_order_relaxed);
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot go on with rank %u over extoll: %s; are all ranks the same build, with the "
              "same PENSTOCK_EXTOLL_ variables?",
              peer, what);
    host->peer_lost(host->ctx, peer, PEN_ERR_PROTOCOL);
}

/* Returns the peer that a packet comes from, or NULL if packets from there are not valid. */
static inline extoll_peer *peer_of(const extoll_link *link, pen_peer from)
{
    if (pen_unlikely(from >= link->peers))
        return NULL;
    extoll_peer *peer = &link->to[from];
    /* relaxed: see extoll_peer */
    return atomic_load_explicit(&peer->is_ignored, memory_order_relaxed) ? NULL : peer;
}

static inline uint64_t *copy_of(extoll_link *link) { return &link->copy[EXTOLL_COPY_LEAD]; }

static inline pen_in *rx_of(const extoll_link *link, const extoll_packet *packet)
{
    return &link->from[packet->from * PEN_LANES + (uint32_t)packet->lane];
}

/* ---- credits --------------------------------------------------------------------------------- */

static void free_slot(extoll_link *link, pen_peer from, pen_lane lane)
{
    pen_mailbox_free(&link->credits, link->to[from].source_i, lane);
}

/* Takes up a word about credits. Returns false if it is not valid. */
static bool hear(extoll_link *link, pen_peer from, uint64_t word)
{
    link->tx_news = true;
    link->credits.is_due |= link->tx_turns.count != 0;
    return pen_mailbox_hear(&link->credits, link->to[from].source_i, word);
}

void extoll_on_held(void *ctx, pen_peer from, pen_lane lane)
{
    extoll_link *link = ctx;
    if (from != link->base.self)
        free_slot(link, from, lane);
}

/* ---- the end of a packet --------------------------------------------------------------------- */

/* Each of these functions ends a packet: it drops the lock, and returns whether a frame was
 * delivered. */

static inline bool deliver(extoll_link *link, const extoll_packet *packet, const char *head,
                           uint32_t head_len, char *body, uint32_t body_len)
{
    pen_lock_drop(&link->lock);
    pen_host_hand(link->base.host, packet->from, packet->lane, head, head_len, body, body_len);
    return true;
}

static inline bool go_on(extoll_link *link)
{
    pen_lock_drop(&link->lock);
    return false;
}

static PEN_COLD bool refuse(extoll_link *link, const extoll_packet *packet, const char *what)
{
    pen_lock_drop(&link->lock);
    extoll_lose(link, packet->from, what);
    return false;
}

/* Steps over the packet that was found. */
static inline void step_over(extoll_link *link)
{
    link->uncommitted = velo2_recv_complete(&link->velo);
    link->stale = true;
    link->credits.is_due |= link->uncommitted >= link->plan.card.commit_period;
}

/* ---- frames of several packets --------------------------------------------------------------- */

/* Ends a frame that has arrived completely: it is delivered, or held until its data has come. Then
 * it keeps the slot of this packet, which bounds how many frames can wait. */
static bool rx_end(extoll_link *link, pen_in *rx, const extoll_packet *packet)
{
    pen_frame frame;
    uint64_t number;
    bool is_delivered;
    pen_piece_buffer *buffer = pen_in_end(rx, &frame, &number);
    if (number <= link->transfers.peer[packet->from].heard) {
        if (packet->has_slot)
            free_slot(link, packet->from, packet->lane);
        is_delivered = deliver(link, packet, frame.head, frame.head_len,
                               (char *)(uintptr_t)frame.body, frame.body_len);
    } else {
        is_delivered =
            pen_transfers_hold(&link->transfers, packet->from, packet->lane, &frame, number)
                ? go_on(link)
                : refuse(link, packet, no_memory);
    }
    pen_piece_give(&link->in_pool, buffer);
    return is_delivered;
}

/* Takes the packets that continue the frame of `packet` with the same tag, which is empty. Their
 * bytes go straight to the frame. Returns the error, or NULL. */
static const char *rx_run(extoll_link *link, pen_in *rx, const extoll_packet *packet)
{
    pen_credit_receiver *receiver = pen_mailbox_receiver(&link->credits, packet->lane);
    const uint32_t source_i = link->to[packet->from].source_i;
    bool is_valid = true;
    while (is_valid && rx->left != 0) {
        uint32_t source = 0;
        size_t len = 0;
        uint8_t mtt = 0, tag = 0;
        if (velo2_check(&link->velo, &source, &len, &mtt, &tag) != VELO2_RET_SUCCESS ||
            mtt != EXTOLL_MORE || tag != packet->tag || VELO2_ADDRESS_NODE(source) != packet->from)
            break;
        is_valid = len - 1 < rx->left && pen_mailbox_pass(&link->credits, receiver, source_i);
        if (pen_likely(is_valid && len == SHORT_MAX))
            memcpy(rx->to, velo2_recv_peek(&link->velo), SHORT_MAX);
        else if (is_valid)
            velo2_copy(rx->to, velo2_recv_peek(&link->velo), len);
        rx->to += len;
        rx->left -= (uint32_t)len;
        step_over(link);
    }
    return is_valid ? NULL : "a packet has no credit, or a frame is longer than announced";
}

/* Takes up a packet of a frame that needs several packets, or waits for its data. */
static __attribute__((noinline)) bool add_part(extoll_link *link, const extoll_packet *packet)
{
    pen_in *rx = rx_of(link, packet);
    const char *wrong =
        pen_in_add(&link->in_pool, rx, (pen_piece)packet->mtt, packet->bytes, packet->len);
    const bool is_plain = packet->tag < PEN_LANES && !packet->has_slot;
    if (pen_likely(wrong == NULL && is_plain && link->plan.coalesced))
        wrong = rx_run(link, rx, packet);
    if (pen_unlikely(wrong != NULL))
        return refuse(link, packet, wrong);
    if (rx->left == 0)
        return rx_end(link, rx, packet);
    if (packet->has_slot)
        free_slot(link, packet->from, packet->lane);
    return go_on(link);
}

/* ---- packets --------------------------------------------------------------------------------- */

/* Takes up a packet whose lane was asked for. A frame that is whole in the copy of its packet is
 * delivered there. has_slot: the packet's slot still counts as in use. */
static inline __attribute__((always_inline)) bool take_up(extoll_link *link, extoll_packet *packet,
                                                          bool has_slot)
{
    const uint64_t begin = *copy_of(link);
    const bool is_short = packet->mtt == EXTOLL_SHORT;
    if (!is_short &&
        pen_unlikely(packet->mtt != EXTOLL_BEGIN || !pen_piece_is_whole(begin, packet->len))) {
        packet->has_slot = has_slot;
        return add_part(link, packet);
    }
    if (has_slot)
        free_slot(link, packet->from, packet->lane);
    if (pen_likely(is_short)) {
        if (pen_unlikely(packet->len % EXTOLL_WORD != 0 || packet->len - 1 >= PEN_FRAME_HEAD_MAX))
            return refuse(link, packet, "a head has an invalid length");
        return deliver(link, packet, packet->bytes, packet->len, NULL, 0);
    }
    const uint32_t head_len = pen_piece_head_len(begin);
    const uint32_t body_len = pen_piece_body_len(begin);
    char *body = packet->bytes + EXTOLL_WORD + head_len;
    if (head_len % 16 == 0)
        body = memcpy(link->small_body, body, body_len);
    return deliver(link, packet, packet->bytes + EXTOLL_WORD, head_len, body, body_len);
}

/* Copies the packet out of the mailbox. A short packet is copied with the bytes before it in its
 * slot, so that the length is a constant. */
static inline void fetch(extoll_link *link, extoll_packet *packet)
{
    _Static_assert(SHORT_MAX <= EXTOLL_COPY_LEAD * EXTOLL_WORD,
                   "the bytes before a packet have a place");
    const char *bytes = velo2_recv_peek(&link->velo);
    const uint32_t len = (packet->len + EXTOLL_WORD - 1) & ~(uint32_t)(EXTOLL_WORD - 1);
    packet->bytes = (char *)copy_of(link);
    if (pen_likely(len <= SHORT_MAX))
        memcpy(packet->bytes + len - SHORT_MAX, bytes + len - SHORT_MAX, SHORT_MAX);
    else
        velo2_copy(packet->bytes, bytes, packet->len);
}

/* Whether packets of the lane are taken up as they come. */
static inline bool is_wanted(const extoll_link *link, pen_lane lane, unsigned lanes)
{
    return (lanes & PEN_LANE_BIT(lane)) != 0 && link->stash.first[lane] == NULL;
}

/* Whether the packet may end a frame that waits for its data and keeps this slot. */
static inline bool may_wait(extoll_link *link, const extoll_packet *packet)
{
    return packet->mtt != EXTOLL_SHORT &&
           pen_piece_is_after_puts(packet->mtt == EXTOLL_BEGIN ? *copy_of(link)
                                                               : rx_of(link, packet)->begin);
}

/* Takes the credit word off the packet, if it has one. Returns false if the packet is too short. */
static bool take_word(extoll_packet *packet, uint64_t *word)
{
    if (packet->mtt != EXTOLL_CREDIT && (packet->tag & PEN_MAILBOX_RIDE) == 0)
        return true;
    if (packet->len < sizeof *word)
        return false;
    packet->len -= (uint32_t)sizeof *word;
    memcpy(word, packet->bytes + packet->len, sizeof *word);
    return true;
}

static extoll_verdict stash_packet(extoll_link *link, const extoll_packet *packet)
{
    const pen_frame frame = { .head = packet->bytes,
                              .body = packet->bytes,
                              .body_len = packet->len };
    const uint64_t tag = (uint64_t)packet->mtt << 8 | packet->tag;
    /* Each has a slot of its own, and no more slots are granted than exist. */
    PEN_INVARIANT(pen_lanes_keep(&link->stash, packet->from, packet->lane, &frame, tag));
    return STEP_OVER;
}

/* Counts a packet of a frame, and takes up the word that rides on it, if any. Returns false if the
 * packet is not valid. */
static bool count_data(extoll_link *link, const extoll_packet *packet, bool keeps_slot,
                       uint64_t word)
{
    const uint32_t source_i = link->to[packet->from].source_i;
    return pen_mailbox_count(&link->credits, source_i, packet->tag, keeps_slot) &&
           ((packet->tag & PEN_MAILBOX_RIDE) == 0 || hear(link, packet->from, word));
}

/* Counts a packet that is about credits, or is not asked for, or may keep its slot. */
static __attribute__((noinline)) extoll_verdict count_slow(extoll_link *link, extoll_packet *packet,
                                                           unsigned lanes)
{
    uint64_t word = 0;
    if (!pen_mailbox_tag_is_sound(packet->tag) || !take_word(packet, &word))
        return REFUSE;
    if (packet->mtt == EXTOLL_CREDIT) {
        const bool is_valid = packet->tag == 0 && packet->len == 0;
        return is_valid && hear(link, packet->from, word) ? STEP_OVER : REFUSE;
    }
    packet->lane = pen_mailbox_tag_lane(packet->tag);
    const bool is_asked = is_wanted(link, packet->lane, lanes);
    const bool keeps_slot = !is_asked || may_wait(link, packet);
    if (!count_data(link, packet, keeps_slot, word))
        return REFUSE;
    if (!is_asked)
        return stash_packet(link, packet);
    return keeps_slot ? TAKE_UP_SLOT : TAKE_UP;
}

static __attribute__((noinline)) bool take_slow(extoll_link *link, extoll_packet *packet,
                                                extoll_verdict verdict)
{
    if (verdict == TAKE_UP_SLOT)
        return take_up(link, packet, true);
    return verdict == STEP_OVER ? go_on(link) : refuse(link, packet, no_credit);
}

/* Takes the packet that was found in the mailbox. */
static inline __attribute__((always_inline)) bool take_packet(extoll_link *link, extoll_peer *peer,
                                                              extoll_packet *packet, unsigned lanes)
{
    extoll_verdict verdict;
    fetch(link, packet);
    packet->lane = (pen_lane)packet->tag;
    if (pen_unlikely(packet->tag >= PEN_LANES) || pen_unlikely(packet->mtt == EXTOLL_CREDIT) ||
        pen_unlikely(!is_wanted(link, packet->lane, lanes)) || pen_unlikely(may_wait(link, packet)))
        verdict = count_slow(link, packet, lanes);
    else
        verdict =
            pen_mailbox_pass(&link->credits, pen_mailbox_receiver(&link->credits, packet->lane),
                             peer->source_i)
                ? TAKE_UP
                : REFUSE;
    step_over(link);
    return pen_likely(verdict == TAKE_UP) ? take_up(link, packet, false)
                                          : take_slow(link, packet, verdict);
}

/* Takes a stashed packet whose lane is asked for now. Its slot is in use. */
static __attribute__((noinline)) bool take_stashed(extoll_link *link, pen_kept *kept)
{
    extoll_packet packet = { .from = kept->from,
                             .lane = kept->lane,
                             .mtt = (uint8_t)(kept->tag >> 8),
                             .tag = (uint8_t)kept->tag,
                             .len = kept->body_len,
                             .bytes = (char *)copy_of(link) };
    memcpy(packet.bytes, kept->bytes, kept->body_len);
    pen_lanes_give(&link->stash, kept);
    if (peer_of(link, packet.from) == NULL)
        return false;
    pen_lock_take(&link->lock);
    return take_slow(link, &packet, TAKE_UP_SLOT);
}

/* ---- the mailbox ----------------------------------------------------------------------------- */

/* Reports the packets read to the card. */
static __attribute__((noinline)) void tell_card(extoll_link *link)
{
    pen_lock_take(&link->lock);
    extoll_commit(link);
    pen_lock_drop(&link->lock);
    link->stale = false;
}

/* Empties stash and mailbox as far as the budget goes. Returns events: packets out of the mailbox,
 * and frames. */
static __attribute__((noinline)) unsigned drain(extoll_link *link, unsigned lanes, unsigned budget)
{
    unsigned packets = 0, frames = 0;
    while (frames < budget) {
        pen_kept *kept;
        extoll_packet packet;
        uint32_t source = 0;
        size_t len = 0;
        if (pen_unlikely(link->stash.total != 0) &&
            (kept = pen_lanes_take(&link->stash, lanes)) != NULL) {
            frames += take_stashed(link, kept);
            continue;
        }
        velo2_ret_t found = velo2_check(&link->velo, &source, &len, &packet.mtt, &packet.tag);
        if (found == VELO2_RET_NO_MSG || packets == link->drain_max)
            break;
        packets++;
        packet.from = VELO2_ADDRESS_NODE(source);
        packet.len = (uint32_t)len;
        pen_lock_take(&link->lock);
        extoll_peer *peer = peer_of(link, packet.from);
        if (pen_likely(found == VELO2_RET_SUCCESS && peer != NULL)) {
            frames += take_packet(link, peer, &packet, lanes);
        } else {
            step_over(link);
            pen_lock_drop(&link->lock);
        }
    }
    if (pen_unlikely(!link->plan.coalesced))
        tell_card(link);
    return packets + frames;
}

/* ---- poll ------------------------------------------------------------------------------------ */

/* Whether there may be work besides packets to receive and to send. */
static inline bool has_more_than_mail(extoll_link *link)
{
    return pen_transfers_has_work(&link->transfers) || pen_transfers_holds(&link->transfers) ||
           ++link->quiet % RMA_LOOK_EVERY == 0;
}

/* Sends all that can be sent. */
static __attribute__((noinline)) unsigned push(extoll_link *link)
{
    pen_lock_take(&link->lock);
    unsigned sent = extoll_send_more(link);
    sent += extoll_send_credits(link);
    extoll_commit(link);
    link->stale = false;
    link->credits.is_due = pen_mailbox_has_next(&link->credits);
    bool waits_for_card =
        link->credits.is_due || atomic_load_explicit(&link->try_again, memory_order_relaxed);
    pen_lock_drop(&link->lock);
    return sent + waits_for_card; /* no event comes when the card has room */
}

unsigned extoll_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    extoll_link *link = extoll_of(base);
    unsigned events = 0, frames = 0;
    if (pen_unlikely(has_more_than_mail(link))) {
        events = extoll_rma_poll(link);
        if (pen_transfers_holds(&link->transfers))
            frames = pen_transfers_deliver(&link->transfers, &link->lock, lanes, budget);
        events += frames;
    }
    if (pen_unlikely(link->stash.total != 0) || !velo2_is_empty(&link->velo))
        events += drain(link, lanes, budget - frames);
    if (events == 0 && link->stale)
        tell_card(link);
    if (link->credits.is_due || atomic_load_explicit(&link->try_again, memory_order_relaxed))
        events += push(link);
    return events;
}
