/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_send.c: posts frames into the pair's channel, or into the peer's inbox if the pair has no
 * channel. */
#include "base/compiler.h"
#include "base/copy.h"
#include "conduit/conduit.h"
#include "conduits/shm/shm.h"
#include "link/host.h"

#include <string.h>

enum { INBOX_SENDS_MAX = 16 }; /* sends through the inbox before the next try to claim a channel */

static PEN_COLD void ring_bell(const shm_link *link, shm_page *page, uint64_t bit)
{
    /* release: pairs with the acquire in shm_poll's answer; the claim and the slot come first */
    atomic_fetch_or_explicit(&page->bell, bit | SHM_BELL_RUNG, memory_order_release);
    if (link->fenced)
        shm_fence(); /* before looking whether the rank sleeps */
}

PEN_COLD void shm_announce_slow(const shm_link *link, pen_peer to, const shm_tx *tx)
{
    if (atomic_load_explicit(tx->awake, memory_order_relaxed) == 0)
        ring_bell(link, link->to[to].page, SHM_BELL_CHANNEL(tx->channel));
    pen_host_wake_sleeper(link->base.host, to, tx->sleeping, false);
}

/* Wakes the reader after a slot was published, if it has parked the channel or sleeps. Before
 * its last look, a reader that parks or sleeps announces it and runs a barrier through all
 * processors, so plain loads after the store suffice here. Without that system call both sides
 * fence. */
static inline pen_post announce(const shm_link *link, pen_peer to, const shm_tx *tx)
{
    atomic_signal_fence(memory_order_seq_cst); /* keeps the compiler from reordering */
    if (pen_unlikely(atomic_load_explicit(tx->awake, memory_order_relaxed) == 0 ||
                     atomic_load_explicit(tx->sleeping, memory_order_relaxed) != 0))
        shm_announce_slow(link, to, tx);
    return PEN_POST_DONE;
}

/* ---- room ----------------------------------------------------------------------------------- */

/* Marks a peer whose counters are malformed. Poll reports it, because poll may call the engine
 * back. */
static PEN_COLD void give_up(shm_link *link, shm_peer *peer)
{
    atomic_store_explicit(&peer->broken, true, memory_order_relaxed);
    for (pen_lane lane = PEN_LANE_REQUEST; lane < SHM_CHANNEL_LANES; lane++)
        peer->lanes[lane].express.room = 0; /* every post takes the slow path now */
    /* release: pairs with the acquire in poll, which then looks for `broken` */
    atomic_fetch_or_explicit(&link->page->bell, SHM_BELL_FAULT | SHM_BELL_RUNG,
                             memory_order_release);
}

/* Learns how far the reader of this rank's channel got. */
static void refresh(shm_link *link, shm_peer *peer, shm_tx *tx, pen_lane lane)
{
    const shm_channel_words *words = &peer->page->channels[tx->channel];
    /* acquire: pairs with the releases in give_back(): the reader is done with all that it
     * counts */
    uint32_t slots_done = atomic_load_explicit(&words->slots_done[lane], memory_order_acquire);
    uint32_t ring_done = atomic_load_explicit(&words->bodies_done[lane], memory_order_acquire);
    if (tx->next + tx->reserved - slots_done > SHM_RING_SLOTS ||
        tx->ring_next - ring_done > link->layout.ring_len) {
        give_up(link, peer);
        return;
    }
    tx->express.room = slots_done + SHM_RING_SLOTS - tx->reserved - tx->next;
    tx->ring_done = ring_done;
    shm_tx_show_room(tx);
}

bool shm_has_room(shm_link *link, shm_peer *peer, pen_lane lane, uint32_t slots)
{
    shm_tx *tx = shm_tx_of(peer, lane);
    if (tx->express.room >= slots)
        return true;
    refresh(link, peer, tx, lane);
    return tx->express.room >= slots;
}

/* Bodies of replies go on behind their window before a reply is refused, because a refused reply is
 * queued, and its body copied once more. */
