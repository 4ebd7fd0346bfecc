/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_direct.h: updates of RandomAccess by loads and stores, for ranks that share memory.
 * A word that is asked for only when it is needed keeps the processor waiting, so some updates are
 * drawn first and their words asked for, and only then applied, within the rules of HPCC. */
#ifndef RANDOMACCESS_DIRECT_H
#define RANDOMACCESS_DIRECT_H

#include "randomaccess_spread.h"
#include "randomaccess_stream.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { DIRECT_AHEAD = 64 }; /* updates drawn and not yet applied; 16 and 1,024 are slower */

typedef struct direct {
    _Atomic uint64_t *word;
    uint64_t value;
} direct;

/* Draws and applies `count` updates that follow `value`, and returns the last one. tables holds for
 * each rank the address at which word 0 would be if all words were that rank's. */
static uint64_t direct_update(const spread *table, const uintptr_t *tables, uint64_t value,
                              uint64_t count)
{
    const spread words = *table; /* the compiler cannot know that no word overlays it */
    direct updates[DIRECT_AHEAD];
    while (count > 0) {
        const size_t ahead = count < DIRECT_AHEAD ? (size_t)count : DIRECT_AHEAD;
        for (size_t i = 0; i < ahead; i++) {
            value = stream_next(value);
            const uint64_t word_i = value & words.word_mask;
            const uintptr_t at = tables[spread_owner(&words, value)] + word_i * sizeof(uint64_t);
            updates[i] = (direct){ (_Atomic uint64_t *)at, value };
            __builtin_prefetch((const void *)at, 1);
        }
        for (size_t i = 0; i < ahead; i++) {
            /* relaxed: ranks may race for a word, and no word tells of another */
            const uint64_t old = atomic_load_explicit(updates[i].word, memory_order_relaxed);
            atomic_store_explicit(updates[i].word, old ^ updates[i].value, memory_order_relaxed);
        }
        count -= ahead;
    }
    return value;
}

#endif
