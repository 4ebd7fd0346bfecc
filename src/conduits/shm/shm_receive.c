/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_receive.c: polls the channels that peers use, the bell, and the inboxes.
 *
 * Slots that peers wrote may hold garbage. A slot's word is loaded once and checked before it is
 * used; a checked word can lead only into this conduit's own slice. If a word is malformed, its
 * ring is never read again, and the engine is told. */
#include "conduits/shm/shm.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "os/os.h"

enum {
    DRAIN_MAX = SHM_RING_SLOTS /
                2, /* frames of one ring before the next ring's turn, for fairness among peers */
    GIVE_BACK_SLOTS = SHM_RING_SLOTS / 4,
    LOOK_POLLS = 256, /* most polls between two looks at parked channels */
};

typedef struct shm_frame { /* a slot's word, checked */
    void *head, *body;
    uint32_t head_len, body_len;
    uint32_t slots, chunk;
    shm_body kind;
} shm_frame;

static inline bool is_ready(const shm_rx *rx, uint64_t *word_out)
{
    /* acquire: pairs with the release that publishes the slot */
    *word_out = atomic_load_explicit(&rx->at->word, memory_order_acquire);
    return (uint16_t)*word_out == rx->sequence;
}

static inline void advance(shm_rx *rx, uint32_t slots)
{
    rx->next += slots;
    rx->at = &rx->slots[rx->next & rx->slot_mask];
    rx->sequence = (uint16_t)(rx->next + 1);
}

static void rx_init(shm_rx *rx, shm_slot *slots, uint32_t slot_count, uint32_t position)
{
    *rx = (shm_rx){ .slots = slots, .slot_mask = slot_count - 1 };
    rx->slots_told = rx->ring_done = rx->ring_told = position;
    rx->next = position;
    advance(rx, 0);
}

/* ---- checking ------------------------------------------------------------------------------- */

/* Puts the two parts of a long head together: they are not adjacent, and where the ring ends the
 * second slot is not next to the first. */
static void *join_head(shm_link *link, const shm_rx *rx, uint32_t words)
{
    const shm_slot *more = &rx->slots[(rx->next + 1) & rx->slot_mask];
    for (uint32_t i = 0; i < words; i++) {
        const _Atomic uint64_t *from =
            i < SHM_SLOT_WORDS ? &rx->at->head[i] : &more->head[i - SHM_SLOT_WORDS];
        link->long_head[i] = atomic_load_explicit(from, memory_order_relaxed);
    }
    return link->long_head;
}

static bool find_in_slot(shm_rx *rx, shm_frame *frame)
{
    uint32_t at = shm_slot_body_at(frame->head_len);
    frame->body = (char *)rx->at + at;
    return frame->slots == 1 && at + frame->body_len <= SHM_SLOT_LEN;
}

static bool find_in_ring(const shm_link *link, shm_rx *rx, uint64_t word, shm_frame *frame)
{
    uint32_t offset = shm_word_place_of(word) * SHM_BODY_ALIGN;
    uint32_t ring_len = rx->ring == NULL ? 0 : link->layout.ring_len;
    if (offset >= ring_len || frame->body_len > SHM_BODY_MAX ||
        shm_ring_record(frame->body_len) > ring_len - offset)
        return false;
    frame->body = rx->ring + offset;
    return true;
}

static bool find_in_chunk(const shm_link *link, pen_lane lane, uint64_t word, shm_frame *frame)
{
    frame->chunk = shm_word_chunk(word);
    if (frame->body_len > SHM_BODY_MAX || frame->chunk >= shm_chunk_count(lane))
        return false;
    /* acquire: the slot's word has ordered all data. This pairs with a thread of this process
     * that took the chunk before and cancelled: ThreadSanitizer cannot see that order, because
     * it goes through another process. */
    uint32_t taken =
        atomic_load_explicit(&link->page->lanes[lane].chunks_taken, memory_order_acquire);
    if ((taken >> frame->chunk & 1) == 0)
        return false;
    frame->body = shm_chunk(&link->layout, link->area, lane, frame->chunk);
    return true;
}

