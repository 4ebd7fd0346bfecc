/* SPDX-License-Identifier: BSD-3-Clause */
/* shapes.h: random transfers in pieces, and a second opinion on which byte goes where: each side is
 * written out byte by byte. Included by one test program. */
#ifndef PEN_TESTS_UNIT_VIS_SHAPES_H
#define PEN_TESTS_UNIT_VIS_SHAPES_H

#include "vis/vis.h"

#include "support/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { AREA_LEN = 5000, TOTAL_MAX = 1200, PIECES_MAX = 2 * TOTAL_MAX + 8, SHAPE_LEVELS_MAX = 5 };

/* One side: what the library is told, and where its bytes are in the area. */
typedef struct shape_side {
    gex_Memvec_t vector[PIECES_MAX];
    void *list[PIECES_MAX];
    size_t count, len;
    ptrdiff_t strides[SHAPE_LEVELS_MAX];
    size_t base;               /* in the area */
    size_t offsets[TOTAL_MAX]; /* offset of each byte in the area */
} shape_side;

typedef struct shape {
    pen_vis_shape kind;
    size_t total, elem_len, counts[SHAPE_LEVELS_MAX], levels;
    shape_side dest, source;
} shape;

static size_t pick(ranks *world, size_t below) { return ranks_random(world, (uint32_t)below); }

