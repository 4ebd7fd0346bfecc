/* SPDX-License-Identifier: BSD-3-Clause */
/* vis_internal.h: shared by the files of vis/: the walks that copy, and the walks that hand pieces
 * to rma/. */
#ifndef PEN_VIS_VIS_INTERNAL_H
#define PEN_VIS_VIS_INTERNAL_H

#include "job/job.h"
#include "job/thread.h"
#include "reach/reach.h"
#include "vis/vis.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Distances from the call's addresses of each side to local addresses. */
static inline intptr_t vis_dest_delta(const pen_vis_call *call, const pen_reach_range *range)
{
    return call->is_put ? range->delta : 0;
}

static inline intptr_t vis_source_delta(const pen_vis_call *call, const pen_reach_range *range)
{
    return call->is_put ? 0 : range->delta;
}

/* ---- lengths whose moves the compiler writes out --------------------------------------------- */

/* Calls copy, which must be an always inlined function, with a constant if the length is one of
 * these. 1 and 2 are here because clients share small words and expect single accesses. */
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

/* Levels with one index are dropped and no box has 2^64 bytes, so this is the most. */
enum { VIS_LEVELS_MAX = 64 };

typedef struct vis_level {
    ptrdiff_t dest, source; /* strides */
    size_t count;           /* at least 2 */
} vis_level;

/* A box in its simplest form: levels have rising strides of the destination, which are not
 * negative. Levels that continue one another on both sides are merged, and contiguous levels belong
 * to the run. */
typedef struct vis_box {
    char *dest, *source;
    size_t run_len;
    unsigned level_count;
    vis_level levels[VIS_LEVELS_MAX];
} vis_box;

/* Returns false if the box is empty. */
bool vis_box_of(const pen_vis_call *call, pen_job *job, vis_box *box);

/* Copies the box if all of the peer's side is mapped. */
bool vis_box_copy(const pen_vis_call *call, const vis_box *box, const pen_reach_range *range);

/* Copies the most frequent shape, runs at one stride, without a box. Returns false for another
 * shape, or if a part of the peer's side is not mapped. */
bool vis_line_copy(const pen_vis_call *call);

/* ---- lists ----------------------------------------------------------------------------------- */

/* Returns the bytes to move; ends the job if the sides differ. */
size_t vis_lists_len(const pen_vis_call *call, pen_job *job);
bool vis_lists_copy(const pen_vis_call *call, const pen_reach_range *range);

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

/* All walks return false if the call is immediate and the first piece found no room; then nothing
 * happened. */
bool vis_move(vis_mover *mover, char *dest, char *source, size_t len);
bool vis_move_rest(vis_mover *mover); /* moves the runs that were collected and not yet moved */
bool vis_box_move(vis_mover *mover, const vis_box *box);
bool vis_lists_move(vis_mover *mover);

#endif
