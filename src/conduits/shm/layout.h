/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.h: where the shm conduit keeps its data in shared memory.
 *
 * The slice is one area per rank, written by its peers and read by the rank itself:
 *
 *   page      bell, inbox counters, owner of each channel, how far each channel has been read
 *   inboxes   one ring of slots per lane, any peer may write: control, and peers without a channel
 *   channels  one per sending peer: request slots, reply slots, request bodies, reply bodies
 *   chunks    per lane, room for bodies that fit no channel's ring; any peer may claim one
 *
 * Zero memory is the valid first state of every part, so a page is touched only when it is used. */
#ifndef PEN_CONDUITS_SHM_LAYOUT_H
#define PEN_CONDUITS_SHM_LAYOUT_H

#include "base/compiler.h"
#include "conduit/conduit.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SHM_RANKS_MAX = 4096, /* a slot's sequence number is 16 bits, an inbox 8 slots a rank */
    SHM_SLOT_LEN = 64,
    SHM_SLOT_HEAD = 56, /* bytes of head in one slot */
    SHM_SLOT_WORDS = SHM_SLOT_HEAD / 8,
    SHM_RING_SLOTS = 64, /* slots of a channel's ring, in each direction and lane */
    SHM_INBOX_SLOTS_MIN = 256,
    SHM_CHANNELS_MAX = 32,   /* channels that a rank reads; other peers use its inbox */
    SHM_FEW_RANKS = 8,       /* up to here a channel's body rings are large */
    SHM_RING_NEAR_BITS = 15, /* binary logarithm of the part of a ring that short bodies use */
    SHM_BODY_MAX = 65536,
    SHM_BODY_ALIGN = 64, /* alignment of bodies in rings and chunks */
    SHM_CHUNKS_MAX = 8,
    SHM_PREFETCH_END = 4096, /* bodies shorter than this are fetched before they are delivered */
};

#define SHM_CHANNEL_LANES 2 /* request and reply; control always takes the inbox */

/* ---- slots ---------------------------------------------------------------------------------
 *
 * A slot is one cache line: a word and up to 56 bytes of head. Storing the word publishes the
 * slot and is the only synchronisation. The word is never cleared: its sequence number tells
 * this lap from the last. A longer head continues in the next slot (modulo the ring). A short
 * body lies in the slot too.
 *
 *   bits 0..15 sequence   16..19 words of head   20..21 where the body is   22..38 its length
 *   39..47 chunk          48..63 line in the channel's body ring, or, in an inbox, the sender
 * */
typedef struct shm_slot {
    PEN_CACHE_ALIGNED _Atomic uint64_t word;
    _Atomic uint64_t head[SHM_SLOT_WORDS];
} shm_slot;

_Static_assert(sizeof(shm_slot) == SHM_SLOT_LEN, "a slot is one cache line");

typedef enum shm_body {
    SHM_BODY_NONE,
    SHM_BODY_IN_SLOT,
    SHM_BODY_IN_RING,
    SHM_BODY_IN_CHUNK
} shm_body;

static inline uint64_t shm_word(uint32_t position, uint32_t head_len)
{
    return (uint16_t)(position + 1) | (uint64_t)head_len << 13; /* in words */
}

static inline uint64_t shm_word_body(shm_body kind, uint32_t len, uint32_t chunk)
{
    return (uint64_t)kind << 20 | (uint64_t)len << 22 | (uint64_t)chunk << 39;
}

static inline uint64_t shm_word_place(uint32_t place) { return (uint64_t)place << 48; }

static inline uint32_t shm_word_head_words(uint64_t word) { return (uint32_t)(word >> 16) & 15; }
static inline shm_body shm_word_kind(uint64_t word) { return (shm_body)((word >> 20) & 3); }
static inline uint32_t shm_word_len(uint64_t word) { return (uint32_t)(word >> 22) & 0x1ffff; }
static inline uint32_t shm_word_chunk(uint64_t word) { return (uint32_t)(word >> 39) & 0x1ff; }
static inline uint32_t shm_word_place_of(uint64_t word) { return (uint32_t)(word >> 48); }

/* Offset of a body that shares the slot with its head: a multiple of 16, as the contract
 * requires. */
static inline uint32_t shm_slot_body_at(uint32_t head_len) { return (8 + head_len + 15) & ~15u; }

/* ---- a rank's page -------------------------------------------------------------------------- */

/* Bits of the bell. Each ring of the bell also sets RUNG, for a reader that sees only the lower
 * half. */
#define SHM_BELL_RUNG        (UINT64_C(1) << 15)
#define SHM_BELL_CHANNEL_BIT 16
#define SHM_BELL_CHANNEL(i)  (UINT64_C(1) << (SHM_BELL_CHANNEL_BIT + (i)))
#define SHM_BELL_CHANNELS    (((UINT64_C(1) << SHM_CHANNELS_MAX) - 1) << SHM_BELL_CHANNEL_BIT)
#define SHM_BELL_INBOX(lane) (UINT64_C(1) << (SHM_BELL_CHANNEL_BIT + SHM_CHANNELS_MAX + (lane)))
#define SHM_BELL_FAULT       (UINT64_C(1) << 63) /* rung by the rank itself */

