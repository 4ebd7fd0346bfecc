/* SPDX-License-Identifier: BSD-3-Clause */
/* impair.h: a bad network for tests: a link around a link that loses, doubles, delays and
 * damages the frames that it posts. The seed, the rank and the order of posts determine its
 * output.
 *
 * For each frame it draws: the frame is dropped; else delayed (sent when its time is up); else
 * reordered (sent after the next frame to the same peer on the same lane, and at the latest
 * after a millisecond). Unless the frame is dropped, one bit of it may be flipped too, and a
 * second copy may follow. Put and get are passed on unchanged.
 *
 * Frames that wait are copies, at most PEN_IMPAIR_HELD_MAX of them. A frame that finds no room
 * among them, or no memory, is spared: it is sent unchanged. poll sends the copies whose time is
 * up; close sends the rest. */
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
    bool mend; /* the opener puts a reliable link around it */
} pen_impair_config;

typedef struct pen_impair_counts {
    uint64_t frames; /* frames that the engine posted and the link took; each line below counts some
                        of them */
    uint64_t dropped, duplicated, reordered, delayed, corrupted;
    uint64_t spared; /* frames that were not impaired, because there was no room or memory */
    uint64_t lost;   /* held frames for which the link had no room when it was closed */
} pen_impair_counts;

/* Whether any impairment is set. */
bool pen_impair_is_on(const pen_impair_config *config);

/* Wraps a link. The caller closes *out instead of it, and *out closes it. *out keeps those
 * promises of the wrapped link that still hold. Rank 0 warns. On failure it logs the reason, and
 * the link is unchanged. */
pen_status pen_impair_open(pen_link *inner, const pen_impair_config *config,
                           pen_concurrency concurrency, pen_link **out);

/* Counts up to now. base: made by pen_impair_open. */
pen_impair_counts pen_impair_read(pen_link *base);

#endif
