/* SPDX-License-Identifier: BSD-3-Clause */
/* raw_memory.h: operations of side 0 of a pair on the memory of side 1: stores, loads,
 * copies, a loop over pieces, the bare locked instruction. Side 1 does nothing. */
#ifndef BENCH_RAW_MEMORY_H
#define BENCH_RAW_MEMORY_H

#include "raw.h"

enum { RAW_PIECES = 64, RAW_PIECE_LEN = 64, RAW_STRIDE = 256 };

/* Addresses are in registers: the fence would have them loaded again every time. */
static inline void raw_put8(raw_pair *pair, uint64_t rounds)
{
    unsigned char *const there = pair->peer->bulk;
    if (pair->side != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        memcpy(there, &round_i, sizeof(round_i));
        raw_compiler_fence();
    }
}

static inline void raw_get8(raw_pair *pair, uint64_t rounds)
{
    const unsigned char *const there = pair->peer->bulk;
    uint64_t value = 0;
    if (pair->side != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        raw_compiler_fence();
        memcpy(&value, there, sizeof(value));
        __asm__ volatile("" ::"r"(value));
    }
}

/* Side 0 makes `rounds` copies of `len` bytes. */
static inline void raw_copy(const raw_pair *pair, uint64_t rounds, unsigned char *to,
                            const unsigned char *from, size_t len)
{
    if (pair->side != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        memcpy(to, from, len);
        raw_compiler_fence();
    }
}

static inline void raw_put(raw_pair *pair, uint64_t rounds, size_t len)
{
    raw_copy(pair, rounds, pair->peer->bulk, pair->private_bulk, len);
}

static inline void raw_get(raw_pair *pair, uint64_t rounds, size_t len)
{
    raw_copy(pair, rounds, pair->private_bulk, pair->peer->bulk, len);
}

/* 64 pieces of 64 bytes, packed here and RAW_STRIDE apart there: the loop that a client would
 * write, with the lengths known when it is compiled. */
static inline void raw_put_pieces(raw_pair *pair, uint64_t rounds)
{
    unsigned char *const there = pair->peer->bulk;
    const unsigned char *const here = pair->private_bulk;
    if (pair->side != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        for (size_t piece_i = 0; piece_i < RAW_PIECES; piece_i++)
            memcpy(there + piece_i * RAW_STRIDE, here + piece_i * RAW_PIECE_LEN, RAW_PIECE_LEN);
        raw_compiler_fence();
    }
}

static inline void raw_get_pieces(raw_pair *pair, uint64_t rounds)
{
    const unsigned char *const there = pair->peer->bulk;
    unsigned char *const here = pair->private_bulk;
    if (pair->side != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        for (size_t piece_i = 0; piece_i < RAW_PIECES; piece_i++)
            memcpy(here + piece_i * RAW_PIECE_LEN, there + piece_i * RAW_STRIDE, RAW_PIECE_LEN);
        raw_compiler_fence();
    }
}

static inline void raw_fetch_add(raw_pair *pair, uint64_t rounds)
{
    _Atomic uint64_t *const there = &pair->peer->counter.value;
    if (pair->side != 0)
        return;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        /* relaxed: only the instruction is wanted, nobody reads anything else by it */
        const uint64_t old = atomic_fetch_add_explicit(there, 1, memory_order_relaxed);
        __asm__ volatile("" ::"r"(old));
    }
}

#endif