typedef struct shm_lane_words {                    /* written by peers */
    PEN_CACHE_ALIGNED _Atomic uint32_t inbox_tail; /* next ticket */
    _Atomic uint32_t chunks_taken;                 /* one bit per chunk */
} shm_lane_words;

typedef struct shm_channel_words {            /* written by the rank that reads the channel */
    PEN_CACHE_ALIGNED _Atomic uint32_t awake; /* 0: not polled, so ring the bell after sending */
    _Atomic uint32_t slots_done[SHM_CHANNEL_LANES];  /* slots read so far */
    _Atomic uint32_t bodies_done[SHM_CHANNEL_LANES]; /* bytes of body ring given back so far */
} shm_channel_words;

typedef struct shm_page {
    PEN_CACHE_ALIGNED _Atomic uint64_t bell; /* peers set bits, the rank clears them */
    shm_lane_words lanes[PEN_LANES];
    PEN_CACHE_ALIGNED _Atomic uint32_t
        inbox_done[PEN_LANES]; /* slots read so far; written by the rank */
    PEN_CACHE_ALIGNED _Atomic uint32_t owner[SHM_CHANNELS_MAX]; /* sender + 1; 0: free to claim */
    shm_channel_words channels[SHM_CHANNELS_MAX];
} shm_page;

_Static_assert(sizeof(shm_page) <= 4096, "one page of memory per rank before any message");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "atomics must work between processes");

/* ---- where things are ----------------------------------------------------------------------- */

typedef struct shm_layout {
    uint32_t ranks, channels;
    uint32_t inbox_slots; /* a power of two, at least 8 a rank */
    uint32_t ring_len;    /* bytes of a channel's body ring, a power of two */
    uint32_t near_len;    /* its first part; short bodies stay in it, so that it stays in caches */
    size_t inbox_at[PEN_LANES], channels_at, channel_len, chunks_at[PEN_LANES];
    size_t rank_len;
} shm_layout;

shm_layout shm_layout_of(pen_peer ranks);
uint32_t shm_chunk_count(pen_lane lane);

static inline char *shm_area(const shm_layout *layout, char *slice, pen_peer rank)
{
    return slice + rank * layout->rank_len;
}

static inline shm_slot *shm_inbox(const shm_layout *layout, char *area, pen_lane lane)
{
    return (shm_slot *)(void *)(area + layout->inbox_at[lane]);
}

static inline char *shm_channel(const shm_layout *layout, char *area, uint32_t channel)
{
    return area + layout->channels_at + channel * layout->channel_len;
}

/* Offsets within a channel. */
static inline size_t shm_channel_slots_at(pen_lane lane)
{
    return (size_t)lane * SHM_RING_SLOTS * SHM_SLOT_LEN;
}

static inline size_t shm_channel_ring_at(const shm_layout *layout, pen_lane lane)
{
    return shm_channel_slots_at((pen_lane)SHM_CHANNEL_LANES) + (size_t)lane * layout->ring_len;
}

/* Chunks begin on pages of their own. Each begins a little further into its first page than the
 * chunk before, so that equal offsets do not compete for the same cache sets. */
#define SHM_CHUNK_STRIDE (SHM_BODY_MAX + 4096)

static inline char *shm_chunk(const shm_layout *layout, char *area, pen_lane lane, uint32_t chunk)
{
    return area + layout->chunks_at[lane] +
           (size_t)chunk * (SHM_CHUNK_STRIDE + 2 * (size_t)SHM_BODY_ALIGN);
}

/* Records that a window has room for. */
enum { SHM_RING_RECORDS = 4 };

/* Bytes of body ring that a body takes: whole lines, and never a multiple of 4 KiB. A
 * multiple would put all bodies of a stream of pages into the same cache sets. */
static inline uint32_t shm_ring_record(uint32_t body_len)
{
    uint32_t len = (body_len + SHM_BODY_ALIGN - 1) & ~(uint32_t)(SHM_BODY_ALIGN - 1);
    return len % 4096 == 0 ? len + SHM_BODY_ALIGN : len;
}

/* The reader gives bodies back once it has read this much. */
static inline uint32_t shm_ring_give_back(const shm_layout *layout) { return layout->near_len / 4; }

/* The longest record in a ring: then a window is at most the ring. */
static inline uint32_t shm_ring_record_max(const shm_layout *layout)
{
    return layout->ring_len / SHM_RING_RECORDS;
}

/* The part of the ring that a record of this length may lie in: room for a few such records, so
 * that the sender need not wait while the reader copies, and the memory stays in the caches. A
 * record that would end behind its window begins at the ring's start. Such a record is sure to
 * find room once the reader has caught up: it is shorter than what lies between the ring's start
 * and the bytes that the reader has read but not given back. */
static inline uint32_t shm_ring_window(const shm_layout *layout, uint32_t record)
{
    uint32_t len = SHM_RING_RECORDS * record;
    return len > layout->near_len ? len : layout->near_len;
}

#endif
