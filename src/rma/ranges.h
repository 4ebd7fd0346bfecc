/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.h: ranges of addresses that are being read or written. Finds a range that overlaps another
 * in logarithmic time: a treap by first address, in which each node knows the last address below
 * it. The caller provides the nodes. Has no lock. */
#ifndef PEN_RMA_RANGES_H
#define PEN_RMA_RANGES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pen_range {
    uintptr_t first, last; /* bytes, both included; the caller sets them and writes */
    bool writes;
    uint32_t priority;        /* the tree sets the rest; a parent has the largest priority */
    uintptr_t last_max;       /* the largest `last` in the subtree */
    uintptr_t write_last_max; /* the largest `last` of writing ranges in the subtree, or 0 */
    struct pen_range *before, *after; /* by first address */
} pen_range;

typedef struct pen_ranges {
    pen_range *top;
    uint32_t seed; /* for the priorities; any value */
} pen_ranges;

void pen_ranges_add(pen_ranges *ranges, pen_range *range);
void pen_ranges_remove(pen_ranges *ranges, pen_range *range); /* the range must be in the tree */

/* Returns a range that overlaps first..last, with only_writes only one that writes, or NULL. */
pen_range *pen_ranges_find(const pen_ranges *ranges, uintptr_t first, uintptr_t last,
                           bool only_writes);

#endif