static bool find_body(shm_link *link, shm_rx *rx, pen_lane lane, uint64_t word, shm_frame *frame)
{
    if ((frame->kind == SHM_BODY_NONE) != (frame->body_len == 0))
        return false;
    switch (frame->kind) {
    case SHM_BODY_NONE:
        return true;
    case SHM_BODY_IN_SLOT:
        return find_in_slot(rx, frame);
    case SHM_BODY_IN_RING:
        return find_in_ring(link, rx, word, frame);
    case SHM_BODY_IN_CHUNK:
        return find_in_chunk(link, lane, word, frame);
    }
    return false;
}

static bool check(shm_link *link, shm_rx *rx, pen_lane lane, uint64_t word, shm_frame *frame)
{
    uint32_t words = shm_word_head_words(word);
    *frame = (shm_frame){
        .head_len = words * 8,
        .body_len = shm_word_len(word),
        .kind = shm_word_kind(word),
        .slots = words > SHM_SLOT_WORDS ? 2 : 1,
    };
    if (words == 0 || words > PEN_FRAME_HEAD_MAX / 8 || !find_body(link, rx, lane, word, frame))
        return false;
    frame->head = words > SHM_SLOT_WORDS ? join_head(link, rx, words) : (void *)rx->at->head;
    return true;
}

static void report_lost(shm_link *link, pen_peer peer, pen_status why)
{
    if (peer < link->peers) {
        if (link->lost[peer])
            return;
        link->lost[peer] = true;
    }
    link->base.host->peer_lost(link->base.host->ctx, peer, why);
}

/* Makes the ring look empty from now on, and reports the fault. */
static PEN_COLD void stop_reading(shm_link *link, shm_rx *rx, pen_peer from, uint64_t word)
{
    const pen_host *host = link->base.host;
    rx->at = &link->silent;
    rx->sequence = 1; /* the silent slot's is 0 */
    shm_view_moved(link, rx);
    if (from < link->peers)
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot read what rank %u sent through shared memory: malformed frame (%#llx); "
            "check that all ranks are the same build, and that no program writes out of bounds",
            from, (unsigned long long)word);
    else
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot read what a rank put into the shared inbox: malformed frame (%#llx); check "
            "that all ranks are the same build, and that no program writes out of bounds",
            (unsigned long long)word);
    report_lost(link, from, PEN_ERR_PROTOCOL);
}

/* ---- channels ------------------------------------------------------------------------------- */

static void give_back(const shm_link *link, shm_rx *rx, const shm_rx_channel *channel,
                      pen_lane lane)
{
    shm_channel_words *words = &link->page->channels[channel - link->channel];
    rx->slots_told = rx->next;
    rx->ring_told = rx->ring_done;
    /* release, both: pair with the acquires in refresh(); all reads here are done */
    atomic_store_explicit(&words->bodies_done[lane], rx->ring_done, memory_order_release);
    atomic_store_explicit(&words->slots_done[lane], rx->next, memory_order_release);
}

/* Counts bodies of the ring as read, up to the one at offset. Like the sender, it counts up to the
 * body's begin first, which may skip the end of the ring. */
static inline void body_done(const shm_link *link, const shm_rx_channel *channel, pen_lane lane,
                             shm_rx *rx, uint32_t offset, uint32_t record)
{
    rx->ring_done += (offset - rx->ring_done) & (link->layout.ring_len - 1);
    rx->ring_done += record;
    if (rx->ring_done - rx->ring_told >= shm_ring_give_back(&link->layout))
        give_back(link, rx, channel, lane);
}

/* Delivers a frame that is more than a short head. Returns false if it is malformed. */
static bool deliver_slow(shm_link *link, shm_rx_channel *channel, pen_lane lane, uint64_t word)
{
    const pen_host *host = link->base.host;
    shm_rx *rx = &channel->lanes[lane];
    shm_frame frame;
    if (!check(link, rx, lane, word, &frame))
        return false;
    host->deliver(host->ctx, channel->from, lane, frame.head, frame.head_len, frame.body,
                  frame.body_len);
    advance(rx, frame.slots);
    if (frame.kind == SHM_BODY_IN_CHUNK)
        shm_chunk_give(link->page, lane, frame.chunk);
    else if (frame.kind == SHM_BODY_IN_RING)
        body_done(link, channel, lane, rx, shm_word_place_of(word) * SHM_BODY_ALIGN,
                  shm_ring_record(frame.body_len));
    return true;
}