int64_t shm_ring_find(shm_link *link, shm_peer *peer, shm_tx *tx, pen_lane lane, uint32_t record)
{
    uint32_t ring_len = link->layout.ring_len;
    uint32_t offset = tx->ring_next & (ring_len - 1);
    bool is_end = offset + record > shm_ring_window(&link->layout, record);
    uint32_t start = tx->ring_next + (is_end ? ring_len - offset : 0);
    if (start + record - tx->ring_done <= ring_len)
        return start;
    refresh(link, peer, tx, lane);
    if (start + record - tx->ring_done <= ring_len)
        return start;
    start = tx->ring_next;
    bool goes_on = lane == PEN_LANE_REPLY && offset + record <= ring_len &&
                   start + record - tx->ring_done <= ring_len;
    return goes_on ? (int64_t)start : -1;
}

int shm_chunk_take(shm_peer *peer, pen_lane lane)
{
    _Atomic uint32_t *taken = &peer->page->lanes[lane].chunks_taken;
    uint32_t all = (1u << shm_chunk_count(lane)) - 1;
    uint32_t seen = atomic_load_explicit(taken, memory_order_relaxed);
    while ((~seen & all) != 0) {
        uint32_t chunk = (uint32_t)__builtin_ctz(
            ~seen & all); /* the lowest free one: its memory is in use already */
        /* acquire: pairs with the release in shm_chunk_give(): the last reader is done */
        if (atomic_compare_exchange_weak_explicit(taken, &seen, seen | 1u << chunk,
                                                  memory_order_acquire, memory_order_relaxed))
            return (int)chunk;
    }
    return -1;
}

void shm_chunk_give(shm_page *page, pen_lane lane, uint32_t chunk)
{
    /* release: pairs with the acquire in shm_chunk_take() */
    atomic_fetch_and_explicit(&page->lanes[lane].chunks_taken, ~(1u << chunk),
                              memory_order_release);
}

/* ---- writing a frame ------------------------------------------------------------------------ */

static inline uint32_t slots_needed(const pen_frame *frame)
{
    return frame->head_len > SHM_SLOT_HEAD ? 2 : 1;
}

static inline bool fits_slot(const pen_frame *frame)
{
    return frame->head_len <= SHM_SLOT_HEAD &&
           shm_slot_body_at(frame->head_len) + frame->body_len <= SHM_SLOT_LEN;
}

/* Writes the first slot's word last: storing it publishes everything before. */
static void write_slots(shm_slot *slots, uint32_t mask, uint32_t position, const pen_frame *frame,
                        uint64_t word)
{
    shm_slot *slot = &slots[position & mask];
    uint32_t first_len = frame->head_len;
    if (first_len > SHM_SLOT_HEAD) {
        shm_slot *more = &slots[(position + 1) & mask];
        first_len = SHM_SLOT_HEAD;
        shm_copy_head(more, (const char *)frame->head + first_len, frame->head_len - first_len);
        /* relaxed: only tells this lap from the next; the first slot's word publishes it */
        atomic_store_explicit(&more->word, shm_word(position + 1, 0), memory_order_relaxed);
    }
    shm_copy_head(slot, frame->head, first_len);
    if (shm_word_kind(word) == SHM_BODY_IN_SLOT)
        memcpy((char *)slot + shm_slot_body_at(frame->head_len), frame->body, frame->body_len);
    /* release: pairs with the reader's acquire of this word */
    atomic_store_explicit(&slot->word, word | shm_word(position, frame->head_len),
                          memory_order_release);
}

void shm_send_channel(shm_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                      uint64_t body_word)
{
    shm_tx *tx = &link->to[to].lanes[lane];
    write_slots(tx->slots, SHM_RING_SLOTS - 1, tx->next, frame, body_word);
    tx->next += slots_needed(frame);
    tx->express.room -= slots_needed(frame);
    if (link->fenced)
        shm_fence();
    (void)announce(link, to, tx);
}

/* ---- inbox ---------------------------------------------------------------------------------- */

