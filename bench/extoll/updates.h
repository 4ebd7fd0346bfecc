/* SPDX-License-Identifier: BSD-3-Clause */
/* updates.h: a rank's share of RandomAccess (HPC Challenge): the table, the stream of updates, and
 * whether the table is right in the end. The number of ranks is a power of two. */
#ifndef PEN_BENCH_EXTOLL_UPDATES_H
#define PEN_BENCH_EXTOLL_UPDATES_H

#include "../../examples/randomaccess_stream.h"
#include "extoll/ranks.h"

#include <stdlib.h>

enum { UPDATES_PER_WORD = 4 };

typedef struct updates {
    uint64_t words, share, count; /* of the table; of a rank's part; updates of each rank */
    unsigned share_log2;
    uint64_t *table; /* own part */
    uint64_t value;  /* the last one drawn */
} updates;

static inline void updates_open(updates *u, const ranks *r, unsigned log2_words)
{
    u->words = UINT64_C(1) << log2_words;
    u->share = u->words / (uint64_t)r->count;
    u->share_log2 = (unsigned)__builtin_ctzll(u->share);
    u->count = u->share * UPDATES_PER_WORD;
    u->table = malloc(u->share * sizeof(*u->table));
    if (u->table == NULL)
        ranks_fail(r, "malloc", "out of memory");
    for (uint64_t i = 0; i < u->share; i++)
        u->table[i] = (uint64_t)r->rank * u->share + i;
    u->value = stream_at((uint64_t)r->rank * u->count);
}

static inline uint64_t updates_next(updates *u) { return u->value = stream_next(u->value); }

static inline int updates_owner(const updates *u, uint64_t update)
{
    return (int)((update & (u->words - 1)) >> u->share_log2);
}

static inline void updates_apply(updates *u, uint64_t update)
{
    u->table[update & (u->share - 1)] ^= update;
}

/* Words that are wrong: all updates are made once more, alone, which must undo them. Frees it. */
static inline uint64_t updates_close(updates *u, const ranks *r)
{
    uint64_t value = stream_at(0), wrong = 0;
    for (uint64_t i = 0; i < u->count * (uint64_t)r->count; i++) {
        value = stream_next(value);
        if (updates_owner(u, value) == r->rank)
            updates_apply(u, value);
    }
    for (uint64_t i = 0; i < u->share; i++)
        wrong += u->table[i] != (uint64_t)r->rank * u->share + i;
    free(u->table);
    return wrong;
}

/* Ranks for which a table can be shared out. */
static inline bool updates_fit(int ranks_count, long log2_words)
{
    return ranks_count > 0 && (ranks_count & (ranks_count - 1)) == 0 && log2_words >= 10 &&
           log2_words <= 30;
}

#endif
