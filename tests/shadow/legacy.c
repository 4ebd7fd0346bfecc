/* SPDX-License-Identifier: BSD-3-Clause */
/* legacy.c: put, get and fill of GASNet-1. */
#include "shadow.h"

#include <string.h>

typedef struct transfer {
    stripe *stripe;
    void *there, *here;
    unsigned char *scribble;
    const unsigned char *expected;
    size_t len;
} transfer;

enum { PUT_FORMS = 12, PUT_VALUES = 6, PUT_FILLS = 9, GET_FORMS = 8, GET_VALUES = 6 };

static pending *put_pending(worker *w, pending_how how, const transfer *t)
{
    pending *wait = pending_add(w, how);
    wait->own_thread = true;
    wait->written = t->stripe;
    wait->at = (size_t)((unsigned char *)t->there - t->stripe->there);
    wait->at_len = t->len;
    wait->source = t->scribble;
    wait->source_len = t->len;
    wait->category = GEX_EC_PUT;
    return wait;
}

/* A handle of 0 stands for an operation that is done. */
static void put_began(worker *w, const transfer *t, gasnet_handle_t handle)
{
    pending *wait = put_pending(w, BY_EVENT, t);
    wait->event = handle;
    if (handle == GASNET_INVALID_HANDLE)
        pending_done(w, wait);
}

static void put_is_done(const transfer *t)
{
    if (t->scribble != NULL)
        scribble(t->scribble, t->len);
    stripe_settled(t->stripe);
}

/* Calls after which the source may be changed at once. */
static void source_is_free(transfer *t)
{
    if (t->scribble != NULL)
        scribble(t->scribble, t->len);
    t->scribble = NULL;
}

static void put_bytes(worker *w, gex_Rank_t target, transfer *t, unsigned form)
{
    gasnet_handle_t handle;
    switch (form) {
    case 0:
        gasnet_put(target, t->there, t->here, t->len);
        put_is_done(t);
        return;
    case 1:
        gasnet_put_bulk(target, t->there, t->here, t->len);
        put_is_done(t);
        return;
    case 2:
        handle = gasnet_put_nb(target, t->there, t->here, t->len);
        source_is_free(t);
        put_began(w, t, handle);
        return;
    case 3:
        put_began(w, t, gasnet_put_nb_bulk(target, t->there, t->here, t->len));
        return;
    case 4:
        gasnet_put_nbi(target, t->there, t->here, t->len);
        source_is_free(t);
        break;
    default:
        gasnet_put_nbi_bulk(target, t->there, t->here, t->len);
    }
    (void)put_pending(w, BY_NBI, t);
}

static void put_value(worker *w, gex_Rank_t target, transfer *t, unsigned form)
{
    gasnet_register_value_t value = 0;
    memcpy(&value, t->here, t->len);
    source_is_free(t);
    if (form == 0) {
        gasnet_put_val(target, t->there, value, t->len);
        put_is_done(t);
    } else if (form == 1) {
        put_began(w, t, gasnet_put_nb_val(target, t->there, value, t->len));
    } else {
        gasnet_put_nbi_val(target, t->there, value, t->len);
        (void)put_pending(w, BY_NBI, t);
    }
}

static void put_fill(worker *w, gex_Rank_t target, transfer *t, int value, unsigned form)
{
    t->scribble = NULL;
    if (form == 0) {
        gasnet_memset(target, t->there, value, t->len);
        put_is_done(t);
    } else if (form == 1) {
        put_began(w, t, gasnet_memset_nb(target, t->there, value, t->len));
    } else {
        gasnet_memset_nbi(target, t->there, value, t->len);
        (void)put_pending(w, BY_NBI, t);
    }
}

static void put_one(worker *w, const burst *b, unsigned form)
{
    size_t len = random_len(&w->random, b->octave);
    stripe *s = stripe_for(w, b->target);
    op_begin(w, b->target, len);
    transfer t = { .stripe = s, .len = len };
    t.here = (void *)(uintptr_t)source_draw(w, len, &t.scribble);
    size_t at = stripe_take(w, s, len);
    t.there = s->there + at;
    if (form < PUT_FILLS)
        memcpy(s->model + at, t.here, len);
    else
        memset(s->model + at, *(unsigned char *)t.here, len);
    if (form < PUT_VALUES)
        put_bytes(w, b->target, &t, form);
    else if (form < PUT_FILLS)
        put_value(w, b->target, &t, form - PUT_VALUES);
    else
        put_fill(w, b->target, &t, *(unsigned char *)t.here, form - PUT_FILLS);
}

void legacy_put(worker *w, unsigned most)
{
    unsigned form = random_below(&w->random, PUT_FORMS);
    bool by_value = form >= PUT_VALUES && form < PUT_FILLS;
    burst b = burst_of(w, most, 1, random_below(&w->random, by_value ? 3 : OCTAVES));
    stripe_reserve(w, b.target, b.count * ((size_t)2 << b.octave), b.count);
    for (unsigned i = 0; i < b.count; i++)
        put_one(w, &b, form);
}

/* ---- gets ------------------------------------------------------------------------------------ */

static void get_value(worker *w, gex_Rank_t target, const transfer *t, unsigned form)
{
    gasnet_register_value_t expected = 0, found;
    memcpy(&expected, t->expected, t->len);
    if (form == 0)
        found = gasnet_get_val(target, t->there, t->len);
    else
        found = gasnet_wait_syncnb_valget(gasnet_get_nb_val(target, t->there, t->len));
    compare(w, w->op, "an integer that was got", &found, &expected, sizeof found);
    op_checked(w, 1);
}

static pending *get_pending(worker *w, pending_how how, const transfer *t)
{
    pending *wait = pending_add(w, how);
    wait->own_thread = true;
    wait->expected = t->expected;
    wait->found = t->here;
    wait->len = t->len;
    wait->category = GEX_EC_GET;
    return wait;
}

static void get_bytes(worker *w, gex_Rank_t target, const transfer *t, unsigned form)
{
    static const pending_how hows[] = {
        BY_NOTHING, BY_NOTHING, BY_EVENT, BY_EVENT, BY_NBI, BY_NBI
    };
    pending *wait = get_pending(w, hows[form], t);
    switch (form) {
    case 0:
        gasnet_get(t->here, target, t->there, t->len);
        break;
    case 1:
        gasnet_get_bulk(t->here, target, t->there, t->len);
        break;
    case 2:
        wait->event = gasnet_get_nb(t->here, target, t->there, t->len);
        break;
    case 3:
        wait->event = gasnet_get_nb_bulk(t->here, target, t->there, t->len);
        break;
    case 4:
        gasnet_get_nbi(t->here, target, t->there, t->len);
        break;
    default:
        gasnet_get_nbi_bulk(t->here, target, t->there, t->len);
    }
    if (hows[form] != BY_NBI && wait->event == GASNET_INVALID_HANDLE)
        pending_done(w, wait);
}

void legacy_get(worker *w, unsigned most)
{
    unsigned form = random_below(&w->random, GET_FORMS);
    bool by_value = form >= GET_VALUES;
    burst b = burst_of(w, most, 1, random_below(&w->random, by_value ? 3 : OCTAVES));
    for (unsigned i = 0; i < b.count; i++) {
        transfer t = { .len = random_len(&w->random, b.octave) };
        op_begin(w, b.target, t.len);
        t.there = readable(w, b.target, t.len, &t.expected);
        if (by_value) {
            get_value(w, b.target, &t, form - GET_VALUES);
            continue;
        }
        t.here = desk_take(w, t.len);
        get_bytes(w, b.target, &t, form);
    }
}
