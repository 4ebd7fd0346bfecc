/* SPDX-License-Identifier: BSD-3-Clause */
/* window.h: the sequence numbers of a peer that have arrived. A number is new at most once, which
 * makes "exactly once". PEN_REL_WINDOW numbers from base on are tracked one by one. All numbers
 * before base have arrived; an honest peer sends no number beyond the window. Pure. */
#ifndef PEN_RELIABLE_WINDOW_H
#define PEN_RELIABLE_WINDOW_H

#include "reliable/wire.h"

#include <stdint.h>

typedef struct pen_rel_window {
    uint32_t base;                      /* the oldest that has not arrived */
    uint32_t high;                      /* one past the newest that has, or base */
    uint64_t bits[PEN_REL_WINDOW / 64]; /* by number modulo the window; of [base, high) */
} pen_rel_window;

typedef enum pen_rel_place { PEN_REL_NEW, PEN_REL_SEEN, PEN_REL_BEYOND } pen_rel_place;

pen_rel_place pen_rel_window_look(const pen_rel_window *window, uint32_t sequence);
void pen_rel_window_add(pen_rel_window *window, uint32_t sequence); /* one that is new */

/* Writes the ranges of numbers behind base that have arrived, in ascending order. If there are more
 * than max: the lowest ones, since frames that were lost are sent again from there; the highest
 * ones, where new frames arrive; and the one that contains `heard`, the frame that arrived last.
 * Returns their number. */
uint32_t pen_rel_window_ranges(const pen_rel_window *window, uint32_t heard, pen_rel_range *ranges,
                               uint32_t max);

#endif
