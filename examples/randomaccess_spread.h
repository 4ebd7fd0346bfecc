/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_spread.h: how the table of RandomAccess is spread over the ranks. Each has a piece
 * of it; where they cannot be equal the first ranks have one word more. */
#ifndef RANDOMACCESS_SPREAD_H
#define RANDOMACCESS_SPREAD_H

#include <stdint.h>

typedef struct spread {
    uint64_t words, word_mask; /* a power of two, and the bits of an update that name a word */
    uint64_t share, longer;    /* words per rank; the first `longer` ranks have one more */
    uint64_t border;           /* first word of the ranks that have not */
    int share_log2;            /* if all have 2^share_log2 words, else -1 */
} spread;

static inline spread spread_over(uint64_t words, uint64_t ranks)
{
    const uint64_t share = words / ranks, longer = words % ranks;
    const int even = longer == 0 && share != 0 && (share & (share - 1)) == 0;
    return (spread){ .words = words,
                     .word_mask = words - 1,
                     .share = share,
                     .longer = longer,
                     .border = (share + 1) * longer,
                     .share_log2 = even ? __builtin_ctzll(share) : -1 };
}

static inline uint64_t spread_first(const spread *self, uint64_t rank)
{
    return rank < self->longer ? rank * (self->share + 1)
                               : self->border + (rank - self->longer) * self->share;
}

/* The rank that owns the word of an update. Divisions are slow, and many jobs need none. */
static inline uint64_t spread_owner(const spread *self, uint64_t update)
{
    const uint64_t word = update & self->word_mask;
    if (self->share_log2 >= 0)
        return word >> self->share_log2;
    if (word < self->border)
        return word / (self->share + 1);
    return self->longer + (word - self->border) / self->share;
}

#endif
