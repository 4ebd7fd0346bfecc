/* SPDX-License-Identifier: BSD-3-Clause */
/* raw.h: the yardsticks of the benchmarks: operations of the bare machine. Two ranks exchange lines
 * and copies through memory that both map, with nothing of the library in between. Side 0 begins
 * each exchange, side 1 answers; both are called with the same number of rounds. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    RAW_LINE_LEN = 64,
    RAW_SLOTS = 64,
    RAW_COPY_LEN = 1 << 16, /* largest copy with a flag */
    RAW_COPIES = 4,         /* buffers used in turn, so that a copy does not hit lines in flight */
    RAW_BULK_LEN = 1 << 24
};

typedef struct raw_line {
    _Alignas(RAW_LINE_LEN) _Atomic uint64_t value;
} raw_line;

/* A word that a rank sleeps on. */
typedef struct raw_word {
    _Alignas(RAW_LINE_LEN) _Atomic uint32_t value;
} raw_word;

/* A slot is one line; its sequence word is the only synchronisation. */
typedef struct raw_slot {
    _Alignas(RAW_LINE_LEN) _Atomic uint64_t sequence;
    uint64_t words[7];
} raw_slot;

/* Memory of one rank, at the start of its segment, which its peer writes and it reads. */
typedef struct raw_area {
    raw_line turn; /* the one-line exchange; that of side 0 is used, as of the next */
    raw_line neighbour_turn;
    raw_line consumed; /* slots that the peer has read of what we sent it */
    raw_line flag;     /* copy and flag */
    raw_line lost; /* report of a partner about a block: the part that it lost, in millionths, */
    raw_line cpu;  /* and its CPU times of a round, in picoseconds; rank 0's are used */
    raw_line raw_cpu;
    raw_line counter; /* for additions by the peer */
    raw_word asleep;  /* ranks behind the gate; rank 0's is used, as of the next two */
    raw_word gate;
    raw_word futex_turn;
    raw_slot slots[RAW_SLOTS];
    _Alignas(4096) unsigned char copies[RAW_COPIES][RAW_COPY_LEN];
    _Alignas(4096) unsigned char bulk[RAW_BULK_LEN];
} raw_area;

typedef struct raw_pair {
    raw_area *mine, *peer;                 /* both as mapped here */
    _Atomic uint64_t *turn;                /* of side 0 */
    unsigned side;                         /* 0 begins */
    uint64_t turns, sent, received, flags; /* as far as we got */
    uint32_t futex_turns, gates;
    unsigned char *private_bulk; /* RAW_BULK_LEN */
} raw_pair;

static inline void raw_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* The compiler has to do what it is told, every time. */
static inline void raw_compiler_fence(void) { __asm__ volatile("" ::: "memory"); }

static inline void raw_await(_Atomic uint64_t *word, uint64_t wanted, bool yielding)
{
    /* acquire: writes that the releasing rank made before the word are visible */
    while (atomic_load_explicit(word, memory_order_acquire) != wanted) {
        if (yielding)
            sched_yield();
        else
            raw_pause();
    }
}

/* ---- one line, to and fro ---- */

static inline void raw_exchange_turns(raw_pair *pair, uint64_t rounds, bool yielding)
{
    _Atomic uint64_t *turn = pair->turn;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        pair->turns += 2;
        if (pair->side == 0) {
            atomic_store_explicit(turn, pair->turns - 1, memory_order_release);
            raw_await(turn, pair->turns, yielding);
        } else {
            raw_await(turn, pair->turns - 1, yielding);
            atomic_store_explicit(turn, pair->turns, memory_order_release);
        }
    }
}

/* ---- 64-byte messages through a single-producer ring at each rank ---- */

static inline void raw_ring_send(raw_pair *pair, const uint64_t words[7])
{
    raw_slot *slot = &pair->peer->slots[pair->sent % RAW_SLOTS];
    memcpy(slot->words, words, sizeof(slot->words));
    pair->sent++;
    atomic_store_explicit(&slot->sequence, pair->sent, memory_order_release);
}