/* Checks for room before a ticket is taken, because a ticket cannot be handed back. A rank has
 * at most two checks outstanding in a lane, this post's and one reservation's, of at most two
 * slots each. Of any 2N + 1 consecutive tickets, two followed checks of one kind by one rank,
 * and the later check saw the earlier ticket. So leaving 4N slots free keeps every ticket in the
 * ring. */
bool shm_inbox_has_room(const shm_link *link, const shm_peer *peer, pen_lane lane)
{
    /* acquire: pairs with the release in give_back_inbox(). Read before the tail, so that their
     * distance is never too small. */
    uint32_t done = atomic_load_explicit(&peer->page->inbox_done[lane], memory_order_acquire);
    uint32_t tail = atomic_load_explicit(&peer->page->lanes[lane].inbox_tail, memory_order_relaxed);
    return tail - done <= link->layout.inbox_slots - 4 * link->peers;
}

void shm_send_inbox(shm_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                    uint64_t body_word)
{
    shm_peer *peer = &link->to[to];
    /* acq_rel: another rank may have made the check that frees this slot. The reader's progress
     * that it acquired must reach this rank through the tickets in between. */
    uint32_t ticket = atomic_fetch_add_explicit(&peer->page->lanes[lane].inbox_tail,
                                                slots_needed(frame), memory_order_acq_rel);
    write_slots(shm_inbox(&link->layout, peer->area, lane), link->layout.inbox_slots - 1, ticket,
                frame, body_word | shm_word_place(link->base.self));
    ring_bell(link, peer->page, SHM_BELL_INBOX(lane));
    pen_host_wake_sleeper(link->base.host, to, peer->lanes[0].sleeping, false);
}

/* Copies a body. A long one bypasses the caches if the reader is far. */
static inline void write_body(const shm_link *link, shm_peer *peer, char *to,
                              const pen_frame *frame)
{
    if (frame->body_len < PEN_COPY_OUT_MIN)
        memcpy(to, frame->body, frame->body_len);
    else
        pen_copy_out(&link->copies, &peer->pace, to, frame->body, frame->body_len);
}

/* Puts a body that fits neither the slot nor the ring into a chunk. Returns false if all are
 * taken. */
static bool place_in_chunk(const shm_link *link, shm_peer *peer, pen_lane lane,
                           const pen_frame *frame, uint64_t *body_word)
{
    int chunk = shm_chunk_take(peer, lane);
    if (chunk < 0)
        return false;
    write_body(link, peer, shm_chunk(&link->layout, peer->area, lane, (uint32_t)chunk), frame);
    *body_word = shm_word_body(SHM_BODY_IN_CHUNK, frame->body_len, (uint32_t)chunk);
    return true;
}

static pen_post post_inbox(shm_link *link, pen_peer to, pen_lane lane, const pen_frame *frame)
{
    shm_peer *peer = &link->to[to];
    uint64_t body_word = 0;
    if (!shm_inbox_has_room(link, peer, lane))
        return PEN_POST_AGAIN;
    if (frame->body_len != 0) {
        if (fits_slot(frame))
            body_word = shm_word_body(SHM_BODY_IN_SLOT, frame->body_len, 0);
        else if (!place_in_chunk(link, peer, lane, frame, &body_word))
            return PEN_POST_AGAIN;
    }
    shm_send_inbox(link, to, lane, frame, body_word);
    return PEN_POST_DONE;
}

/* ---- channel -------------------------------------------------------------------------------- */

static bool place_in_ring(shm_link *link, shm_peer *peer, pen_lane lane, const pen_frame *frame,
                          uint64_t *body_word)
{
    shm_tx *tx = &peer->lanes[lane];
    uint32_t record = shm_ring_record(frame->body_len);
    int64_t start = shm_ring_find(link, peer, tx, lane, record);
    if (start < 0)
        return false;
    uint32_t offset = (uint32_t)start & (link->layout.ring_len - 1);
    write_body(link, peer, tx->ring + offset, frame);
    tx->ring_next = (uint32_t)start + record;
    shm_tx_show_room(tx);
    *body_word = shm_word_body(SHM_BODY_IN_RING, frame->body_len, 0) |
                 shm_word_place(offset / SHM_BODY_ALIGN);
    return true;
}

