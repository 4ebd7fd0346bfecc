/* SPDX-License-Identifier: BSD-3-Clause */
/* vis_lists.c: scattered transfers by lists: vector and indexed, of GASNet-EX and GASNet-1. */
#include "vis.h"

#include <string.h>

enum { PIECES_MAX = 48, PIECE_GAP = 9 };

/* Pieces relative to a base, in the order of the transfer. */
typedef struct shape {
    unsigned count;
    size_t at[PIECES_MAX], len[PIECES_MAX];
    size_t extent; /* bytes from the base to the end of the last one */
} shape;

typedef struct lists { /* the same pieces as lists for the call */
    gex_Memvec_t pieces[PIECES_MAX];
    void *places[PIECES_MAX];
    size_t count, piece_len;
} lists;

/* Pieces of these lengths, apart from one another, in any order. */
static void shape_place(worker *w, shape *s)
{
    unsigned order[PIECES_MAX];
    for (unsigned i = 0; i < s->count; i++)
        order[i] = i;
    for (unsigned i = s->count; i > 1; i--) {
        unsigned other = random_below(&w->random, i), mine = order[i - 1];
        order[i - 1] = order[other];
        order[other] = mine;
    }
    s->extent = 0;
    for (unsigned i = 0; i < s->count; i++) {
        s->at[order[i]] = s->extent + random_below(&w->random, PIECE_GAP);
        s->extent = s->at[order[i]] + s->len[order[i]];
    }
}

/* total bytes in up to PIECES_MAX pieces, some of them empty. */
static void shape_cut(worker *w, shape *s, size_t total)
{
    const unsigned few = random_chance(&w->random, 2) ? 6 : PIECES_MAX;
    s->count = 1 + random_below(&w->random, few);
    size_t left = total;
    for (unsigned i = 0; i + 1 < s->count; i++) {
        s->len[i] = random_below(&w->random, (uint32_t)(2 * left / (s->count - i)) + 1);
        if (s->len[i] > left)
            s->len[i] = left;
        left -= s->len[i];
    }
    s->len[s->count - 1] = left;
    shape_place(w, s);
}

static void shape_equal(worker *w, shape *s, unsigned count, size_t len)
{
    s->count = count;
    for (unsigned i = 0; i < count; i++)
        s->len[i] = len;
    shape_place(w, s);
}

static void lists_of(lists *l, const shape *s, unsigned char *base)
{
    l->count = s->count;
    l->piece_len = s->len[0];
    for (unsigned i = 0; i < s->count; i++) {
        l->places[i] = base + s->at[i];
        l->pieces[i] = (gex_Memvec_t){ base + s->at[i], s->len[i] };
    }
}

/* Applies the transfer to the model. */
static void copy_shape(unsigned char *to, const shape *t, const unsigned char *from, const shape *f)
{
    unsigned i = 0, k = 0;
    size_t i_at = 0, k_at = 0;
    while (i < t->count && k < f->count) {
        size_t i_left = t->len[i] - i_at, k_left = f->len[k] - k_at;
        size_t len = i_left < k_left ? i_left : k_left;
        memcpy(to + t->at[i] + i_at, from + f->at[k] + k_at, len);
        i_at += len;
        k_at += len;
        if (i_at == t->len[i]) {
            i++;
            i_at = 0;
        }
        if (k_at == f->len[k]) {
            k++;
            k_at = 0;
        }
    }
}

/* Makes both sides of the call, and its effect on the model. */
static void sides_prepare(worker *w, vis_call *call, const shape *there, const shape *here)
{
    if (call->is_put) {
        vis_put_memory(w, call, there->extent, here->extent);
        copy_shape(call->model, there, call->pool, here);
        vis_tell(w, call, there->extent);
        return;
    }
    const unsigned char *bytes;
    call->there = readable(w, call->target, there->extent, &bytes);
    vis_get_memory(w, call, here->extent);
    copy_shape(call->expected, here, bytes, there);
}

/* ---- vector ---------------------------------------------------------------------------------- */