/* Delivers successive heads of one shape; returns how many. The caller has seen the first slot's
 * word, `ready`. The loop ends at the first slot whose word is not exactly the next of that
 * shape. */
static inline unsigned drain_heads(shm_rx *rx, const pen_host *host, pen_peer from, pen_lane lane,
                                   unsigned budget, uint64_t word)
{
    void (*deliver)(void *, pen_peer, const void *, uint32_t) = host->deliver_head[lane];
    void *ctx = host->ctx;
    uint64_t shape = word & ~UINT64_C(0xffff);
    uint32_t head_len = shm_word_head_words(word) * (uint32_t)sizeof(uint64_t);
    uint32_t next = rx->next;
    shm_slot *slots = rx->slots, *at = rx->at;
    unsigned left = budget;
    do {
        deliver(ctx, from, at->head, head_len);
        next++;
        at = &slots[next & (SHM_RING_SLOTS - 1)];
        /* acquire: as in is_ready() */
    } while (--left != 0 && atomic_load_explicit(&at->word, memory_order_acquire) ==
                                (shape | (uint16_t)(next + 1)));
    advance(rx, next - rx->next);
    return budget - left;
}

/* Delivers successive frames of one shape: heads of one slot with bodies in the ring. Makes the
 * checks that check() makes for them. Returns how many; 0 if the first frame is of another kind.
 * Short bodies are counted as read together, long ones one by one, so that each is given back. */
static __attribute__((noinline)) unsigned drain_bodies(const shm_link *link,
                                                       shm_rx_channel *channel, pen_lane lane,
                                                       unsigned budget, uint64_t word)
{
    const pen_host *host = link->base.host;
    shm_rx *rx = &channel->lanes[lane];
    /* Within a shape the place and the sequence vary. */
    const uint64_t shape = word & ~(shm_word_place(UINT16_MAX) | UINT16_MAX);
    const uint32_t head_len = shm_word_head_words(word) * (uint32_t)sizeof(uint64_t);
    const uint32_t body_len = shm_word_len(word), record = shm_ring_record(body_len);
    const uint32_t ring_len = link->layout.ring_len;
    const bool is_short = record <= shm_ring_give_back(&link->layout) / DRAIN_MAX;
    shm_slot *const slots = rx->slots;
    uint32_t next = rx->next, done_at = 0;
    unsigned left = budget;
    if (shm_word_kind(word) != SHM_BODY_IN_RING || head_len - 1 >= SHM_SLOT_HEAD || body_len == 0 ||
        body_len > SHM_BODY_MAX || record > ring_len)
        return 0;
    do {
        const uint32_t offset = shm_word_place_of(word) * SHM_BODY_ALIGN;
        if (offset > ring_len - record)
            break;
        shm_prefetch_body(rx->ring + offset, body_len);
        host->deliver(host->ctx, channel->from, lane, slots[next & (SHM_RING_SLOTS - 1)].head,
                      head_len, rx->ring + offset, body_len);
        next++;
        done_at = offset;
        if (!is_short) {
            rx->next = next;
            body_done(link, channel, lane, rx, offset, record);
        }
        /* acquire: as in is_ready() */
        word = atomic_load_explicit(&slots[next & (SHM_RING_SLOTS - 1)].word, memory_order_acquire);
    } while (--left != 0 && (word & ~shm_word_place(UINT16_MAX)) == (shape | (uint16_t)(next + 1)));
    advance(rx, next - rx->next);
    if (is_short && left != budget)
        body_done(link, channel, lane, rx, done_at, record);
    return budget - left;
}

/* Reads one ring. The caller has seen `word`, which is ready. */
static unsigned drain(shm_link *link, shm_rx_channel *channel, pen_lane lane, unsigned budget,
                      uint64_t word)
{
    const pen_host *host = link->base.host;
    shm_rx *rx = &channel->lanes[lane];
    bool has_short_way = host->deliver_head[lane] != NULL;
    unsigned count = 0;
    channel->used = true;
    do {
        uint64_t words = word >> 16; /* words of head; more bits are set if the frame has a body */
        if (pen_likely(words - 1 < SHM_SLOT_WORDS) && has_short_way) {
            count += drain_heads(rx, host, channel->from, lane, budget - count, word);
            continue;
        }
        unsigned bodies = drain_bodies(link, channel, lane, budget - count, word);
        count += bodies;
        if (bodies == 0 && !deliver_slow(link, channel, lane, word)) {
            channel->broken = true;
            stop_reading(link, rx, channel->from, word);
            return count;
        }
        count += bodies == 0;
    } while (count < budget && is_ready(rx, &word));
    if (rx->next - rx->slots_told >= GIVE_BACK_SLOTS)
        give_back(link, rx, channel, lane);
    shm_view_moved(link, rx);
    return count;
}

