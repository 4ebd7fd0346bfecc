/* SPDX-License-Identifier: BSD-3-Clause */
/* express.c: short heads on their way from registers into a slot. The engine has seen that there is
 * room, so nothing can go wrong and nothing is asked: the words, the slot's word that publishes
 * them, and one look whether the reader needs more than that.
 *
 * Two variants, chosen when the link is connected: in jobs where all channels are always polled,
 * a sender need not ask whether its is. */
#include "conduits/shm/shm.h"

static PEN_COLD int express_loudly(const shm_tx *tx)
{
    const shm_peer *peer = (const shm_peer *)(const void *)(tx - tx->lane);
    shm_announce_loudly(peer->link, (pen_peer)(peer - peer->link->to), tx);
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
    atomic_signal_fence(memory_order_seq_cst); /* as in announce() */
    uint32_t look = atomic_load_explicit(tx->look, memory_order_relaxed);
    if (pen_unlikely(look != 0))
        return express_loudly(tx);
    if (may_park && pen_unlikely(atomic_load_explicit(tx->awake, memory_order_relaxed) == 0))
        return express_loudly(tx);
    return 0;
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
    static const pen_express_ops polled = { polled_one, polled_two, polled_three, polled_four };
    static const pen_express_ops parked = { parked_one, parked_two, parked_three, parked_four };
    if (link->fenced) /* each of them would need a fence */
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