static size_t pick_len(ranks *world)
{
    static const size_t lens[] = { 1, 2, 3, 4, 7, 8, 16, 24, 32, 64, 100 };
    return lens[pick(world, sizeof lens / sizeof lens[0])];
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Gives pieces their places: those of a destination apart, in any order; of a source anywhere. */
static void place_pieces(ranks *world, shape_side *side, char *area, bool apart)
{
    size_t used = 0, order[PIECES_MAX], byte_i = 0;
    for (size_t i = 0; i < side->count; i++) {
        size_t other = pick(world, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (size_t i = 0; i < side->count; i++) {
        gex_Memvec_t *piece = &side->vector[order[i]];
        size_t gap = pick(world, 3) == 0 ? pick(world, 3) : 0;
        size_t at = apart ? used + gap : pick(world, AREA_LEN - piece->gex_len);
        piece->gex_addr = area + at;
        used = at + piece->gex_len;
    }
    for (size_t i = 0; i < side->count; i++) {
        side->list[i] = side->vector[i].gex_addr;
        for (size_t k = 0; k < side->vector[i].gex_len; k++)
            side->offsets[byte_i++] = (size_t)((char *)side->list[i] - area) + k;
    }
}

static void cut_vector(ranks *world, shape_side *side, size_t total)
{
    side->count = 0;
    for (size_t left = total; left > 0 || pick(world, 2) == 0;) {
        size_t len = pick(world, 4) == 0 ? 0 : pick_len(world);
        len = len < left ? len : left;
        side->vector[side->count++].gex_len = len;
        left -= len;
    }
}

static void cut_even(shape_side *side, size_t count, size_t len)
{
    side->count = count;
    side->len = len;
    for (size_t i = 0; i < count; i++)
        side->vector[i].gex_len = len;
}

static void random_indexed(ranks *world, shape *s)
{
    size_t unit = pick_len(world), a = 1 + pick(world, 4), b = 1 + pick(world, 3);
    s->total = unit * a * b;
    switch (pick(world, 5)) {
    case 0: /* gather */
        cut_even(&s->dest, 1, s->total);
        cut_even(&s->source, a * b, unit);
        break;
    case 1: /* scatter */
        cut_even(&s->dest, a * b, unit);
        cut_even(&s->source, 1, s->total);
        break;
    case 2:
        cut_even(&s->dest, a * b, unit);
        cut_even(&s->source, a * b, unit);
        break;
    case 3: /* pieces without bytes */
        s->total = 0;
        cut_even(&s->dest, a, 0);
        cut_even(&s->source, 0, b);
        break;
    default:
        cut_even(&s->dest, a, unit * b);
        cut_even(&s->source, b, unit * a);
    }
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Strides of a destination nest in any order of levels, of either sign; those of a source may be
 * anything that stays within the area. */
static void stride_side(ranks *world, const shape *s, shape_side *side, bool apart)
{
    size_t extent = s->elem_len, low = 0, high = s->elem_len, order[SHAPE_LEVELS_MAX];
    for (size_t i = 0; i < s->levels; i++) {
        size_t other = pick(world, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (size_t k = 0; k < s->levels; k++) {
        size_t i = order[k];
        size_t stride = extent + (pick(world, 3) == 0 ? pick(world, 5) : 0);
        size_t way = s->counts[i] > 0 ? stride * (s->counts[i] - 1) : 0;
        if (!apart && pick(world, 4) == 0)
            stride = way = 0;
        bool down = pick(world, 3) == 0;
        side->strides[i] = down ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
        low += down ? way : 0;
        high += down ? 0 : way;
        extent = low + high;
    }
    side->base = low + pick(world, 64);
}

static void write_out(const shape *s, shape_side *side)
{
    size_t elems = s->elem_len == 0 ? 0 : s->total / s->elem_len;
    for (size_t e = 0; e < elems; e++) {
        size_t rest = e, at = side->base;
        for (size_t i = 0; i < s->levels; i++) {
            at += (rest % s->counts[i]) * (size_t)side->strides[i];
            rest /= s->counts[i];
        }
        for (size_t k = 0; k < s->elem_len; k++)
            side->offsets[e * s->elem_len + k] = at + k;
    }
}

static void random_strided(ranks *world, shape *s)
{
    s->elem_len = pick(world, 20) == 0 ? 0 : pick_len(world);
    s->total = s->elem_len;
    s->levels = 0;
    for (size_t levels = pick(world, SHAPE_LEVELS_MAX + 1); levels > 0; levels--) {
        size_t count = pick(world, 40) == 0 ? 0 : 1 + pick(world, 5);
        if (s->total * count > TOTAL_MAX)
            break;
        s->total *= count;
        s->counts[s->levels++] = count;
    }
    stride_side(world, s, &s->dest, true);
    stride_side(world, s, &s->source, false);
    write_out(s, &s->dest);
    write_out(s, &s->source);
}

static void random_shape(ranks *world, shape *s, char *dest_area, char *source_area)
{
    memset(s, 0, sizeof *s);
    s->kind = (pen_vis_shape)pick(world, 3);
    if (s->kind == PEN_VIS_STRIDED) {
        random_strided(world, s);
        return;
    }
    if (s->kind == PEN_VIS_INDEXED) {
        random_indexed(world, s);
    } else {
        s->total = pick(world, 10) == 0 ? 0 : pick(world, TOTAL_MAX);
        cut_vector(world, &s->dest, s->total);
        cut_vector(world, &s->source, s->total);
    }
    place_pieces(world, &s->dest, dest_area, true);
    place_pieces(world, &s->source, source_area, false);
}

/* The transfer, as the library is told of it. */
static pen_vis_call shape_call(const shape *s, const char *dest_area, const char *source_area)
{
    pen_vis_call call = { .name = "test", .shape = s->kind };
    switch (s->kind) {
    case PEN_VIS_VECTOR:
        call.dest = (pen_vis_side){ .vector = s->dest.vector, .count = s->dest.count };
        call.source = (pen_vis_side){ .vector = s->source.vector, .count = s->source.count };
        break;
    case PEN_VIS_INDEXED:
        call.dest =
            (pen_vis_side){ .list = s->dest.list, .count = s->dest.count, .len = s->dest.len };
        call.source = (pen_vis_side){ .list = s->source.list,
                                      .count = s->source.count,
                                      .len = s->source.len };
        break;
    default:
        call.dest = (pen_vis_side){ .base = (char *)(uintptr_t)(dest_area + s->dest.base),
                                    .strides = s->dest.strides };
        call.source = (pen_vis_side){ .base = (char *)(uintptr_t)(source_area + s->source.base),
                                      .strides = s->source.strides };
        call.elem_len = s->elem_len;
        call.counts = s->counts;
        call.levels = s->levels;
    }
    return call;
}

/* The effect of the transfer on the areas. */
static void shape_apply(const shape *s, char *dest_area, const char *source_area)
{
    for (size_t i = 0; i < s->total; i++)
        dest_area[s->dest.offsets[i]] = source_area[s->source.offsets[i]];
}

#endif