static gex_Event_t vector_put(const vis_call *c, const lists *to, const lists *from)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    int status = 0;
    do {
        if (c->form == VIS_BLOCKING)
            status = gex_VIS_VectorPutBlocking(c->team, c->rank, to->count, to->pieces, from->count,
                                               from->pieces, c->flags);
        else if (c->form == VIS_NBI)
            status = gex_VIS_VectorPutNBI(c->team, c->rank, to->count, to->pieces, from->count,
                                          from->pieces, c->flags);
        else
            event = gex_VIS_VectorPutNB(c->team, c->rank, to->count, to->pieces, from->count,
                                        from->pieces, c->flags);
    } while (vis_refused(c, status, event));
    return event;
}

static gex_Event_t vector_get(const vis_call *c, const lists *to, const lists *from)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    int status = 0;
    do {
        if (c->form == VIS_BLOCKING)
            status = gex_VIS_VectorGetBlocking(c->team, to->count, to->pieces, c->rank, from->count,
                                               from->pieces, c->flags);
        else if (c->form == VIS_NBI)
            status = gex_VIS_VectorGetNBI(c->team, to->count, to->pieces, c->rank, from->count,
                                          from->pieces, c->flags);
        else
            event = gex_VIS_VectorGetNB(c->team, to->count, to->pieces, c->rank, from->count,
                                        from->pieces, c->flags);
    } while (vis_refused(c, status, event));
    return event;
}

static void legacy_pieces(gasnet_memvec_t *to, const lists *from)
{
    for (size_t i = 0; i < from->count; i++)
        to[i] = (gasnet_memvec_t){ from->pieces[i].gex_addr, from->pieces[i].gex_len };
}

static gex_Event_t vector_legacy(const vis_call *c, const lists *to, const lists *from)
{
    gasnet_memvec_t t[PIECES_MAX], f[PIECES_MAX];
    legacy_pieces(t, to);
    legacy_pieces(f, from);
    if (c->is_put && c->form == VIS_BLOCKING)
        gasnet_putv_bulk(c->target, to->count, t, from->count, f);
    else if (c->is_put && c->form == VIS_NBI)
        gasnet_putv_nbi_bulk(c->target, to->count, t, from->count, f);
    else if (c->is_put)
        return gasnet_putv_nb_bulk(c->target, to->count, t, from->count, f);
    else if (c->form == VIS_BLOCKING)
        gasnet_getv_bulk(to->count, t, c->target, from->count, f);
    else if (c->form == VIS_NBI)
        gasnet_getv_nbi_bulk(to->count, t, c->target, from->count, f);
    else
        return gasnet_getv_nb_bulk(to->count, t, c->target, from->count, f);
    return GEX_EVENT_INVALID;
}

static void vis_vector_one(worker *w, const burst *b, bool legacy)
{
    size_t len = random_len(&w->random, b->octave);
    vis_call call = vis_begin(w, b, legacy, len);
    shape there = { 0 }, here = { 0 };
    lists there_lists, here_lists;
    shape_cut(w, &there, len);
    shape_cut(w, &here, len);
    sides_prepare(w, &call, &there, &here);
    lists_of(&there_lists, &there, call.there);
    lists_of(&here_lists, &here, call.here);
    const lists *to = call.is_put ? &there_lists : &here_lists;
    const lists *from = call.is_put ? &here_lists : &there_lists;
    gex_Event_t event = legacy        ? vector_legacy(&call, to, from)
                        : call.is_put ? vector_put(&call, to, from)
                                      : vector_get(&call, to, from);
    vis_end(w, &call, event);
}

/* ---- indexed --------------------------------------------------------------------------------- */

static gex_Event_t indexed_put(const vis_call *c, const lists *to, const lists *from)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    int status = 0;
    do {
        if (c->form == VIS_BLOCKING)
            status =
                gex_VIS_IndexedPutBlocking(c->team, c->rank, to->count, to->places, to->piece_len,
                                           from->count, from->places, from->piece_len, c->flags);
        else if (c->form == VIS_NBI)
            status = gex_VIS_IndexedPutNBI(c->team, c->rank, to->count, to->places, to->piece_len,
                                           from->count, from->places, from->piece_len, c->flags);
        else
            event = gex_VIS_IndexedPutNB(c->team, c->rank, to->count, to->places, to->piece_len,
                                         from->count, from->places, from->piece_len, c->flags);
    } while (vis_refused(c, status, event));
    return event;
}

