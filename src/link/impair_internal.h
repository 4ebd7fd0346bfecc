/* SPDX-License-Identifier: BSD-3-Clause */
/* impair_internal.h: what the files of the impairing link share.
 *
 * The engine's post lock keeps posts apart, but poll, which sends held frames, runs beside them: so
 * the link has a lock of its own, held round every call of the wrapped link but poll and close, and
 * never while a frame is delivered. */
#ifndef PEN_LINK_IMPAIR_INTERNAL_H
#define PEN_LINK_IMPAIR_INTERNAL_H

#include "link/impair.h"

#include <stdatomic.h>

typedef struct impair_held impair_held;

typedef struct impair_link {
    pen_link base; /* first: the engine sees a pen_link */
    pen_link *inner;
    pen_impair_config config;
    uint64_t delay_ns;
    pen_lock lock; /* guards all below */
    bool shared;   /* more than one thread uses the library */
    uint64_t dice; /* state of the generator */
    pen_impair_counts counts;
    impair_held *first, **last_next; /* waiting, oldest first */
    impair_held *flying;             /* posted; the wrapped link still reads them */
    uint32_t reserved;               /* bodies the engine is writing in place */
    _Atomic uint32_t held;           /* waiting and flying; poll looks without the lock */
} impair_link;

static inline impair_link *impair_of(pen_link *link) { return (impair_link *)(void *)link; }

/* What befalls a frame. */
typedef struct impair_verdict {
    bool drop, duplicate, reorder, delay, corrupt;
    uint64_t bit;    /* which one is flipped, head first */
    uint32_t spared; /* copies that could not be made */
} impair_verdict;

/* All below: under the lock. */

impair_verdict impair_judge(impair_link *link, const pen_frame *frame);

/* The copies that the verdict needs, damaged if it says so: *own to go in the frame's place (NULL:
 * the frame itself goes), *twin to go behind it (NULL: none). Softens the verdict where there is no
 * room. */
void impair_prepare(impair_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                    impair_verdict *verdict, impair_held **own, impair_held **twin);

void impair_held_free(impair_link *link, impair_held *held);
pen_frame impair_held_frame(const impair_held *held);

/* One try; on DONE and PENDING *held is not the caller's any more. */
pen_post impair_held_post(impair_link *link, impair_held *held);

/* To be sent as the verdict says. */
void impair_hold(impair_link *link, impair_held *held, const impair_verdict *verdict);

/* When the next waiting frame has to go; UINT64_MAX: none waits. */
uint64_t impair_next_due(const impair_link *link);

/* The frame was taken: counts it, sends what it overtook, what has to follow and what is due. */
void impair_taken(impair_link *link, pen_peer to, pen_lane lane, const impair_verdict *verdict,
                  impair_held *twin);

/* families.c: the same under zcopy; put, get and waiting as they are. */
extern const pen_rma_ops impair_rma;
extern const pen_zcopy_ops impair_zcopy;
extern const pen_wait_ops impair_wait;
extern const pen_due_ops impair_due;

#endif
