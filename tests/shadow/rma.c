/* SPDX-License-Identifier: BSD-3-Clause */
/* rma.c: put and get of GASNet-EX, in every form, and access regions. */
#include "shadow.h"

#include <string.h>

static gex_Flags_t draw_flags(worker *w)
{
    return random_chance(&w->random, 8) ? GEX_FLAG_IMMEDIATE : 0;
}

/* A put about to be made. The model is updated before the put is done, since no thread reads the
 * bytes meanwhile. */
typedef struct put {
    stripe *stripe;
    gex_TM_t team;
    gex_Rank_t rank;
    unsigned char *to, *scribble;
    const unsigned char *from;
    size_t len;
    gex_Flags_t flags;
} put;

static put put_draw(worker *w, const burst *b)
{
    size_t len = random_len(&w->random, b->octave);
    stripe *s = stripe_for(w, b->target);
    put p = { .stripe = s, .len = len };
    op_begin(w, b->target, len);
    p.from = source_draw(w, len, &p.scribble);
    size_t at = stripe_take(w, s, len);
    memcpy(s->model + at, p.from, len);
    p.to = s->there + at;
    p.team = draw_team(w, b->target, &p.rank);
    p.flags = draw_flags(w);
    return p;
}

static burst put_burst(worker *w, unsigned most)
{
    burst b = burst_begin(w, most, 1);
    stripe_reserve(w, b.target, b.count * ((size_t)2 << b.octave), b.count);
    return b;
}

static pending *put_pending(worker *w, pending_how how, const put *p)
{
    pending *wait = pending_add(w, how);
    wait->written = p->stripe;
    wait->at = (size_t)(p->to - p->stripe->there);
    wait->at_len = p->len;
    wait->source = p->scribble;
    wait->source_len = p->len;
    wait->category = GEX_EC_PUT;
    return wait;
}

void rma_put_blocking(worker *w, unsigned most)
{
    burst b = put_burst(w, most);
    for (unsigned i = 0; i < b.count; i++) {
        put p = put_draw(w, &b);
        for (unsigned polls = 0;
             gex_RMA_PutBlocking(p.team, p.rank, p.to, p.from, p.len, p.flags) != 0;)
            poll_once(&polls);
        if (p.scribble != NULL)
            scribble(p.scribble, p.len);
        stripe_settled(p.stripe);
    }
}

/* Marks the operation as done, or its source as free, on return. */
static void put_began(worker *w, pending *wait, gex_Event_t event, gex_Event_t leaf, bool is_free)
{
    wait->event = event;
    wait->leaf = leaf;
    if (is_free && wait->source != NULL) {
        scribble(wait->source, wait->source_len);
        wait->source = NULL;
    }
    if (event == GEX_EVENT_INVALID)
        pending_done(w, wait);
}

void rma_put_nb(worker *w, unsigned most)
{
    burst b = put_burst(w, most);
    for (unsigned i = 0; i < b.count; i++) {
        put p = put_draw(w, &b);
        pending *wait = put_pending(w, BY_EVENT, &p);
        gex_Event_t leaf = GEX_EVENT_INVALID, event;
        gex_Event_t *const forms[] = { GEX_EVENT_NOW, GEX_EVENT_DEFER, &leaf };
        const unsigned form = random_below(&w->random, 3);
        for (unsigned polls = 0; (event = gex_RMA_PutNB(p.team, p.rank, p.to, p.from, p.len,
                                                        forms[form], p.flags)) == GEX_EVENT_NO_OP;)
            poll_once(&polls);
        put_began(w, wait, event, leaf, form == 0 || (form == 2 && leaf == GEX_EVENT_INVALID));
    }
}

static void put_nbi(worker *w, const burst *b, pending_how how)
{
    static gex_Event_t *const forms[] = { GEX_EVENT_NOW, GEX_EVENT_DEFER, GEX_EVENT_GROUP };
    put p = put_draw(w, b);
    pending *wait = put_pending(w, how, &p);
    const unsigned form = random_below(&w->random, 3);
    for (unsigned polls = 0;
         gex_RMA_PutNBI(p.team, p.rank, p.to, p.from, p.len, forms[form], p.flags) != 0;)
        poll_once(&polls);
    wait->quick_source = form == 2;
    if (form == 0 && p.scribble != NULL) {
        scribble(p.scribble, p.len);
        wait->source = NULL;
    }
}

void rma_put_nbi(worker *w, unsigned most)
{
    burst b = put_burst(w, most);
    for (unsigned i = 0; i < b.count; i++)
        put_nbi(w, &b, BY_NBI);
}