static inline void raw_ring_receive(raw_pair *pair, uint64_t words[7])
{
    raw_slot *slot = &pair->mine->slots[pair->received % RAW_SLOTS];
    pair->received++;
    raw_await(&slot->sequence, pair->received, false);
    memcpy(words, slot->words, sizeof(slot->words));
}

static inline void raw_echo(raw_pair *pair, uint64_t rounds)
{
    uint64_t words[7] = { 1, 2, 3, 4, 5, 6, 7 };
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        if (pair->side == 0)
            raw_ring_send(pair, words);
        raw_ring_receive(pair, words);
        if (pair->side == 1)
            raw_ring_send(pair, words);
    }
}

/* One way, as fast as it goes; the receiver says every half ring how far it has read. */
static inline void raw_flood(raw_pair *pair, uint64_t rounds)
{
    uint64_t words[7] = { 1, 2, 3, 4, 5, 6, 7 };
    if (pair->side == 0) {
        const uint64_t goal = pair->sent + rounds;
        uint64_t consumed = 0;
        while (pair->sent < goal) {
            while (pair->sent - consumed >= RAW_SLOTS) {
                raw_pause();
                consumed = atomic_load_explicit(&pair->mine->consumed.value, memory_order_acquire);
            }
            raw_ring_send(pair, words);
        }
        raw_await(&pair->mine->consumed.value, goal, false);
        return;
    }
    _Atomic uint64_t *consumed = &pair->peer->consumed.value;
    atomic_store_explicit(consumed, pair->received, memory_order_release); /* echoes count too */
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        raw_ring_receive(pair, words);
        if (pair->received % (RAW_SLOTS / 2) == 0 || round_i + 1 == rounds)
            atomic_store_explicit(consumed, pair->received, memory_order_release);
    }
}

/* ---- a copy and a flag, to and fro ---- */

static inline void raw_copy_send(raw_pair *pair, const void *from, size_t len)
{
    memcpy(pair->peer->copies[pair->flags % RAW_COPIES], from, len);
    atomic_store_explicit(&pair->peer->flag.value, pair->flags + 1, memory_order_release);
}

static inline void raw_copies(raw_pair *pair, uint64_t rounds, size_t len)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++, pair->flags++) {
        const unsigned char *received = pair->mine->copies[pair->flags % RAW_COPIES];
        if (pair->side == 0)
            raw_copy_send(pair, pair->private_bulk, len);
        raw_await(&pair->mine->flag.value, pair->flags + 1, false);
        if (pair->side == 1)
            raw_copy_send(pair, received, len);
    }
}

/* ---- copies of bulk data, each followed by a line ----------------------------------------------
 *
 * Nobody reads what is copied, so no line of it has to travel: what remains is the copy itself. */

/* Each side copies len bytes in turn and sends a line. */
static inline void raw_bulk_echo(raw_pair *pair, uint64_t rounds, size_t len)
{
    uint64_t words[7] = { 1, 2, 3, 4, 5, 6, 7 };
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        if (pair->side == 0) {
            memcpy(pair->peer->bulk, pair->private_bulk, len);
            raw_ring_send(pair, words);
        }
        raw_ring_receive(pair, words);
        if (pair->side == 1) {
            memcpy(pair->peer->bulk, pair->private_bulk, len);
            raw_ring_send(pair, words);
        }
    }
}

/* Each side copies its rounds while the other side copies, too. Then the two sides tell each other
 * that they have finished, which ends the block. */
static inline void raw_bulk_both(raw_pair *pair, uint64_t rounds, size_t len)
{
    uint64_t words[7] = { 1, 2, 3, 4, 5, 6, 7 };
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        memcpy(pair->peer->bulk, pair->private_bulk, len);
        raw_compiler_fence();
    }
    raw_ring_send(pair, words);
    raw_ring_receive(pair, words);
}

#endif
