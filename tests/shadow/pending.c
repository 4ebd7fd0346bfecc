/* SPDX-License-Identifier: BSD-3-Clause */
/* pending.c: operations in flight, and every way of learning that they are done. When the library
 * reports that a source is free, it is scribbled over. When it reports that a get is done, the
 * bytes are compared. So a report that comes too early is found. */
#include "shadow.h"

#include <string.h>

/* The events of a thread's operations, in one array. */
typedef struct gathering {
    gex_Event_t events[2 * PENDING_MAX];
    unsigned char is_leaf[2 * PENDING_MAX], is_over[2 * PENDING_MAX];
    unsigned pendings[2 * PENDING_MAX];
    unsigned count;
} gathering;

pending *pending_add(worker *w, pending_how how)
{
    if (w->pending_count == PENDING_MAX)
        mismatch(w, w->op, "the checker itself: too many operations in flight");
    pending *p = &w->pendings[w->pending_count++];
    *p = (pending){ .how = how, .op = w->op };
    return p;
}

void scribble(unsigned char *source, size_t len) { memset(source, 0x5A, len); }

static void source_free(pending *p)
{
    if (p->source != NULL)
        scribble(p->source, p->source_len);
    p->source = NULL;
}

void pending_done(worker *w, pending *p)
{
    p->how = BY_NOTHING;
    source_free(p);
    if (p->found != NULL) {
        compare(w, p->op, "what was got", p->found, p->expected, p->len);
        desk_check(w, p->op, p->found, p->len);
        op_checked(w, 1);
    }
    if (p->check != NULL)
        p->check(w, p);
    if (p->busy != NULL)
        *p->busy = 0;
    if (p->written != NULL) {
        w->last_written = p->written;
        w->last_at = p->at;
        w->last_len = p->at_len;
        stripe_settled(p->written);
    }
    for (unsigned i = p->first; i < p->first + p->members; i++)
        pending_done(w, &w->pendings[i]);
}

/* Frees all buffers if no operation is in flight. */
static void clear(worker *w)
{
    for (unsigned i = 0; i < w->pending_count; i++)
        if (w->pendings[i].how != BY_NOTHING)
            return;
    w->pending_count = 0;
    w->desk_used = 0;
}

/* ---- explicit events ------------------------------------------------------------------------- */

static void await(random_state *random, gex_Event_t event)
{
    if (random_chance(random, 2)) {
        gex_Event_Wait(event);
        return;
    }
    for (unsigned polls = 0; gex_Event_Test(event) != GASNET_OK;)
        poll_once(&polls);
}

/* Returns whether this thread may, and has to, wait for the event. */
static bool is_for(const pending *p, const worker *by, const worker *w)
{
    return p->how == BY_EVENT && (by == w || !p->own_thread);
}

static void finish_leaves(worker *w, worker *by)
{
    for (unsigned i = 0; i < w->pending_count; i++) {
        pending *p = &w->pendings[i];
        if (!is_for(p, by, w) || p->leaf == GEX_EVENT_INVALID)
            continue;
        await(&by->random, p->leaf);
        p->leaf = GEX_EVENT_INVALID;
        source_free(p);
    }
}

static void finish_each(worker *w, worker *by)
{
    finish_leaves(w, by);
    for (unsigned i = 0; i < w->pending_count; i++)
        if (is_for(&w->pendings[i], by, w)) {
            await(&by->random, w->pendings[i].event);
            pending_done(w, &w->pendings[i]);
        }
}

static void gather_one(gathering *g, gex_Event_t event, unsigned pending_i, bool is_leaf)
{
    g->events[g->count] = event;
    g->pendings[g->count] = pending_i;
    g->is_leaf[g->count] = is_leaf;
    g->is_over[g->count] = 0;
    g->count++;
}