static bool place_body(shm_link *link, shm_peer *peer, pen_lane lane, const pen_frame *frame,
                       uint64_t *body_word)
{
    *body_word = 0;
    if (frame->body_len == 0)
        return true;
    if (fits_slot(frame)) {
        *body_word = shm_word_body(SHM_BODY_IN_SLOT, frame->body_len, 0);
        return true;
    }
    if (shm_ring_record(frame->body_len) <= shm_ring_record_max(&link->layout) &&
        pen_likely(!shm_tx_of(peer, lane)->ring_held))
        return place_in_ring(link, peer, lane, frame, body_word);
    return place_in_chunk(link, peer, lane, frame, body_word);
}

/* Claims a channel of the peer. If it reads fewer channels than there are ranks, the first that
 * ask get them. */
static bool claim(shm_link *link, shm_peer *peer, uint32_t *channel_out)
{
    for (uint32_t i = 0; i < link->channels; i++) {
        uint32_t free = 0;
        /* relaxed: nothing is read through it; the reader learns of it by the bell, a release */
        if (atomic_compare_exchange_strong_explicit(&peer->page->owner[i], &free,
                                                    link->base.self + 1, memory_order_relaxed,
                                                    memory_order_relaxed)) {
            *channel_out = i;
            return true;
        }
    }
    return false;
}

bool shm_open_channel(shm_link *link, pen_peer to)
{
    shm_peer *peer = &link->to[to];
    uint32_t channel = link->base.self;
    if (link->peers > link->channels && !claim(link, peer, &channel))
        return false;
    char *start = shm_channel(&link->layout, peer->area, channel);
    bool always = shm_is_eager(link) && to != link->base.self;
    for (pen_lane lane = PEN_LANE_REQUEST; lane < SHM_CHANNEL_LANES; lane++) {
        shm_tx *tx = &peer->lanes[lane];
        tx->channel = (uint8_t)channel;
        tx->slots = (shm_slot *)(void *)(start + shm_channel_slots_at(lane));
        tx->ring = start + shm_channel_ring_at(&link->layout, lane);
        tx->next = tx->ring_next = tx->ring_done = link->config.position_start;
        tx->express.room = to == link->base.self ? 0 : SHM_RING_SLOTS; /* see post_slowly */
        tx->ring_bits = (uint8_t)__builtin_ctz(link->layout.ring_len);
        shm_tx_show_room(tx);
        tx->awake = always ? &link->always : &peer->page->channels[channel].awake;
    }
    return true;
}

/* If a peer's channels are scarce, the first frames to it take its inbox, so that channels go to
 * the ranks that talk most. Frames have no order among them, so no frame waits for another. */
static bool has_channel(shm_link *link, pen_peer to)
{
    shm_peer *peer = &link->to[to];
    if (peer->lanes[0].slots != NULL)
        return true;
    if (link->peers > link->channels && peer->inbox_sends++ < INBOX_SENDS_MAX)
        return false;
    peer->inbox_sends = 0;
    return shm_open_channel(link, to);
}

static pen_post post_slow(shm_link *link, pen_peer to, pen_lane lane, const pen_frame *frame)
{
    shm_peer *peer = &link->to[to];
    uint64_t body_word;
    if (atomic_load_explicit(&peer->broken, memory_order_relaxed))
        return PEN_POST_FAILED;
    if (lane == PEN_LANE_CONTROL || !has_channel(link, to))
        return post_inbox(link, to, lane, frame);
    if (!shm_has_room(link, peer, lane, slots_needed(frame)) ||
        !place_body(link, peer, lane, frame, &body_word)) {
        bool broken = atomic_load_explicit(&peer->broken, memory_order_relaxed);
        return broken ? PEN_POST_FAILED : PEN_POST_AGAIN;
    }
    shm_send_channel(link, to, lane, frame, body_word);
    return PEN_POST_DONE;
}