static gex_Event_t indexed_get(const vis_call *c, const lists *to, const lists *from)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    int status = 0;
    do {
        if (c->form == VIS_BLOCKING)
            status =
                gex_VIS_IndexedGetBlocking(c->team, to->count, to->places, to->piece_len, c->rank,
                                           from->count, from->places, from->piece_len, c->flags);
        else if (c->form == VIS_NBI)
            status = gex_VIS_IndexedGetNBI(c->team, to->count, to->places, to->piece_len, c->rank,
                                           from->count, from->places, from->piece_len, c->flags);
        else
            event = gex_VIS_IndexedGetNB(c->team, to->count, to->places, to->piece_len, c->rank,
                                         from->count, from->places, from->piece_len, c->flags);
    } while (vis_refused(c, status, event));
    return event;
}

static gex_Event_t indexed_legacy(const vis_call *c, const lists *to, const lists *from)
{
    const size_t tc = to->count, tl = to->piece_len, fc = from->count, fl = from->piece_len;
    void *const *t = to->places, *const *f = from->places;
    if (c->is_put && c->form == VIS_BLOCKING)
        gasnet_puti_bulk(c->target, tc, t, tl, fc, f, fl);
    else if (c->is_put && c->form == VIS_NBI)
        gasnet_puti_nbi_bulk(c->target, tc, t, tl, fc, f, fl);
    else if (c->is_put)
        return gasnet_puti_nb_bulk(c->target, tc, t, tl, fc, f, fl);
    else if (c->form == VIS_BLOCKING)
        gasnet_geti_bulk(tc, t, tl, c->target, fc, f, fl);
    else if (c->form == VIS_NBI)
        gasnet_geti_nbi_bulk(tc, t, tl, c->target, fc, f, fl);
    else
        return gasnet_geti_nb_bulk(tc, t, tl, c->target, fc, f, fl);
    return GEX_EVENT_INVALID;
}

/* Draws pieces of one length on each side: k pieces of one side are as long as one of the opposite
 * side. */
static size_t indexed_shapes(worker *w, const burst *b, shape *there, shape *here)
{
    unsigned large = 1 + random_below(&w->random, 6), k = 1 + random_below(&w->random, 8);
    size_t small_len = random_len(&w->random, b->octave) / (large * k);
    if (small_len == 0)
        small_len = 1;
    if (b->octave < 6) /* limits the bytes */
        large = k = 1;
    bool swap = random_chance(&w->random, 2);
    shape_equal(w, swap ? there : here, large, small_len * k);
    shape_equal(w, swap ? here : there, large * k, small_len);
    return small_len * k * large;
}

static void vis_indexed_one(worker *w, const burst *b, bool legacy)
{
    shape there = { 0 }, here = { 0 };
    lists there_lists, here_lists;
    size_t len = indexed_shapes(w, b, &there, &here);
    vis_call call = vis_begin(w, b, legacy, len);
    sides_prepare(w, &call, &there, &here);
    lists_of(&there_lists, &there, call.there);
    lists_of(&here_lists, &here, call.here);
    const lists *to = call.is_put ? &there_lists : &here_lists;
    const lists *from = call.is_put ? &here_lists : &there_lists;
    gex_Event_t event = legacy        ? indexed_legacy(&call, to, from)
                        : call.is_put ? indexed_put(&call, to, from)
                                      : indexed_get(&call, to, from);
    vis_end(w, &call, event);
}

/* ---- bursts ---------------------------------------------------------------------------------- */

typedef void (*one_fn)(worker *w, const burst *b, bool legacy);

static void run(worker *w, unsigned most, bool legacy, one_fn one)
{
    enum { SLACK = PIECES_MAX * PIECE_GAP, FACTOR = 2 };
    burst b = burst_begin(w, most, FACTOR + 1);
    size_t longest = ((size_t)2 << b.octave) + SLACK;
    if (w->desk_used + b.count * (FACTOR * longest + 4 * GUARD_LEN) > DESK_LEN)
        pending_finish_all(w);
    stripe_reserve(w, b.target, b.count * longest, b.count);
    for (unsigned i = 0; i < b.count; i++)
        one(w, &b, legacy);
}

void vis_vector(worker *w, unsigned most) { run(w, most, false, vis_vector_one); }
void vis_indexed(worker *w, unsigned most) { run(w, most, false, vis_indexed_one); }
void vis_legacy_lists(worker *w, unsigned most)
{
    run(w, most, true, random_chance(&w->random, 2) ? vis_vector_one : vis_indexed_one);
}