static inline unsigned min_of(unsigned a, unsigned b) { return a < b ? a : b; }

/* Polls both lanes of a channel. Replies come first, because they free what requests wait for. */
static inline unsigned poll_channel(shm_link *link, shm_rx_channel *channel, unsigned lanes,
                                    unsigned budget)
{
    unsigned count = 0;
    uint64_t word;
    if (pen_unlikely(is_ready(&channel->lanes[PEN_LANE_REPLY], &word)) &&
        (lanes & PEN_LANE_BIT(PEN_LANE_REPLY)) != 0)
        count = drain(link, channel, PEN_LANE_REPLY, min_of(budget, DRAIN_MAX), word);
    if (pen_unlikely(is_ready(&channel->lanes[PEN_LANE_REQUEST], &word)) &&
        (lanes & PEN_LANE_BIT(PEN_LANE_REQUEST)) != 0 && count < budget)
        count += drain(link, channel, PEN_LANE_REQUEST, min_of(budget - count, DRAIN_MAX), word);
    return count;
}

static void open_channel(shm_link *link, uint32_t number, pen_peer from)
{
    shm_rx_channel *channel = &link->channel[number];
    char *start = shm_channel(&link->layout, link->area, number);
    channel->from = from;
    channel->open = true;
    for (pen_lane lane = PEN_LANE_REQUEST; lane < SHM_CHANNEL_LANES; lane++) {
        shm_slot *slots = (shm_slot *)(void *)(start + shm_channel_slots_at(lane));
        rx_init(&channel->lanes[lane], slots, SHM_RING_SLOTS, link->config.position_start);
        channel->lanes[lane].ring = start + shm_channel_ring_at(&link->layout, lane);
    }
}

static void activate(shm_link *link, uint32_t number)
{
    shm_rx_channel *channel = &link->channel[number];
    channel->active = true;
    channel->used = true;
    link->active[link->active_count++] = channel;
    /* relaxed: a sender that still sees 0 rings the bell once more, which does no harm */
    atomic_store_explicit(&link->page->channels[number].awake, 1, memory_order_relaxed);
    if (shm_is_eager(link) && number == link->base.self) /* relaxed: a late 0 costs one more bell */
        atomic_store_explicit(&link->self_deaf, 0, memory_order_relaxed);
    shm_view_make(link);
}

/* Polls a channel again, after a peer wrote to it and rang the bell. */
static void wake_channel(shm_link *link, uint32_t number)
{
    shm_rx_channel *channel = &link->channel[number];
    if (number >= link->channels || channel->active || channel->broken)
        return;
    if (!channel->open) {
        pen_peer from = number;
        if (link->peers > link->channels) /* relaxed: claimed before the bell, which was acquired */
            from = atomic_load_explicit(&link->page->owner[number], memory_order_relaxed) - 1;
        if (from >= link->peers) {
            channel->broken = true;
            report_lost(link, PEN_PEER_ANY, PEN_ERR_PROTOCOL);
            return;
        }
        open_channel(link, number, from);
    }
    activate(link, number);
}

static bool has_frame(const shm_rx_channel *channel)
{
    uint64_t word;
    return is_ready(&channel->lanes[PEN_LANE_REPLY], &word) ||
           is_ready(&channel->lanes[PEN_LANE_REQUEST], &word);
}

/* ---- parking -------------------------------------------------------------------------------- */

/* Parks channels that received nothing since the last check: they are polled no more, so that an
 * empty poll costs only what the busy peers cost. A sender stores its slot and then loads
 * `awake`; this rank clears `awake` and then looks for a slot. With a barrier in between on both
 * sides, at least one of them sees the other's store. This rank's barrier runs on all
 * processors, so the sender needs no fence. */
