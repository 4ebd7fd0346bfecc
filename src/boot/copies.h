/* SPDX-License-Identifier: BSD-3-Clause */
/* copies.h: measures which way of copying memory is the fastest on this host, by length, for memory
 * in a core's own caches and for memory that a different core reads. Called by the process that
 * lays out a host's arena, before the first rank starts, and by `penstock info`. After
 * PEN_COPIES_LIMIT_NS it begins no further measurement, so it takes longer only on a busy host.
 * Copies longer than the longest that was measured are made like that one. */
#ifndef PEN_BOOT_COPIES_H
#define PEN_BOOT_COPIES_H

#include "base/copy.h"

#include <stdbool.h>
#include <stdint.h>

/* Time for measuring, of which the larger part is for memory of a different core. */
#define PEN_COPIES_LIMIT_NS ((uint64_t)3000000)

#define PEN_COPIES_MEASURED "measured"

/* wish: value of PENSTOCK_COPIES. "measured": measures; for one rank only the core's own caches.
 * Otherwise the table gets the way of that name for all lengths. */
void pen_copies_choose(const char *wish, uint32_t ranks, pen_copy_table *out);

/* Whether the text is "measured" or names a way that this processor has. */
bool pen_copies_known(const char *wish);

/* Times of one measurement, for the decision. Lengths are the shortest of each class. Places are
 * where the destination lies in its page. */
enum {
    PEN_COPIES_POINTS_MAX = PEN_COPY_CLASSES,
    PEN_COPIES_PLACES = 2,
    PEN_COPIES_PAST = PEN_COPY_WAYS, /* the way past the caches, after the others */
    PEN_COPIES_WAYS
};
typedef struct pen_copies_times {
    unsigned points; /* lengths that were measured; longer ones are copied as the last */
    /* nanoseconds; 0: not measured */
    uint64_t ns[PEN_COPIES_POINTS_MAX][PEN_COPIES_PLACES][PEN_COPIES_WAYS];
    uint64_t ticks[PEN_COPIES_POINTS_MAX]; /* duration of memcpy alone at the first place */
} pen_copies_times;

/* The decisions. Pure; also called by tests. _own decides for memory of a different core, too,
 * until _other does. */
void pen_copies_judge_own(const pen_copies_times *from, pen_copy_table *out);
void pen_copies_judge_other(const pen_copies_times *from, pen_copy_table *out);

/* A way's word in PENSTOCK_COPIES, and its name in words. */
const char *pen_copies_word(pen_copy_way way);
const char *pen_copies_text(pen_copy_way way);

#endif
