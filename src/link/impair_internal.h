/* SPDX-License-Identifier: BSD-3-Clause */
/* impair_internal.h: declarations that the files of the impairing link share.
 *
 * The engine's post lock keeps posts apart, but poll, which sends held frames, runs beside them.
 * So the link has a lock of its own. It is held around every call of the wrapped link except
 * poll and close, and never while a frame is delivered. */
#ifndef PEN_LINK_IMPAIR_INTERNAL_H
#define PEN_LINK_IMPAIR_INTERNAL_H

#include "conduit/conduit.h"
#include "link/impair.h"
#include "link/passing.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct impair_held impair_held;

typedef struct impair_link {
    pen_passing pass; /* first; its lock guards all that follows delay_ns */
    pen_impair_config config;
    uint64_t delay_ns;
    bool shared;   /* more than one thread uses the library */
    uint64_t dice; /* state of the generator */
    pen_impair_counts counts;
    impair_held *first, **last_next; /* waiting, oldest first */
    impair_held *flying;             /* posted; the wrapped link still reads them */
    uint32_t reserved;               /* bodies that the engine is writing in place */
    _Atomic uint32_t held;           /* waiting and flying; poll looks without the lock */
} impair_link;

static inline impair_link *impair_of(pen_link *link) { return (impair_link *)(void *)link; }

/* Impairment drawn for one frame. */
typedef struct impair_verdict {
    bool drop, duplicate, reorder, delay, corrupt;
    uint64_t bit;    /* the bit to flip, counted from the head's start */
    uint32_t spared; /* copies that could not be made */
} impair_verdict;

/* The lock is held for all functions below. */

impair_verdict impair_judge(impair_link *link, const pen_frame *frame);

/* Makes the copies that the verdict needs, damaged if it demands that. *own is sent in the
 * frame's place; if it is NULL, the frame itself is sent. *twin is sent after it, if it is not
 * NULL. If there is no room, the verdict becomes milder. */
void impair_prepare(impair_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                    impair_verdict *verdict, impair_held **own, impair_held **twin);

void impair_held_free(impair_link *link, impair_held *held);
pen_frame impair_held_frame(const impair_held *held);

/* Tries once to post the copy; after DONE or PENDING *held belongs to the link. */
pen_post impair_held_post(impair_link *link, impair_held *held);

/* Keeps the copy until the verdict's time to send it. */
void impair_hold(impair_link *link, impair_held *held, const impair_verdict *verdict);

/* Time at which the next waiting frame has to be sent; UINT64_MAX if no frame waits. */
uint64_t impair_next_due(const impair_link *link);

/* Call it after the frame was taken: counts it, sends the frames that it overtook, its twin, and
 * all frames that are due. */
void impair_taken(impair_link *link, pen_peer to, pen_lane lane, const impair_verdict *verdict,
                  impair_held *twin);

/* inplace.c: impairs frames written in place; says when held frames are due. */
extern const pen_zcopy_ops impair_zcopy;
extern const pen_due_ops impair_due;

#endif