static PEN_COLD void park(shm_link *link)
{
    shm_rx_channel *idle[SHM_CHANNELS_MAX];
    uint32_t idle_count = 0, kept = 0;
    for (uint32_t i = 0; i < link->active_count; i++) {
        shm_rx_channel *channel = link->active[i];
        if (channel->used) {
            channel->used = false;
            link->active[kept++] = channel;
            continue;
        }
        /* relaxed: the barrier below orders it */
        atomic_store_explicit(&link->page->channels[channel - link->channel].awake, 0,
                              memory_order_relaxed);
        idle[idle_count++] = channel;
    }
    link->active_count = kept;
    if (idle_count == 0)
        return;
    if (link->fenced || !pen_membarrier())
        shm_fence();
    for (uint32_t i = 0; i < idle_count; i++) {
        idle[i]->active = false;
        if (!link->config.unfenced && has_frame(idle[i]))
            activate(link, (uint32_t)(idle[i] - link->channel));
    }
}

/* Looks at parked channels from time to time, because a sender whose processor the barrier left
 * out rings no bell: on Linux 6.18 a frame lay unread in one of some hundred runs. If that
 * happens, the frame comes late, but it comes. */
static void look_at_parked(shm_link *link)
{
    for (uint32_t i = 0; i < link->channels; i++) {
        const shm_rx_channel *channel = &link->channel[i];
        if (channel->open && !channel->active && !channel->broken && has_frame(channel))
            activate(link, i);
    }
}

static uint32_t look_polls(const shm_link *link)
{
    return link->config.park_polls < LOOK_POLLS ? (uint32_t)link->config.park_polls : LOOK_POLLS;
}

static void set_park_countdown(shm_link *link)
{
    link->park_countdown = (uint32_t)link->config.park_polls / look_polls(link);
}

static PEN_COLD void look(shm_link *link)
{
    link->look_countdown = look_polls(link);
    look_at_parked(link);
    if (--link->park_countdown == 0) {
        set_park_countdown(link);
        park(link);
    }
}

/* ---- bell and inboxes ----------------------------------------------------------------------- */

static bool deliver_inbox(shm_link *link, shm_rx *rx, pen_lane lane, uint64_t word)
{
    const pen_host *host = link->base.host;
    shm_frame frame;
    pen_peer from = shm_word_place_of(word);
    if (from >= link->peers || !check(link, rx, lane, word, &frame))
        return false;
    host->deliver(host->ctx, from, lane, frame.head, frame.head_len, frame.body, frame.body_len);
    advance(rx, frame.slots);
    if (frame.kind == SHM_BODY_IN_CHUNK)
        shm_chunk_give(link->page, lane, frame.chunk);
    if (rx->next - rx->slots_told >= link->layout.inbox_slots / 4) {
        rx->slots_told = rx->next;
        /* release: pairs with the acquire in shm_inbox_has_room(); we are done with these slots */
        atomic_store_explicit(&link->page->inbox_done[lane], rx->next, memory_order_release);
    }
    return true;
}

/* Returns how many frames were delivered, and whether more are ready. A sender that took a
 * ticket and has not published yet will ring again. */
static unsigned drain_inbox(shm_link *link, pen_lane lane, unsigned budget, bool *more_out)
{
    shm_rx *rx = &link->inboxes[lane];
    unsigned count = 0;
    uint64_t word;
    *more_out = false;
    while (is_ready(rx, &word)) {
        if (count >= budget) {
            *more_out = true;
            break;
        }
        if (!deliver_inbox(link, rx, lane, word)) {
            stop_reading(link, rx, PEN_PEER_ANY, word);
            break;
        }
        count++;
    }
    return count;
}

static PEN_COLD void report_broken(shm_link *link)
{
    for (pen_peer peer = 0; peer < link->peers; peer++) {
        if (!atomic_load_explicit(&link->to[peer].broken, memory_order_relaxed) || link->lost[peer])
            continue;
        link->base.host->log(
            link->base.host->ctx, PEN_LOG_ERROR,
            "cannot send to rank %u through shared memory: its counters are "
            "malformed; check that all ranks are the same build, and that no program "
            "writes out of bounds",
            peer);
        report_lost(link, peer, PEN_ERR_PROTOCOL);
    }
}

