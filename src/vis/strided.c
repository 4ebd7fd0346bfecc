/* SPDX-License-Identifier: BSD-3-Clause */
/* strided.c: boxes of elements: brings a box into its simplest form, and walks it. The innermost
 * two levels are a loop nest; the levels above them count like an odometer. */
#include "vis/vis_internal.h"

#include "base/compiler.h"
#include "base/copy.h"
#include "job/fatal.h"
#include "job/job.h"
#include "reach/reach.h"

#include <penstock/abi.h>

/* ---- the simplest form ----------------------------------------------------------------------- */

/* Adds a distance to an address; negative distances are large numbers. Wrong arguments may make it
 * wrap. */
static inline char *at(const char *base, size_t distance)
{
    return (char *)((uintptr_t)base + distance);
}

/* Inserts a level in the order of the destination's stride. If that stride is negative, the level
 * is walked from its far end. */
static void level_add(vis_box *box, vis_level level)
{
    if (level.dest < 0) {
        box->dest = at(box->dest, (size_t)level.dest * (level.count - 1));
        box->source = at(box->source, (size_t)level.source * (level.count - 1));
        level.dest = (ptrdiff_t)(0 - (size_t)level.dest);
        level.source = (ptrdiff_t)(0 - (size_t)level.source);
    }
    unsigned i = box->level_count++;
    for (; i > 0 && box->levels[i - 1].dest > level.dest; i--)
        box->levels[i] = box->levels[i - 1];
    box->levels[i] = level;
}

static bool continues(ptrdiff_t inner_stride, size_t inner_count, ptrdiff_t outer_stride)
{
    ptrdiff_t next;
    return !__builtin_mul_overflow(inner_stride, inner_count, &next) && next == outer_stride;
}

static void box_merge(vis_box *box)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < box->level_count; i++) {
        const vis_level level = box->levels[i];
        vis_level *last = kept > 0 ? &box->levels[kept - 1] : NULL;
        if (last == NULL && continues(1, box->run_len, level.dest) &&
            continues(1, box->run_len, level.source))
            box->run_len *= level.count;
        else if (last != NULL && continues(last->dest, last->count, level.dest) &&
                 continues(last->source, last->count, level.source))
            last->count *= level.count;
        else
            box->levels[kept++] = level;
    }
    box->level_count = kept;
}

bool vis_box_of(const pen_vis_call *call, pen_job *job, vis_box *box)
{
    size_t total = call->elem_len;
    for (size_t i = 0; i < call->levels; i++)
        if (call->counts[i] == 0)
            return false;
    if (total == 0)
        return false;
    box->dest = call->dest.base;
    box->source = call->source.base;
    box->run_len = total;
    box->level_count = 0;
    for (size_t i = 0; i < call->levels; i++) {
        size_t count = call->counts[i];
        if (count == 1)
            continue;
        if (__builtin_mul_overflow(total, count, &total) || total > PTRDIFF_MAX)
            pen_job_fatal(job,
                          "%s: the counts of %zu levels give more bytes than memory has; check the "
                          "counts",
                          call->name, call->levels);
        level_add(box, (vis_level){ call->dest.strides[i], call->source.strides[i], count });
    }
    box_merge(box);
    return true;
}

/* ---- copying --------------------------------------------------------------------------------- */

/* Runs of the same length on each side, two per round: a loop's overhead is as large as the copy of
 * a cache line. */
static inline __attribute__((always_inline)) void level_copy(const pen_copy_table *copies,
                                                             char *dest, const char *source,
                                                             const vis_level *level, size_t len)
{
    for (size_t pairs = level->count / 2; pairs > 0; pairs--) {
        pen_copy(copies, dest, source, len);
        pen_copy(copies, dest + level->dest, source + level->source, len);
        dest += 2 * level->dest;
        source += 2 * level->source;
    }
    if (level->count % 2 != 0)
        pen_copy(copies, dest, source, len);
}

/* Copies the innermost two levels. */
typedef struct plane {
    const pen_copy_table *copies;
    char *dest;
    const char *source;
    vis_level inner, outer;
} plane;

static inline __attribute__((always_inline)) void plane_copy(const void *ctx, size_t len)
{
    const plane *p = ctx;
    char *dest = p->dest;
    const char *source = p->source;
    const vis_level inner = p->inner;
    for (size_t row = p->outer.count; row > 0; row--) {
        level_copy(p->copies, dest, source, &inner, len);
        dest += p->outer.dest;
        source += p->outer.source;
    }
}

/* Copies the innermost level alone. */
static inline __attribute__((always_inline)) void line_copy(const void *ctx, size_t len)
{
    const plane *p = ctx;
    const vis_level inner = p->inner;
    level_copy(p->copies, p->dest, p->source, &inner, len);
}

/* Moves to the next position of the levels from `first` on; false: no position is left. */
static bool advance(const vis_box *box, unsigned first, size_t *index, size_t *dest_offset,
                    size_t *source_offset)
{
    for (unsigned i = first; i < box->level_count; i++) {
        const vis_level *level = &box->levels[i];
        *dest_offset += (size_t)level->dest;
        *source_offset += (size_t)level->source;
        if (++index[i] < level->count)
            return true;
        index[i] = 0;
        *dest_offset -= (size_t)level->dest * level->count;
        *source_offset -= (size_t)level->source * level->count;
    }
    return false;
}

