/* SPDX-License-Identifier: BSD-3-Clause */
/* lists.c: vector and indexed: two lists of the same length in bytes, each with its own pieces. Two
 * lists of pieces of one length have a fast loop, as has such a list with contiguous memory. All
 * further pairs are walked with a cursor on each side. */
#include "vis/vis_internal.h"

#include "base/copy.h"
#include "job/fatal.h"
#include "job/job.h"
#include "reach/reach.h"

/* ---- lengths --------------------------------------------------------------------------------- */

static bool side_len(const pen_vis_call *call, const pen_vis_side *side, size_t *len_out)
{
    size_t len = 0;
    bool wraps = false;
    if (call->shape == PEN_VIS_INDEXED)
        wraps = __builtin_mul_overflow(side->count, side->len, &len);
    else
        for (size_t i = 0; i < side->count; i++)
            wraps |= __builtin_add_overflow(len, side->vector[i].gex_len, &len);
    *len_out = len;
    return !wraps;
}

size_t vis_lists_len(const pen_vis_call *call, pen_job *job)
{
    size_t dest_len, source_len;
    if (!side_len(call, &call->dest, &dest_len) || !side_len(call, &call->source, &source_len))
        pen_job_fatal(job, "%s: a list has more bytes than memory; check counts and lengths",
                      call->name);
    if (dest_len != source_len)
        pen_job_fatal(job,
                      "%s: the source is %zu bytes in %zu pieces, the destination %zu in %zu; both "
                      "have to be of the same length",
                      call->name, source_len, call->source.count, dest_len, call->dest.count);
    return dest_len;
}

/* ---- cursors --------------------------------------------------------------------------------- */

typedef struct list_cursor {
    const pen_vis_side *side;
    size_t next; /* entry */
    char *at;
    size_t len; /* bytes left of the current entry */
} list_cursor;

/* Moves to the next entry that is not empty if this one is used up; false: no entry is left. */
static inline bool cursor_ready(list_cursor *cursor)
{
    const pen_vis_side *side = cursor->side;
    while (cursor->len == 0) {
        if (cursor->next == side->count)
            return false;
        if (side->vector != NULL) {
            cursor->at = side->vector[cursor->next].gex_addr;
            cursor->len = side->vector[cursor->next].gex_len;
        } else {
            cursor->at = side->list[cursor->next];
            cursor->len = side->len;
        }
        cursor->next++;
    }
    return true;
}

/* Finds the next run that is contiguous on both sides; false: no run is left. */
static inline bool next_run(list_cursor *dest, list_cursor *source, vis_run *run)
{
    if (!cursor_ready(dest) || !cursor_ready(source))
        return false;
    size_t len = dest->len < source->len ? dest->len : source->len;
    *run = (vis_run){ dest->at, source->at, len };
    dest->at += len;
    dest->len -= len;
    source->at += len;
    source->len -= len;
    return true;
}

bool vis_lists_move(vis_mover *mover)
{
    list_cursor dest = { .side = &mover->call->dest }, source = { .side = &mover->call->source };
    vis_run run;
    while (next_run(&dest, &source, &run))
        if (!vis_move(mover, run.dest, run.source, run.len))
            return false;
    return true;
}

/* ---- copying --------------------------------------------------------------------------------- */

/* One run of a walk. */
typedef struct contiguous {
    const pen_copy_table *copies;
    vis_run at;
} contiguous;

static inline __attribute__((always_inline)) void run_copy(const void *ctx, size_t len)
{
    const contiguous *run = ctx;
    pen_copy(run->copies, run->at.dest, run->at.source, len);
}

static void cursors_copy(const pen_vis_call *call, const pen_reach_range *range)
{
    const intptr_t dest_delta = vis_dest_delta(call, range);
    const intptr_t source_delta = vis_source_delta(call, range);
    list_cursor dest = { .side = &call->dest }, source = { .side = &call->source };
    contiguous run = { .copies = &call->team->job->copies };
    while (next_run(&dest, &source, &run.at)) {
        run.at.dest += dest_delta;
        run.at.source += source_delta;
        vis_specialise(run.at.len, run_copy, &run);
    }
}

/* Copies pieces of one length, from list to list, or between a list and contiguous memory. */
typedef struct pieces {
    const pen_copy_table *copies;
    void *const *dest_list, *const *source_list;
    intptr_t dest_delta, source_delta; /* added to the address of an entry */
    size_t count;
} pieces;

static inline char *entry_at(void *const *list, size_t i, intptr_t delta)
{
    return (char *)list[i] + delta;
}

static inline __attribute__((always_inline)) void scatter(const void *ctx, size_t len)
{
    const pieces *p = ctx;
    const char *source = entry_at(p->source_list, 0, p->source_delta);
    for (size_t i = 0; i < p->count; i++, source += len)
        pen_copy(p->copies, entry_at(p->dest_list, i, p->dest_delta), source, len);
}

static inline __attribute__((always_inline)) void gather(const void *ctx, size_t len)
{
    const pieces *p = ctx;
    char *dest = entry_at(p->dest_list, 0, p->dest_delta);
    for (size_t i = 0; i < p->count; i++, dest += len)
        pen_copy(p->copies, dest, entry_at(p->source_list, i, p->source_delta), len);
}

static inline __attribute__((always_inline)) void list_to_list(const void *ctx, size_t len)
{
    const pieces *p = ctx;
    for (size_t i = 0; i < p->count; i++)
        pen_copy(p->copies, entry_at(p->dest_list, i, p->dest_delta),
                 entry_at(p->source_list, i, p->source_delta), len);
}

static void indexed_copy(const pen_vis_call *call, const pen_reach_range *range)
{
    const pen_vis_side *dest = &call->dest, *source = &call->source;
    const bool gathers = dest->count == 1;
    const pieces p = { .copies = &call->team->job->copies,
                       .dest_list = dest->list,
                       .source_list = source->list,
                       .dest_delta = vis_dest_delta(call, range),
                       .source_delta = vis_source_delta(call, range),
                       .count = gathers ? source->count : dest->count };
    if (gathers)
        vis_specialise(source->len, gather, &p);
    else if (source->count == 1)
        vis_specialise(dest->len, scatter, &p);
    else if (dest->len == source->len)
        vis_specialise(dest->len, list_to_list, &p);
    else
        cursors_copy(call, range);
}

static bool side_reached(const pen_vis_side *side, const pen_reach_range *range)
{
    for (size_t i = 0; i < side->count; i++) {
        bool within = side->vector != NULL ? side->vector[i].gex_len == 0 ||
                                                 pen_reach_covers(range, side->vector[i].gex_addr,
                                                                  side->vector[i].gex_len)
                                           : pen_reach_covers(range, side->list[i], side->len);
        if (!within)
            return false;
    }
    return true;
}

bool vis_lists_copy(const pen_vis_call *call, const pen_reach_range *range)
{
    if (range->len == 0 || !side_reached(call->is_put ? &call->dest : &call->source, range))
        return false;
    if (call->shape == PEN_VIS_INDEXED)
        indexed_copy(call, range);
    else
        cursors_copy(call, range);
    return true;
}