static void swap(gathering *g, unsigned a, unsigned b)
{
    gathering one;
    one.events[0] = g->events[a];
    one.pendings[0] = g->pendings[a];
    one.is_leaf[0] = g->is_leaf[a];
    g->events[a] = g->events[b];
    g->pendings[a] = g->pendings[b];
    g->is_leaf[a] = g->is_leaf[b];
    g->events[b] = one.events[0];
    g->pendings[b] = one.pendings[0];
    g->is_leaf[b] = one.is_leaf[0];
}

static void gather(gathering *g, const worker *w, worker *by)
{
    g->count = 0;
    for (unsigned i = 0; i < w->pending_count; i++) {
        if (!is_for(&w->pendings[i], by, w))
            continue;
        gather_one(g, w->pendings[i].event, i, false);
        if (w->pendings[i].leaf != GEX_EVENT_INVALID)
            gather_one(g, w->pendings[i].leaf, i, true);
    }
    for (unsigned i = g->count; i > 1; i--)
        swap(g, i - 1, random_below(&by->random, i));
}

/* Finishes the operations that the library marked as done; returns how many. */
static unsigned gathering_sweep(gathering *g, worker *w)
{
    unsigned over = 0;
    for (unsigned i = 0; i < g->count; i++)
        if (g->is_leaf[i] && !g->is_over[i] && g->events[i] == GEX_EVENT_INVALID) {
            g->is_over[i] = 1;
            source_free(&w->pendings[g->pendings[i]]);
            w->pendings[g->pendings[i]].leaf = GEX_EVENT_INVALID;
            over++;
        }
    for (unsigned i = 0; i < g->count; i++)
        if (!g->is_leaf[i] && !g->is_over[i] && g->events[i] == GEX_EVENT_INVALID) {
            pending *p = &w->pendings[g->pendings[i]];
            g->is_over[i] = 1;
            if (p->leaf != GEX_EVENT_INVALID)
                mismatch(w, p->op, "an array has a root that is done and its leaf that is not");
            pending_done(w, p);
            over++;
        }
    return over;
}

static void all_over(const gathering *g, const worker *w, const char *call)
{
    for (unsigned i = 0; i < g->count; i++)
        if (!g->is_over[i])
            mismatch(w, w->pendings[g->pendings[i]].op, "%s says that all is done; event %u is not",
                     call, i);
}

static void finish_together(gathering *g, worker *w, unsigned form)
{
    if (form == 0) {
        gex_Event_WaitAll(g->events, g->count, 0);
    } else if (form == 1) {
        for (unsigned polls = 0; gex_Event_TestAll(g->events, g->count, 0) != GASNET_OK;) {
            (void)gathering_sweep(g, w);
            poll_once(&polls);
        }
    } else {
        gasnet_wait_syncnb_all(g->events, g->count);
    }
    (void)gathering_sweep(g, w);
    all_over(g, w, "synchronising an array");
}

static void finish_in_parts(gathering *g, worker *w, unsigned form)
{
    for (unsigned left = g->count; left > 0;) {
        if (form == 0)
            gex_Event_WaitSome(g->events, g->count, 0);
        else if (form == 1)
            for (unsigned polls = 0; gex_Event_TestSome(g->events, g->count, 0) != GASNET_OK;)
                poll_once(&polls);
        else
            for (unsigned polls = 0; gasnet_try_syncnb_some(g->events, g->count) != GASNET_OK;)
                poll_once(&polls);
        unsigned over = gathering_sweep(g, w);
        if (over == 0)
            mismatch(w, w->op, "some of %u events are said to be done; none is", left);
        left -= over;
    }
}

static void finish_events(worker *w, worker *by)
{
    gathering g;
    static const unsigned char for_others[] = { 0, 1, 2, 3, 5, 6 }; /* not GASNet-1's */
    unsigned form =
        by == w ? random_below(&by->random, 8) : for_others[random_below(&by->random, 6)];
    if (form < 2) {
        finish_each(w, by);
        return;
    }
    gather(&g, w, by);
    if (form < 5)
        finish_together(&g, w, form - 2);
    else
        finish_in_parts(&g, w, form - 5);
}

