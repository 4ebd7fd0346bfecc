/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.h: ranges of addresses that are being read or written, kept so that any one that overlaps
 * another is found in logarithmic time: a treap by first address, each node of which knows the last
 * address below it. The nodes are the caller's. No lock of its own. */
#ifndef PEN_RMA_RANGES_H
#define PEN_RMA_RANGES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pen_range {
    uintptr_t first, last; /* bytes, both included; filled in by the caller, as is writes */
    bool writes;
    uint32_t priority;                /* the rest is the tree's; a parent's is the largest */
    uintptr_t last_max;               /* of the subtree */
    uintptr_t write_last_max;         /* of those in it that write; 0: none does */
    struct pen_range *before, *after; /* by first address */
} pen_range;

typedef struct pen_ranges {
    pen_range *top;
    uint32_t seed; /* of the priorities; any value will do */
} pen_ranges;

void pen_ranges_add(pen_ranges *ranges, pen_range *range);
void pen_ranges_remove(pen_ranges *ranges, pen_range *range); /* it has to be there */

/* One that overlaps first..last, only of those that write if asked; NULL: there is none. */
pen_range *pen_ranges_find(const pen_ranges *ranges, uintptr_t first, uintptr_t last,
                           bool only_writes);

#endif
