/* SPDX-License-Identifier: BSD-3-Clause */
/* shm.h: the shm conduit's private state and how its files share the work.
 *
 *   shm.c      opens, connects, closes; the registry entry
 *   shm_send.c     post: the fast path, channels, inboxes, room for bodies
 *   shm_express.c  post of heads that fit registers, without a frame
 *   zcopy.c    reserve, commit, cancel
 *   view.c     words that the host may read instead of polling
 *   shm_receive.c  poll: channels, bell, inboxes, parking
 *   layout.h   layout of the shared memory
 *
 * The state that post changes and the state that poll changes are separate, because the engine
 * holds one lock for each. docs/design/memory-order.md explains every atomic. */
#ifndef PEN_CONDUITS_SHM_SHM_H
#define PEN_CONDUITS_SHM_SHM_H

#include "base/compiler.h"
#include "base/copy.h"
#include "conduit/conduit.h"
#include "conduits/shm/layout.h"
#include "pen_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shm_config {
    int64_t channels;   /* PENSTOCK_SMP_CHANNELS: channels that a rank reads; 1..SHM_CHANNELS_MAX */
    int64_t eager;      /* PENSTOCK_SMP_EAGER: largest job that polls all channels at once */
    int64_t park_polls; /* PENSTOCK_SMP_PARK: polls until idle channels are parked; 0: never */
    /* Set by tests only, not by variables: */
    uint32_t position_start; /* where all counters start */
    bool fenced;             /* behave as if the kernel had no membarrier */
    bool unfenced;           /* behave as if stores before a barrier became visible only after it */
} shm_config;

typedef struct shm_link shm_link;

/* ---- sending: guarded by the post lock ------------------------------------------------------ */

typedef struct shm_tx { /* the sender's side of one channel's ring of slots; one line */
    /* room: slots; 0: ask the reader how far it got. body_room: bytes at ring_next, in one piece */
    PEN_CACHE_ALIGNED pen_express express;
    uint32_t next;                 /* position of the next slot */
    uint32_t ring_next, ring_done; /* bytes ever taken from the ring and given back */
    uint8_t channel, lane;
    uint8_t ring_bits;                /* binary logarithm of the ring's length */
    uint8_t reserved : 7;             /* slots kept for bodies being written in place */
    bool ring_held : 1;               /* a body is being written at ring_next: others take chunks */
    shm_slot *slots;                  /* NULL: no channel yet */
    const _Atomic uint32_t *look;     /* not 0: publishing is not enough; see announce */
    const _Atomic uint32_t *awake;    /* not 0: the reader polls this channel */
    const _Atomic uint32_t *sleeping; /* not 0: the reader's rank sleeps */
    char *ring;                       /* for bodies */
} shm_tx;

_Static_assert(sizeof(shm_tx) == PEN_CACHE_LINE, "all that a short message needs is in one line");

typedef struct shm_peer {
    shm_tx lanes[SHM_CHANNEL_LANES];
    shm_tx control; /* never has slots: posting finds no room and takes the inbox */
    char *area;     /* the peer's part of the slice */
    shm_page *page; /* its first page */
    shm_link *link;
    pen_copy_pace pace;   /* pace of copying long bodies */
    uint32_t inbox_sends; /* requests and replies since the last try to claim a channel */
    uint32_t inbox_reserved[PEN_LANES]; /* chunk + 1 of the one reservation; 0 if there is no
                                           reservation */
    _Atomic bool
        broken; /* its counters are malformed; set under the post lock, read under either */
} shm_peer;

_Static_assert(offsetof(shm_peer, control) == PEN_LANE_CONTROL * sizeof(shm_tx), "indexed by lane");

/* ---- receiving: guarded by the poll lock ---------------------------------------------------- */

typedef struct shm_rx { /* one ring of slots that this rank reads */
    shm_slot *at;       /* the next slot */
    uint16_t sequence;  /* sequence number of the next slot's word, once it is written */
    uint16_t shown; /* sequence number in the view for the next slot, which is not written yet */
    uint32_t next;  /* position of the next slot */
    uint32_t slots_told; /* slots read, as last reported to the sender */
    uint32_t slot_mask;
    shm_slot *slots;
    char *ring; /* ring of bodies; NULL in an inbox */
    uint32_t ring_done, ring_told;
    const uint32_t **view; /* its word in the host's view; NULL if it has no word there */
} shm_rx;

typedef struct shm_rx_channel {
    PEN_CACHE_ALIGNED shm_rx lanes[SHM_CHANNEL_LANES];
    pen_peer from;
    bool open;   /* the fields above are valid */
    bool active; /* among link->active */
    bool used;   /* a frame came since the last check for idle channels */
    bool broken;
} shm_rx_channel;

struct shm_link {
    pen_link base;
    pen_link_ops ops; /* base.ops: with the variants of post and poll that this job needs */
    shm_layout layout;
    shm_config config;
    pen_peer peers;
    uint32_t channels; /* in use in this job, at most layout.channels */
    char *slice, *area;
    pen_copy_table copies; /* the host's */
    shm_page *page;        /* this rank's own */
    bool fenced;           /* no membarrier here: each send needs a full fence */
    shm_peer *to;          /* by peer */
    /* Defaults of tx.awake, tx.sleeping and tx.look: */
    _Atomic uint32_t always;    /* 1 */
    _Atomic uint32_t self_deaf; /* 1 while this rank's channel to itself is not polled */

