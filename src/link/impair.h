/* SPDX-License-Identifier: BSD-3-Clause */
/* impair.h: a bad network for tests: a link around a link that loses, doubles, holds up and damages
 * the frames it is given to post. What leaves it follows from the seed, the rank and the order in
 * which frames were posted.
 *
 * Drawn for each frame: it is dropped; else delayed (it goes when its time is up); else reordered
 * (it goes after the next frame to the same peer on the same lane, and anyway after a millisecond).
 * Besides, unless it is dropped, one bit of it may be flipped, and a second copy of it may follow.
 * Put and get are passed on as they are.
 *
 * Frames that wait are copies, at most PEN_IMPAIR_HELD_MAX of them; a frame that finds no room
 * among them, or no memory, is spared and goes as it is. poll sends those whose time is up, close
 * sends the rest. */
#ifndef PEN_LINK_IMPAIR_H
#define PEN_LINK_IMPAIR_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "knob/knob.h"
#include "os/lock.h"

#include <stdbool.h>
#include <stdint.h>

enum { PEN_IMPAIR_HELD_MAX = 256 };

extern const pen_knob pen_impair_knobs[];
typedef struct pen_impair_config {
    double drop, duplicate, reorder, delay, corrupt; /* probabilities */
    double delay_s;                                  /* how long a delayed frame waits */
    int64_t seed;
    bool mend; /* whoever opens the link puts a reliable one around it */
} pen_impair_config;

typedef struct pen_impair_counts {
    uint64_t frames; /* posted by the engine and taken; each line below counts some of them */
    uint64_t dropped, duplicated, reordered, delayed, corrupted;
    uint64_t spared; /* for want of room or memory */
    uint64_t lost;   /* held frames that the link had no room for when it was closed */
} pen_impair_counts;

/* Whether anything is asked for. */
bool pen_impair_is_on(const pen_impair_config *config);

/* Wraps a link; *out is closed in its stead, and closes it. What the wrapped link promises and
 * still holds is promised. Rank 0 warns. On failure, which is said in a line, the link is as it
 * was. */
pen_status pen_impair_open(pen_link *inner, const pen_impair_config *config,
                           pen_concurrency concurrency, pen_link **out);

/* What was done so far; base: made by pen_impair_open. */
pen_impair_counts pen_impair_read(pen_link *base);

#endif
