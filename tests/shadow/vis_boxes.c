/* SPDX-License-Identifier: BSD-3-Clause */
/* vis_boxes.c: scattered transfers of boxes of elements: strides may be negative, and those of a
 * source zero; GASNet-1's are neither. */
#include "vis.h"

#include <string.h>

enum { LEVELS_MAX = 4, ELEMENTS_MAX = 2048, EXTENT_MAX = 1 << 20, OCTAVE_MAX = 19 };

typedef struct box_side {
    ptrdiff_t strides[LEVELS_MAX];
    size_t base;   /* the element whose indices are all 0 */
    size_t extent; /* bytes from the lowest to the end of the highest element */
} box_side;

typedef struct box {
    size_t elem_len, counts[LEVELS_MAX], levels;
    box_side there, here;
} box;

static void box_draw(worker *w, box *b, unsigned octave)
{
    size_t len = random_len(&w->random, octave);
    b->levels = random_below(&w->random, LEVELS_MAX + 1);
    b->elem_len = random_len(&w->random, random_below(&w->random, octave + 1));
    size_t left = len / b->elem_len;
    left = left < 1 ? 1 : left > ELEMENTS_MAX ? ELEMENTS_MAX : left;
    for (size_t i = 0; i < b->levels; i++) {
        uint32_t most = (uint32_t)(i + 1 == b->levels || left < 16 ? left : 16);
        b->counts[i] = 1 + random_below(&w->random, most);
        left /= b->counts[i];
        left = left < 1 ? 1 : left;
    }
}

static size_t box_len(const box *b)
{
    size_t len = b->elem_len;
    for (size_t i = 0; i < b->levels; i++)
        len *= b->counts[i];
    return len;
}

/* The permitted properties of a side. */
typedef struct side_rule {
    bool negative, zero;
} side_rule;

/* Puts levels one inside the other in any order, with gaps while there is room. */
static void side_draw(worker *w, const box *b, box_side *s, side_rule rule)
{
    size_t rest = box_len(b) / b->elem_len, innermost = random_below(&w->random, LEVELS_MAX);
    s->extent = b->elem_len;
    s->base = 0;
    for (size_t k = 0; k < b->levels; k++) {
        size_t i = (k + innermost) % b->levels, count = b->counts[i];
        size_t stride = s->extent + random_below(&w->random, 1 + (uint32_t)(s->extent / 2));
        if (stride * rest > EXTENT_MAX || random_chance(&w->random, 4))
            stride = s->extent;
        rest /= count;
        if (rule.zero && random_chance(&w->random, 16)) {
            s->strides[i] = 0;
            continue;
        }
        bool negative = rule.negative && random_chance(&w->random, 3);
        s->strides[i] = negative ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
        s->base += negative ? stride * (count - 1) : 0;
        s->extent += stride * (count - 1);
    }
}

/* Applies the transfer to the model. */
static void copy_box(const box *b, unsigned char *to, const box_side *t, const unsigned char *from,
                     const box_side *f)
{
    size_t elements = box_len(b) / b->elem_len;
    for (size_t e = 0; e < elements; e++) {
        ptrdiff_t to_at = (ptrdiff_t)t->base, from_at = (ptrdiff_t)f->base;
        size_t rest = e;
        for (size_t i = 0; i < b->levels; i++) {
            to_at += (ptrdiff_t)(rest % b->counts[i]) * t->strides[i];
            from_at += (ptrdiff_t)(rest % b->counts[i]) * f->strides[i];
            rest /= b->counts[i];
        }
        memcpy(to + to_at, from + from_at, b->elem_len);
    }
}

static gex_Event_t box_put(const vis_call *c, const box *b)
{
    void *to = c->there + b->there.base;
    const void *from = c->here + b->here.base;
    const ptrdiff_t *ts = b->there.strides, *fs = b->here.strides;
    gex_Event_t event = GEX_EVENT_INVALID;
    int status = 0;
    do {
        if (c->form == VIS_BLOCKING)
            status = gex_VIS_StridedPutBlocking(c->team, c->rank, to, ts, from, fs, b->elem_len,
                                                b->counts, b->levels, c->flags);
        else if (c->form == VIS_NBI)
            status = gex_VIS_StridedPutNBI(c->team, c->rank, to, ts, from, fs, b->elem_len,
                                           b->counts, b->levels, c->flags);
        else
            event = gex_VIS_StridedPutNB(c->team, c->rank, to, ts, from, fs, b->elem_len, b->counts,
                                         b->levels, c->flags);
    } while (vis_refused(c, status, event));
    return event;
}