static unsigned answer_bell(shm_link *link, unsigned lanes, unsigned budget)
{
    /* acquire: pairs with the release of the peer that rang; exchange, so that no bit is lost */
    uint64_t bell = atomic_exchange_explicit(&link->page->bell, 0, memory_order_acquire);
    for (uint64_t left = bell & SHM_BELL_CHANNELS; left != 0; left &= left - 1)
        wake_channel(link, (uint32_t)__builtin_ctzll(left) - SHM_BELL_CHANNEL_BIT);
    if (bell & SHM_BELL_FAULT)
        report_broken(link);
    unsigned count = 0;
    uint64_t again = 0;
    for (unsigned lane = PEN_LANES; lane-- > 0;) { /* control, reply, request */
        bool more = (bell & SHM_BELL_INBOX(lane)) != 0;
        if (more && (lanes & PEN_LANE_BIT(lane)) != 0 && count < budget)
            count += drain_inbox(link, (pen_lane)lane, budget - count, &more);
        if (more)
            again |= SHM_BELL_INBOX(lane);
    }
    if (again != 0) /* relaxed: the next poll of this rank has all that the exchange acquired */
        atomic_fetch_or_explicit(&link->page->bell, again | SHM_BELL_RUNG, memory_order_relaxed);
    return count;
}

/* ---- poll ----------------------------------------------------------------------------------- */

/* The budget was spent before all channels had their turn: the next poll begins after `last`. */
static PEN_COLD void rotate(shm_link *link, uint32_t last)
{
    shm_rx_channel *order[SHM_CHANNELS_MAX];
    for (uint32_t i = 0; i < link->active_count; i++)
        order[i] = link->active[(last + 1 + i) % link->active_count];
    for (uint32_t i = 0; i < link->active_count; i++)
        link->active[i] = order[i];
}

/* Polls the channels from `first` on. */
static __attribute__((noinline)) unsigned poll_channels(shm_link *link, uint32_t first,
                                                        unsigned lanes, unsigned budget)
{
    unsigned count = 0;
    for (uint32_t i = first; i < link->active_count && count < budget; i++) {
        count += poll_channel(link, link->active[i], lanes, budget - count);
        if (pen_unlikely(count >= budget))
            rotate(link, i);
    }
    return count;
}

/* Answers the bell first, so that a channel it names is polled in this call. */
static __attribute__((noinline)) unsigned poll_rung(shm_link *link, unsigned lanes, unsigned budget)
{
    unsigned count = answer_bell(link, lanes, budget);
    return count + poll_channels(link, 0, lanes, budget - count);
}

/* The engine calls it to receive; returns how many frames were delivered. An empty poll costs
 * two loads and compares for each active channel, and one for the bell. */
unsigned shm_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    shm_link *link = shm_of(base);
    uint64_t word;
    /* relaxed: tells only whether the bell rang; answering exchanges it */
    if (pen_unlikely(atomic_load_explicit(&link->page->bell, memory_order_relaxed) != 0))
        return poll_rung(link, lanes, budget);
    for (uint32_t i = 0; i < link->active_count; i++) {
        const shm_rx_channel *channel = link->active[i];
        if (pen_unlikely(is_ready(&channel->lanes[PEN_LANE_REPLY], &word) ||
                         is_ready(&channel->lanes[PEN_LANE_REQUEST], &word)))
            return poll_channels(link, i, lanes, budget);
    }
    return 0;
}

unsigned shm_poll_parking(pen_link *base, unsigned lanes, unsigned budget)
{
    shm_link *link = shm_of(base);
    if (pen_unlikely(--link->look_countdown == 0))
        look(link);
    return shm_poll(base, lanes, budget);
}

void shm_open_receiver(shm_link *link)
{
    uint32_t start = link->config.position_start;
    shm_view_open(link);
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++)
        rx_init(&link->inboxes[lane], shm_inbox(&link->layout, link->area, lane),
                link->layout.inbox_slots, start);
    if (link->config.park_polls != 0) {
        link->look_countdown = look_polls(link);
        set_park_countdown(link);
    }
    if (!shm_is_eager(link))
        return;
    for (pen_peer peer = 0; peer < link->peers; peer++) {
        if (peer == link->base.self)
            continue; /* most programs do not send to themselves: that channel waits for its bell */
        open_channel(link, peer, peer);
        activate(link, peer);
    }
    shm_view_make(link);
}
