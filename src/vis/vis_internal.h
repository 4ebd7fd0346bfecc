/* SPDX-License-Identifier: BSD-3-Clause */
/* vis_internal.h: what vis/'s files share: the peer's memory as this process sees it, the walks
 * that copy, and the walks that hand pieces to rma/. */
#ifndef PEN_VIS_VIS_INTERNAL_H
#define PEN_VIS_VIS_INTERNAL_H

#include "vis/vis.h"

#include <string.h>

/* The peer's memory that we can load and store: its addresses [base, base + len) are ours + delta.
 */
typedef struct vis_reach {
    uintptr_t base;
    size_t len; /* 0: none */
    intptr_t delta;
} vis_reach;

static inline bool vis_reaches(const vis_reach *reach, const void *addr, size_t len)
{
    uintptr_t offset = (uintptr_t)addr - reach->base;
    return offset < reach->len && len <= reach->len - offset;
}

/* How far our addresses of each side are from those in the call. */
static inline intptr_t vis_dest_delta(const pen_vis_call *call, const vis_reach *reach)
{
    return call->is_put ? reach->delta : 0;
}

static inline intptr_t vis_source_delta(const pen_vis_call *call, const vis_reach *reach)
{
    return call->is_put ? 0 : reach->delta;
}

/* ---- lengths whose moves the compiler writes out --------------------------------------------- */

/* Calls copy, which has to be an always inlined function, with a constant where the length is one
 * of these. 1 and 2 are here because clients share small words and expect them whole. */
static inline __attribute__((always_inline)) void
vis_specialise(size_t len, void (*copy)(const void *ctx, size_t len), const void *ctx)
{
    switch (len) {
    case 1:
        copy(ctx, 1);
        break;
    case 2:
        copy(ctx, 2);
        break;
    case 4:
        copy(ctx, 4);
        break;
    case 8:
        copy(ctx, 8);
        break;
    case 16:
        copy(ctx, 16);
        break;
    case 32:
        copy(ctx, 32);
        break;
    case 64:
        copy(ctx, 64);
        break;
    default:
        copy(ctx, len);
    }
}

/* ---- strided: a box in its simplest form ----------------------------------------------------- */

/* Levels with one index are dropped and no box has 2^64 bytes, so there are never more. */
enum { VIS_LEVELS_MAX = 64 };

typedef struct vis_level {
    ptrdiff_t dest, source; /* strides */
    size_t count;           /* at least 2 */
} vis_level;

/* By rising strides of the destination, none of them negative; levels that continue one another on
 * both sides are one, and contiguous ones belong to the run. */
typedef struct vis_box {
    char *dest, *source;
    size_t run_len;
    unsigned level_count;
    vis_level levels[VIS_LEVELS_MAX];
} vis_box;

/* False: nothing to move. */
bool vis_box_of(const pen_vis_call *call, pen_job *job, vis_box *box);

/* Copies it, if the peer's side is all within reach. */
bool vis_box_copy(const pen_vis_call *call, const vis_box *box, const vis_reach *reach);

/* The commonest shape, runs at one stride, without a box; false: it is another one, or not all of
 * the peer's side is mapped. */
bool vis_line_copy(const pen_vis_call *call);

/* ---- lists ----------------------------------------------------------------------------------- */

/* Bytes to move; ends the job when the sides differ. */
size_t vis_lists_len(const pen_vis_call *call, pen_job *job);
bool vis_lists_copy(const pen_vis_call *call, const vis_reach *reach);

/* ---- piece by piece -------------------------------------------------------------------------- */

typedef struct vis_run {
    char *dest, *source;
    size_t len;
} vis_run;

enum { VIS_RUNS_MAX = 64 }; /* collected for one call of the kernel */

typedef struct vis_mover {
    const pen_vis_call *call;
    pen_thread *thread;
    uint32_t jobrank;
    uint32_t flags; /* PEN_RMA_IMMEDIATE until something has moved */
    bool collects;  /* runs for one call of the kernel */
    size_t run_count;
    vis_run runs[VIS_RUNS_MAX];
} vis_mover;

/* All walks: false: immediate, and the first piece found no room; nothing happened. */
bool vis_move(vis_mover *mover, char *dest, char *source, size_t len);
bool vis_move_rest(vis_mover *mover); /* what was collected and not yet moved */
bool vis_box_move(vis_mover *mover, const vis_box *box);
bool vis_lists_move(vis_mover *mover);

#endif