static gex_Event_t box_get(const vis_call *c, const box *b)
{
    void *from = c->there + b->there.base, *to = c->here + b->here.base;
    const ptrdiff_t *ts = b->here.strides, *fs = b->there.strides;
    gex_Event_t event = GEX_EVENT_INVALID;
    int status = 0;
    do {
        if (c->form == VIS_BLOCKING)
            status = gex_VIS_StridedGetBlocking(c->team, to, ts, c->rank, from, fs, b->elem_len,
                                                b->counts, b->levels, c->flags);
        else if (c->form == VIS_NBI)
            status = gex_VIS_StridedGetNBI(c->team, to, ts, c->rank, from, fs, b->elem_len,
                                           b->counts, b->levels, c->flags);
        else
            event = gex_VIS_StridedGetNB(c->team, to, ts, c->rank, from, fs, b->elem_len, b->counts,
                                         b->levels, c->flags);
    } while (vis_refused(c, status, event));
    return event;
}

/* GASNet-1: the length of an element is the first of the counts. */
static gex_Event_t box_legacy(const vis_call *c, const box *b)
{
    size_t counts[LEVELS_MAX + 1] = { b->elem_len }, here[LEVELS_MAX] = { 0 };
    size_t there[LEVELS_MAX] = { 0 };
    void *remote = c->there + b->there.base, *local = c->here + b->here.base;
    for (size_t i = 0; i < b->levels; i++) {
        counts[i + 1] = b->counts[i];
        here[i] = (size_t)b->here.strides[i];
        there[i] = (size_t)b->there.strides[i];
    }
    if (c->is_put && c->form == VIS_BLOCKING)
        gasnet_puts_bulk(c->target, remote, there, local, here, counts, b->levels);
    else if (c->is_put && c->form == VIS_NBI)
        gasnet_puts_nbi_bulk(c->target, remote, there, local, here, counts, b->levels);
    else if (c->is_put)
        return gasnet_puts_nb_bulk(c->target, remote, there, local, here, counts, b->levels);
    else if (c->form == VIS_BLOCKING)
        gasnet_gets_bulk(local, here, c->target, remote, there, counts, b->levels);
    else if (c->form == VIS_NBI)
        gasnet_gets_nbi_bulk(local, here, c->target, remote, there, counts, b->levels);
    else
        return gasnet_gets_nb_bulk(local, here, c->target, remote, there, counts, b->levels);
    return GEX_EVENT_INVALID;
}

static void box_one(worker *w, const burst *burst_, bool legacy)
{
    box b = { 0 };
    box_draw(w, &b, burst_->octave);
    vis_call call = vis_begin(w, burst_, legacy, box_len(&b));
    side_draw(w, &b, &b.there, (side_rule){ !legacy, !legacy && !call.is_put });
    side_draw(w, &b, &b.here, (side_rule){ !legacy, !legacy && call.is_put });
    if (call.is_put) {
        vis_put_memory(w, &call, b.there.extent, b.here.extent);
        copy_box(&b, call.model, &b.there, call.pool, &b.here);
        vis_tell(w, &call, b.there.extent);
    } else {
        const unsigned char *bytes;
        call.there = readable(w, call.target, b.there.extent, &bytes);
        vis_get_memory(w, &call, b.here.extent);
        copy_box(&b, call.expected, &b.here, bytes, &b.there);
    }
    gex_Event_t event = legacy        ? box_legacy(&call, &b)
                        : call.is_put ? box_put(&call, &b)
                                      : box_get(&call, &b);
    vis_end(w, &call, event);
}

/* An extent is at most EXTENT_MAX, and at most five times the length: the worst of four levels. */
static void run(worker *w, unsigned most, bool legacy)
{
    burst b = burst_of(w, most, 1, random_below(&w->random, OCTAVE_MAX));
    size_t longest = (size_t)11 << b.octave;
    if (longest > EXTENT_MAX)
        longest = EXTENT_MAX;
    while (b.count > 1 && b.count * longest > STRIPE_LEN / 2)
        b.count /= 2;
    if (w->desk_used + b.count * (2 * longest + 8 * GUARD_LEN) > DESK_LEN)
        pending_finish_all(w);
    stripe_reserve(w, b.target, b.count * longest, b.count);
    for (unsigned i = 0; i < b.count; i++)
        box_one(w, &b, legacy);
}

void vis_strided(worker *w, unsigned most) { run(w, most, false); }

void vis_legacy(worker *w, unsigned most)
{
    if (random_chance(&w->random, 3))
        run(w, most, true);
    else
        vis_legacy_lists(w, most);
}