/* Shows no room if a rank sends to itself: the engine runs those messages where they are sent. */
static __attribute__((noinline)) pen_post post_slowly(shm_link *link, pen_peer to, pen_lane lane,
                                                      const pen_frame *frame)
{
    pen_post result = post_slow(link, to, lane, frame);
    if (to == link->base.self)
        shm_tx_of(&link->to[to], lane)->express.room = 0;
    return result;
}

/* Finds room for a short body without asking the reader how far it got and without going back to
 * the ring's start. Returns NULL if a full search is needed. */
static inline char *room_at_once(const shm_link *link, const shm_tx *tx, uint32_t record)
{
    uint32_t ring_len = link->layout.ring_len;
    uint32_t offset = tx->ring_next & (ring_len - 1);
    if (pen_unlikely(tx->ring_held || offset + record > link->layout.near_len ||
                     tx->ring_next + record - tx->ring_done > ring_len))
        return NULL;
    return tx->ring + offset;
}

/* Posts a body of medium length behind a head that fits one slot. The body is written first,
 * then the slot's line, which the reader polls, in one piece. */
static __attribute__((noinline)) pen_post post_with_body(shm_link *link, pen_peer to, pen_lane lane,
                                                         const pen_frame *frame)
{
    shm_tx *tx = shm_tx_of(&link->to[to], lane);
    uint32_t record = shm_ring_record(frame->body_len);
    char *body = frame->body_len == 0 || frame->body_len >= PEN_COPY_OUT_MIN || fits_slot(frame)
                     ? NULL
                     : room_at_once(link, tx, record);
    if (body == NULL)
        return post_slow(link, to, lane, frame);
    uint32_t next = tx->next;
    shm_slot *slot = &tx->slots[next & (SHM_RING_SLOTS - 1)];
    memcpy(body, frame->body, frame->body_len);
    shm_copy_head(slot, frame->head, frame->head_len);
    uint64_t place = (uint32_t)(body - tx->ring) / SHM_BODY_ALIGN;
    /* release: pairs with the reader's acquire of this word */
    atomic_store_explicit(&slot->word,
                          shm_word_body(SHM_BODY_IN_RING, frame->body_len, 0) |
                              shm_word_place((uint32_t)place) | shm_word(next, frame->head_len),
                          memory_order_release);
    tx->ring_next += record;
    shm_tx_show_room(tx);
    tx->next = next + 1;
    tx->express.room--;
    return announce(link, to, tx);
}

/* The engine calls it to post a frame. The fast path for a short message to a peer whose channel
 * has room is all in here. */
pen_post shm_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    shm_link *link = shm_of(base);
    shm_tx *tx = shm_tx_of(&link->to[to], lane);
    uint32_t next = tx->next;
    uint32_t head_len = frame->head_len;
    (void)op; /* everything has been copied at return */
    if (pen_unlikely(tx->express.room == 0 || head_len > SHM_SLOT_HEAD))
        return post_slowly(link, to, lane, frame);
    if (frame->body_len != 0)
        return post_with_body(link, to, lane, frame);
    shm_slot *slot = &tx->slots[next & (SHM_RING_SLOTS - 1)];
    shm_copy_head(slot, frame->head, head_len);
    /* release: pairs with the reader's acquire of this word */
    atomic_store_explicit(&slot->word, shm_word(next, head_len), memory_order_release);
    tx->next = next + 1;
    tx->express.room--;
    return announce(link, to, tx);
}

pen_post shm_post_fenced(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                         pen_op *op)
{
    (void)op;
    return post_slow(shm_of(base), to, lane, frame);
}

void shm_connect_peer(shm_link *link, pen_peer to)
{
    const pen_host *host = link->base.host;
    shm_peer *peer = &link->to[to];
    const _Atomic uint32_t *sleeping = pen_host_sleep_word(host, to, &link->always);
    peer->area = shm_area(&link->layout, link->slice, to);
    peer->page = (shm_page *)(void *)peer->area;
    peer->link = link;
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++) {
        shm_tx *tx = shm_tx_of(peer, lane);
        tx->lane = (uint8_t)lane;
        tx->sleeping = sleeping;
    }
    if (shm_is_eager(link))
        (void)shm_open_channel(link, to);
}
