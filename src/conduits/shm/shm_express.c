/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_express.c: posts short heads straight from registers into a slot, and bodies of medium
 * length. The engine calls it only after it has seen that there is room, so it cannot fail and
 * checks nothing. It writes the words, publishes them by the slot's word, and looks once whether
 * the reader has to be woken.
 *
 * There are two variants; connect chooses one. If all channels of the job are always polled, a
 * sender does not check whether its own channel is. */
#include "conduits/shm/shm.h"

#include "base/compiler.h"
#include "conduit/conduit.h"

#include <string.h>

static PEN_COLD int express_slow(const shm_tx *tx)
{
    const shm_peer *peer = (const shm_peer *)(const void *)(tx - tx->lane);
    shm_announce_slow(peer->link, (pen_peer)(peer - peer->link->to), tx);
    return 0;
}

static inline __attribute__((always_inline)) int express_announce(const shm_tx *tx, bool may_park)
{
    atomic_signal_fence(memory_order_seq_cst); /* as in announce() */
    uint32_t look = atomic_load_explicit(tx->look, memory_order_relaxed);
    if (pen_unlikely(look != 0))
        return express_slow(tx);
    if (may_park && pen_unlikely(atomic_load_explicit(tx->awake, memory_order_relaxed) == 0))
        return express_slow(tx);
    return 0;
}

/* count and may_park are constants wherever this is inlined. */
static inline __attribute__((always_inline)) int express_post(pen_express *entry, unsigned count,
                                                              const uint64_t *words, bool may_park)
{
    shm_tx *tx = pen_container_of(entry, shm_tx, express);
    uint32_t next = tx->next;
    shm_slot *slot = &tx->slots[next & (SHM_RING_SLOTS - 1)];
    tx->express.room--;
#pragma GCC unroll 4
    for (unsigned i = 0; i < count; i++) /* relaxed: the slot's word publishes them */
        atomic_store_explicit(&slot->head[i], words[i], memory_order_relaxed);
    tx->next = next + 1;
    /* release: pairs with the reader's acquire of this word */
    atomic_store_explicit(&slot->word, shm_word(next, count * (uint32_t)sizeof *words),
                          memory_order_release);
    return express_announce(tx, may_park);
}

/* Copies len bytes, at least one line, line by line. The last line may overlap the line before
 * it. */
static inline void copy_lines(char *to, const char *from, uint32_t len)
{
    uint32_t last = len - SHM_BODY_ALIGN;
    for (uint32_t i = 0; i < last; i += SHM_BODY_ALIGN)
        memcpy(to + i, from + i, SHM_BODY_ALIGN);
    memcpy(to + last, from + last, SHM_BODY_ALIGN);
}

/* Does what shm_copy_head does. The loop is unrolled, because most heads have one to four words. */
static inline __attribute__((always_inline)) void copy_head(shm_slot *slot, const uint64_t *head,
                                                            uint32_t head_len)
{
#pragma GCC unroll 7
    for (unsigned i = 0; i < SHM_SLOT_WORDS; i++) { /* relaxed: the slot's word publishes them */
        atomic_store_explicit(&slot->head[i], head[i], memory_order_relaxed);
        if (head_len == (i + 1) * sizeof *head)
            break;
    }
}

/* The body begins where the last body ended, in one piece. It is shorter than a page, so its
 * record is a plain number of lines. */
static inline __attribute__((always_inline)) int express_body(pen_express *entry,
                                                              const uint64_t *head,
                                                              uint32_t head_len, const void *body,
                                                              uint32_t body_len, bool may_park)
{
    shm_tx *tx = pen_container_of(entry, shm_tx, express);
    uint32_t next = tx->next;
    uint32_t offset = tx->ring_next & ((1u << tx->ring_bits) - 1);
    uint32_t record = (body_len + SHM_BODY_ALIGN - 1) & ~(uint32_t)(SHM_BODY_ALIGN - 1);
    shm_slot *slot = &tx->slots[next & (SHM_RING_SLOTS - 1)];
    uint64_t word = shm_word(next, head_len) | shm_word_body(SHM_BODY_IN_RING, body_len, 0) |
                    shm_word_place(offset / SHM_BODY_ALIGN);
    tx->express.room--;
    tx->next = next + 1;
    copy_lines(tx->ring + offset, (const char *)body, body_len);
    tx->express.body_room -= record;
    tx->ring_next += record;
    copy_head(slot, head, head_len);
    /* release: pairs with the reader's acquire of this word */
    atomic_store_explicit(&slot->word, word, memory_order_release);
    return express_announce(tx, may_park);
}

_Static_assert(PEN_EXPRESS_HEAD_MAX - SHM_SLOT_HEAD == 0 &&
                   PEN_EXPRESS_BODY_MIN - SHM_BODY_ALIGN >= 0 && PEN_EXPRESS_BODY_MAX < 4096,
               "a medium body needs one slot, and whole lines that are no multiple of a page");

static int polled_body(pen_express *entry, const uint64_t *head, uint32_t head_len,
                       const void *body, uint32_t body_len)
{
    return express_body(entry, head, head_len, body, body_len, false);
}

static int parked_body(pen_express *entry, const uint64_t *head, uint32_t head_len,
                       const void *body, uint32_t body_len)
{
    return express_body(entry, head, head_len, body, body_len, true);
}

static int polled_one(pen_express *entry, uint64_t a)
{
    return express_post(entry, 1, (const uint64_t[]){ a }, false);
}

static int polled_two(pen_express *entry, uint64_t a, uint64_t b)
{
    return express_post(entry, 2, (const uint64_t[]){ a, b }, false);
}

static int polled_three(pen_express *entry, uint64_t a, uint64_t b, uint64_t c)
{
    return express_post(entry, 3, (const uint64_t[]){ a, b, c }, false);
}

static int polled_four(pen_express *entry, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return express_post(entry, 4, (const uint64_t[]){ a, b, c, d }, false);
}

static int parked_one(pen_express *entry, uint64_t a)
{
    return express_post(entry, 1, (const uint64_t[]){ a }, true);
}

static int parked_two(pen_express *entry, uint64_t a, uint64_t b)
{
    return express_post(entry, 2, (const uint64_t[]){ a, b }, true);
}

static int parked_three(pen_express *entry, uint64_t a, uint64_t b, uint64_t c)
{
    return express_post(entry, 3, (const uint64_t[]){ a, b, c }, true);
}

static int parked_four(pen_express *entry, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return express_post(entry, 4, (const uint64_t[]){ a, b, c, d }, true);
}

void shm_express_open(shm_link *link)
{
    static const pen_express_ops polled = { polled_one, polled_two, polled_three, polled_four,
                                            polled_body };
    static const pen_express_ops parked = { parked_one, parked_two, parked_three, parked_four,
                                            parked_body };
    if (link->fenced) /* each post would need a fence */
        return;
    bool never_parks = shm_is_eager(link);
    for (pen_peer to = 0; to < link->peers; to++)
        for (pen_lane lane = PEN_LANE_REQUEST; lane < SHM_CHANNEL_LANES; lane++) {
            shm_tx *tx = &link->to[to].lanes[lane];
            tx->look = never_parks && to == link->base.self ? &link->self_deaf : tx->sleeping;
        }
    link->base.express = (pen_express_table){
        .ops = never_parks ? polled : parked,
        .first = &link->to[0].lanes[PEN_LANE_REQUEST].express,
        .peer_step = sizeof(shm_peer),
        .lane_step = sizeof(shm_tx),
    };
}