/* ---- implicit operations --------------------------------------------------------------------- */

static void nbi_done(worker *w, gex_EC_t mask)
{
    for (unsigned i = 0; i < w->pending_count; i++) {
        pending *p = &w->pendings[i];
        if (p->how == BY_NBI && p->quick_source && (mask & GEX_EC_LC))
            source_free(p);
        if (p->how == BY_NBI && (p->category & mask) == p->category)
            pending_done(w, p);
    }
}

static void nbi_wait(worker *w, gex_EC_t mask, bool by_test)
{
    if (by_test)
        for (unsigned polls = 0; gex_NBI_Test(mask, 0) != GASNET_OK;)
            poll_once(&polls);
    else
        gex_NBI_Wait(mask, 0);
    nbi_done(w, mask);
}

static void nbi_wait_in_parts(worker *w, bool by_test)
{
    static const gex_EC_t orders[][4] = {
        { GEX_EC_LC, GEX_EC_PUT, GEX_EC_GET, GEX_EC_RMW },
        { GEX_EC_RMW, GEX_EC_GET, GEX_EC_PUT, GEX_EC_LC },
        { GEX_EC_LC, GEX_EC_GET | GEX_EC_RMW, GEX_EC_PUT, GEX_EC_LC },
    };
    const gex_EC_t *order = orders[random_below(&w->random, 3)];
    for (unsigned i = 0; i < 4; i++)
        nbi_wait(w, order[i], by_test);
}

static void nbi_wait_legacy(worker *w, bool by_test)
{
    if (by_test) {
        for (unsigned polls = 0; gasnet_try_syncnbi_gets() != GASNET_OK;)
            poll_once(&polls);
        nbi_done(w, GEX_EC_GET);
        for (unsigned polls = 0; gasnet_try_syncnbi_all() != GASNET_OK;)
            poll_once(&polls);
    } else {
        gasnet_wait_syncnbi_puts();
        nbi_done(w, GEX_EC_PUT & ~GEX_EC_LC);
        gasnet_wait_syncnbi_all();
    }
    nbi_done(w, GEX_EC_GET | GEX_EC_PUT);
    nbi_wait(w, GEX_EC_ALL, by_test);
}

static void finish_nbi(worker *w)
{
    bool by_test = random_chance(&w->random, 2);
    switch (random_below(&w->random, 3)) {
    case 0:
        nbi_wait(w, GEX_EC_ALL, by_test);
        break;
    case 1:
        nbi_wait_in_parts(w, by_test);
        break;
    default:
        nbi_wait_legacy(w, by_test);
    }
}

/* ---- together -------------------------------------------------------------------------------- */

/* Waits for messages whose source belongs to the library until their reply has come. */
static void finish_replied(worker *w)
{
    bool waited = false;
    for (unsigned i = 0; i < w->pending_count; i++) {
        if (w->pendings[i].how != BY_REPLY)
            continue;
        if (!waited)
            am_wait_replies(w);
        waited = true;
        pending_done(w, &w->pendings[i]);
    }
}

void pending_finish_all(worker *w)
{
    finish_events(w, w);
    finish_nbi(w);
    finish_replied(w);
    stripe_read_last(w);
    clear(w);
    if (w->pending_count != 0)
        mismatch(w, w->op, "the checker itself: operations remain in flight");
}

void pending_finish_some(worker *w)
{
    switch (random_below(&w->random, 12)) {
    case 0:
        finish_events(w, w);
        break;
    case 1:
        finish_nbi(w);
        break;
    default:
        break;
    }
    if (random_chance(&w->random, 4))
        stripe_read_last(w);
    clear(w);
}

void pending_finish_for(worker *by, worker *owner) { finish_events(owner, by); }