void rma_put_value(worker *w, unsigned most)
{
    burst b = burst_of(w, most, 1, random_below(&w->random, 3));
    stripe_reserve(w, b.target, b.count * sizeof(gex_RMA_Value_t), b.count);
    for (unsigned i = 0; i < b.count; i++) {
        put p = put_draw(w, &b);
        gex_RMA_Value_t value = random_next(&w->random); /* its high bytes are ignored */
        memcpy(&value, p.from, p.len);
        p.scribble = NULL;
        const unsigned form = random_below(&w->random, 3);
        if (form == 0) {
            for (unsigned polls = 0;
                 gex_RMA_PutBlockingVal(p.team, p.rank, p.to, value, p.len, p.flags) != 0;)
                poll_once(&polls);
            stripe_settled(p.stripe);
        } else if (form == 1) {
            pending *wait = put_pending(w, BY_EVENT, &p);
            gex_Event_t event;
            for (unsigned polls = 0; (event = gex_RMA_PutNBVal(p.team, p.rank, p.to, value, p.len,
                                                               p.flags)) == GEX_EVENT_NO_OP;)
                poll_once(&polls);
            put_began(w, wait, event, GEX_EVENT_INVALID, false);
        } else {
            (void)put_pending(w, BY_NBI, &p);
            for (unsigned polls = 0;
                 gex_RMA_PutNBIVal(p.team, p.rank, p.to, value, p.len, p.flags) != 0;)
                poll_once(&polls);
        }
    }
}

/* ---- gets ------------------------------------------------------------------------------------ */

typedef struct get {
    gex_TM_t team;
    gex_Rank_t rank;
    unsigned char *from, *to;
    const unsigned char *expected;
    size_t len;
    gex_Flags_t flags;
} get;

static get get_draw(worker *w, const burst *b)
{
    get g = { .len = random_len(&w->random, b->octave) };
    op_begin(w, b->target, g.len);
    g.from = readable(w, b->target, g.len, &g.expected);
    g.to = desk_take(w, g.len);
    g.team = draw_team(w, b->target, &g.rank);
    g.flags = draw_flags(w);
    return g;
}

static pending *get_pending(worker *w, pending_how how, const get *g)
{
    pending *wait = pending_add(w, how);
    wait->expected = g->expected;
    wait->found = g->to;
    wait->len = g->len;
    wait->category = GEX_EC_GET;
    return wait;
}

void rma_get_blocking(worker *w, unsigned most)
{
    burst b = burst_begin(w, most, 1);
    for (unsigned i = 0; i < b.count; i++) {
        get g = get_draw(w, &b);
        pending *wait = get_pending(w, BY_NOTHING, &g);
        for (unsigned polls = 0;
             gex_RMA_GetBlocking(g.team, g.to, g.rank, g.from, g.len, g.flags) != 0;)
            poll_once(&polls);
        pending_done(w, wait);
    }
}

void rma_get_nb(worker *w, unsigned most)
{
    burst b = burst_begin(w, most, 1);
    for (unsigned i = 0; i < b.count; i++) {
        get g = get_draw(w, &b);
        pending *wait = get_pending(w, BY_EVENT, &g);
        for (unsigned polls = 0; (wait->event = gex_RMA_GetNB(g.team, g.to, g.rank, g.from, g.len,
                                                              g.flags)) == GEX_EVENT_NO_OP;)
            poll_once(&polls);
        if (wait->event == GEX_EVENT_INVALID)
            pending_done(w, wait);
    }
}

static void get_nbi(worker *w, const burst *b, pending_how how)
{
    get g = get_draw(w, b);
    (void)get_pending(w, how, &g);
    for (unsigned polls = 0; gex_RMA_GetNBI(g.team, g.to, g.rank, g.from, g.len, g.flags) != 0;)
        poll_once(&polls);
}

void rma_get_nbi(worker *w, unsigned most)
{
    burst b = burst_begin(w, most, 1);
    for (unsigned i = 0; i < b.count; i++)
        get_nbi(w, &b, BY_NBI);
}

void rma_get_value(worker *w, unsigned most)
{
    burst b = burst_of(w, most, 1, random_below(&w->random, 3));
    for (unsigned i = 0; i < b.count; i++) {
        get g = get_draw(w, &b);
        gex_RMA_Value_t expected = 0, found;
        memcpy(&expected, g.expected, g.len);
        found = gex_RMA_GetBlockingVal(g.team, g.rank, g.from, g.len, 0);
        compare(w, w->op, "an integer that was got", &found, &expected, sizeof found);
        op_checked(w, 1);
    }
}

/* ---- access regions -------------------------------------------------------------------------- */

/* Implicit puts and gets in a region, whose event joins the other events in flight. */
void rma_region(worker *w, unsigned most)
{
    burst b = put_burst(w, most);
    const unsigned first = w->pending_count;
    gex_NBI_BeginAccessRegion(0);
    for (unsigned i = 0; i < b.count; i++) {
        if (random_chance(&w->random, 2))
            put_nbi(w, &b, BY_REGION);
        else
            get_nbi(w, &b, BY_REGION);
    }
    gex_Event_t event = gex_NBI_EndAccessRegion(0);
    const unsigned members = w->pending_count - first;
    pending *region = pending_add(w, BY_EVENT);
    region->event = event;
    region->first = first;
    region->members = members;
    if (event == GEX_EVENT_INVALID)
        pending_done(w, region);
}