    PEN_CACHE_ALIGNED shm_rx_channel *active[SHM_CHANNELS_MAX];
    uint32_t active_count;
    uint32_t look_countdown; /* polls until parked channels are looked at ... */
    uint32_t park_countdown; /* ... and checks until idle ones are parked */
    shm_rx inboxes[PEN_LANES];
    shm_rx_channel *channel; /* by number */
    bool *lost;              /* by peer: peer_lost has been called */
    uint64_t long_head[PEN_FRAME_HEAD_MAX / 8];
    shm_slot silent; /* the slot to which a ring points after reading stopped */
};

static inline shm_link *shm_of(pen_link *link) { return (shm_link *)(void *)link; }

static inline bool shm_is_eager(const shm_link *link)
{
    return link->peers <= (pen_peer)link->config.eager && link->peers <= link->channels;
}

static inline shm_tx *shm_tx_of(shm_peer *peer, pen_lane lane)
{
    return (shm_tx *)(void *)((char *)peer + (size_t)lane * sizeof(shm_tx));
}

/* Recomputes the room for short bodies, which stay near the ring's start. Call it after its inputs
 * changed, unless a body only took room. */
static inline void shm_tx_show_room(shm_tx *tx)
{
    uint32_t ring_len = 1u << tx->ring_bits;
    uint32_t near_bits = tx->ring_bits < SHM_RING_NEAR_BITS ? tx->ring_bits : SHM_RING_NEAR_BITS;
    uint32_t near_len = 1u << near_bits, offset = tx->ring_next & (ring_len - 1);
    uint32_t in_one_piece = offset < near_len ? near_len - offset : 0;
    uint32_t left = ring_len - (tx->ring_next - tx->ring_done);
    uint32_t len = left < in_one_piece ? left : in_one_piece;
    tx->express.body_room = tx->ring_held ? 0 : len & ~(uint32_t)(SHM_BODY_ALIGN - 1);
}

/* Copies word by word, as the caller has just stored the head: a wider load would have to wait
 * for those stores to reach the cache. Atomic, so that this stays a loop; relaxed, because the
 * slot's word publishes it. */
static inline void shm_copy_head(shm_slot *slot, const void *head, size_t head_len)
{
    size_t i = 0;
    do {
        const void *from = (const char *)head + i;
        void *to = (char *)slot->head + i;
        atomic_store_explicit((_Atomic uint64_t *)to, *(const uint64_t *)from,
                              memory_order_relaxed);
    } while ((i += sizeof(uint64_t)) != head_len);
}

/* The full fence of a rank that has no membarrier, or that parks. ThreadSanitizer does not know
 * fences and gcc warns of it; fences here order only flags, never data. */
static inline void shm_fence(void)
{
#if PEN_TSAN && !defined(__clang__)
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wtsan"
#endif
    atomic_thread_fence(memory_order_seq_cst);
#if PEN_TSAN && !defined(__clang__)
#    pragma GCC diagnostic pop
#endif
}

/* Fetches a body while its head is checked. A line that is fetched without need costs its next
 * writer as much as a message, so this is for bodies that any handler reads. */
static inline void shm_prefetch_body(const char *body, uint32_t body_len)
{
    if (body_len < SHM_PREFETCH_END)
        __builtin_prefetch(body);
}

/* ---- shm_express.c ------------------------------------------------------------------------------
 */

void shm_express_open(shm_link *link); /* after all peers are connected */

/* ---- shm_send.c ---------------------------------------------------------------------------------
 */

/* Wakes the reader after a slot was published, if it does not poll the channel or sleeps. */
PEN_COLD void shm_announce_slow(const shm_link *link, pen_peer to, const shm_tx *tx);

pen_post shm_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op);
/* shm_post for jobs whose kernel has no membarrier. */
pen_post shm_post_fenced(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                         pen_op *op);

void shm_connect_peer(shm_link *link, pen_peer to);
bool shm_open_channel(shm_link *link, pen_peer to); /* false: the peer reads no more channels */
bool shm_has_room(shm_link *link, shm_peer *peer, pen_lane lane, uint32_t slots);
bool shm_inbox_has_room(const shm_link *link, const shm_peer *peer, pen_lane lane);
/* Offset in the channel's ring where a body has room in one piece; -1 if there is no room now. */
int64_t shm_ring_find(shm_link *link, shm_peer *peer, shm_tx *tx, pen_lane lane, uint32_t record);
int shm_chunk_take(shm_peer *peer, pen_lane lane); /* -1: all are taken */
void shm_chunk_give(shm_page *page, pen_lane lane, uint32_t chunk);
/* Post a frame for which the caller has made sure of room. body_word: the part of the slot's
 * word about the body. */
void shm_send_channel(shm_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                      uint64_t body_word);
void shm_send_inbox(shm_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                    uint64_t body_word);

/* ---- shm_receive.c, zcopy.c ---------------------------------------------------------------------
 */

unsigned shm_poll(pen_link *base, unsigned lanes, unsigned budget);
unsigned shm_poll_parking(pen_link *base, unsigned lanes, unsigned budget);
void shm_open_receiver(shm_link *link);

/* view.c: the host's view of the words that this rank polls. Open it at the beginning, make it
 * after the set of rings has changed, and move it after a ring has been read. */
void shm_view_open(shm_link *link);
void shm_view_make(shm_link *link);
void shm_view_moved(shm_link *link, shm_rx *rx);
extern const pen_zcopy_ops shm_zcopy;

#endif