static void planes_copy(const vis_box *box, plane p)
{
    size_t index[VIS_LEVELS_MAX];
    char *dest = p.dest;
    const char *source = p.source;
    size_t dest_offset = 0, source_offset = 0;
    memset(index, 0, box->level_count * sizeof *index);
    do {
        p.dest = at(dest, dest_offset);
        p.source = at(source, source_offset);
        vis_specialise(box->run_len, plane_copy, &p);
    } while (advance(box, 2, index, &dest_offset, &source_offset));
}

/* Finds the lowest address, and the length of the range, that the peer's side touches from base on;
 * false: the range fits no address space. */
static bool box_span(const vis_box *box, bool dest, uintptr_t *low_out, size_t *len_out)
{
    uintptr_t low = (uintptr_t)(dest ? box->dest : box->source);
    size_t span = box->run_len;
    for (unsigned i = 0; i < box->level_count; i++) {
        const vis_level *level = &box->levels[i];
        ptrdiff_t stride = dest ? level->dest : level->source;
        size_t way, step = stride < 0 ? 0 - (size_t)stride : (size_t)stride;
        if (__builtin_mul_overflow(step, level->count - 1, &way) ||
            __builtin_add_overflow(span, way, &span))
            return false;
        if (stride < 0)
            low -= way;
    }
    *low_out = low;
    *len_out = span;
    return true;
}

bool vis_box_copy(const pen_vis_call *call, const vis_box *box, const pen_reach_range *range)
{
    uintptr_t low;
    size_t len;
    if (!box_span(box, call->is_put, &low, &len) || !pen_reach_covers(range, (void *)low, len))
        return false;
    static const vis_level once = { 0, 0, 1 };
    plane p = { .copies = &call->team->job->copies,
                .dest = box->dest + vis_dest_delta(call, range),
                .source = box->source + vis_source_delta(call, range),
                .inner = box->level_count > 0 ? box->levels[0] : once,
                .outer = box->level_count > 1 ? box->levels[1] : once };
    if (pen_unlikely(box->level_count > 2))
        planes_copy(box, p);
    else
        vis_specialise(box->run_len, plane_copy, &p);
    return true;
}

#if defined(__x86_64__)
typedef long long wide __attribute__((vector_size(32), aligned(1), may_alias));

/* Copies lines of 64 bytes with half as many instructions as compilers use for the baseline
 * processor. */
static __attribute__((target("avx"))) void line_copy_64(const plane *p)
{
    char *dest = p->dest;
    const char *source = p->source;
    const ptrdiff_t dest_stride = p->inner.dest, source_stride = p->inner.source;
    for (size_t pairs = p->inner.count / 2; pairs > 0; pairs--) {
        const wide *from = (const wide *)source, *next = (const wide *)(source + source_stride);
        wide *to = (wide *)dest, *after = (wide *)(dest + dest_stride);
        to[0] = from[0];
        to[1] = from[1];
        after[0] = next[0];
        after[1] = next[1];
        dest += 2 * dest_stride;
        source += 2 * source_stride;
    }
    if (p->inner.count % 2 != 0)
        memcpy(dest, source, 64);
}

static bool line_copy_wide(const plane *p, size_t len)
{
    if (len != 64 || !__builtin_cpu_supports("avx"))
        return false;
    line_copy_64(p);
    return true;
}
#else
static bool line_copy_wide(const plane *p, size_t len)
{
    (void)p, (void)len;
    return false;
}
#endif

/* Finds the bytes from the first run to the end of the last; false: the side is no line with gaps.
 */
static inline bool line_span(size_t count, size_t len, size_t stride, size_t *span_out)
{
    return count != 0 && len != 0 && stride > len && stride <= PTRDIFF_MAX &&
           !__builtin_mul_overflow(stride, count - 1, span_out) &&
           !__builtin_add_overflow(*span_out, len, span_out);
}

bool vis_line_copy(const pen_vis_call *call)
{
    const pen_team_view *view = &call->team->view;
    const uint32_t i = call->rank - view->mapped_first;
    if (call->levels != 1 || i >= view->mapped_count)
        return false;
    const pen_reach_range range = { view->mapped[i].base, view->mapped[i].len,
                                    view->mapped[i].delta };
    const size_t count = call->counts[0], len = call->elem_len;
    const ptrdiff_t dest = call->dest.strides[0], source = call->source.strides[0];
    const size_t stride = (size_t)(call->is_put ? dest : source);
    size_t span;
    if (!line_span(count, len, stride, &span) ||
        !pen_reach_covers(&range, call->is_put ? call->dest.base : call->source.base, span))
        return false;
    const plane p = { .copies = &call->team->job->copies,
                      .dest = call->dest.base + vis_dest_delta(call, &range),
                      .source = call->source.base + vis_source_delta(call, &range),
                      .inner = { dest, source, count } };
    if (!line_copy_wide(&p, len))
        vis_specialise(len, line_copy, &p);
    return true;
}

/* ---- piece by piece -------------------------------------------------------------------------- */

bool vis_box_move(vis_mover *mover, const vis_box *box)
{
    size_t index[VIS_LEVELS_MAX] = { 0 };
    size_t dest_offset = 0, source_offset = 0;
    do {
        if (!vis_move(mover, at(box->dest, dest_offset), at(box->source, source_offset),
                      box->run_len))
            return false;
    } while (advance(box, 0, index, &dest_offset, &source_offset));
    return true;
}
