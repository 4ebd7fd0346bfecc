/* SPDX-License-Identifier: BSD-3-Clause */
/* window.h: which sequence numbers of a peer have arrived. Each is new at most once: that is
 * "exactly once". Numbers from base on, PEN_REL_WINDOW of them, are told apart; those before base
 * have all arrived, those beyond come from nobody honest. Pure. */
#ifndef PEN_RELIABLE_WINDOW_H
#define PEN_RELIABLE_WINDOW_H

#include "reliable/wire.h"

typedef struct pen_rel_window {
    uint32_t base;                      /* the oldest that has not arrived */
    uint32_t high;                      /* one past the newest that has, or base */
    uint64_t bits[PEN_REL_WINDOW / 64]; /* by number modulo the window; of [base, high) */
} pen_rel_window;

typedef enum pen_rel_place { PEN_REL_NEW, PEN_REL_SEEN, PEN_REL_BEYOND } pen_rel_place;

pen_rel_place pen_rel_window_look(const pen_rel_window *window, uint32_t sequence);
void pen_rel_window_add(pen_rel_window *window, uint32_t sequence); /* one that is new */

/* What arrived behind base; the newest ranges, when there are more than max. Answers how many. */
uint32_t pen_rel_window_ranges(const pen_rel_window *window, pen_rel_range *ranges, uint32_t max);

#endif
