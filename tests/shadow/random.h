/* SPDX-License-Identifier: BSD-3-Clause */
/* random.h: numbers that follow from a seed, the same on every machine. */
#ifndef PEN_TESTS_SHADOW_RANDOM_H
#define PEN_TESTS_SHADOW_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Each bit of the result depends on each bit of the argument (the finaliser of splitmix64). */
static inline uint64_t random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t random_mix2(uint64_t a, uint64_t b)
{
    return random_mix(a + 0x9e3779b97f4a7c15u * (b + 1));
}

typedef struct random_state {
    uint64_t at;
} random_state;

static inline uint64_t random_next(random_state *state)
{
    return random_mix(state->at += 0x9e3779b97f4a7c15u);
}

/* 0..bound-1; bound is at least 1. */
static inline uint32_t random_below(random_state *state, uint32_t bound)
{
    return (uint32_t)(((random_next(state) >> 32) * bound) >> 32);
}

static inline int random_chance(random_state *state, uint32_t of)
{
    return random_below(state, of) == 0;
}

/* Draws a length of this octave: 2^octave .. 2^(octave+1). */
static inline size_t random_len(random_state *state, unsigned octave)
{
    return ((size_t)1 << octave) + random_below(state, (1u << octave) + 1u);
}

#endif
