/* SPDX-License-Identifier: BSD-3-Clause */
/* vis.c: shared code of the kinds of scattered transfers: memory for both sides, and waiting. */
#include "vis.h"

#include <string.h>

vis_call vis_begin(worker *w, const burst *b, bool legacy, size_t len)
{
    vis_call call = { .target = b->target, .legacy = legacy };
    op_begin(w, b->target, len);
    call.is_put = random_chance(&w->random, 2) || w->tells_target;
    call.form = (vis_form)random_below(&w->random, VIS_FORMS);
    if (call.form == VIS_LEAF && (legacy || !call.is_put))
        call.form = VIS_NB;
    call.team = draw_team(w, b->target, &call.rank);
    if (call.form == VIS_LEAF)
        call.flags |= GEX_FLAG_ENABLE_LEAF_LC;
    if (random_chance(&w->random, 8))
        call.flags |= GEX_FLAG_IMMEDIATE;
    return call;
}

static pending *wait_for(worker *w, const vis_call *call)
{
    static const pending_how hows[] = { BY_NOTHING, BY_EVENT, BY_EVENT, BY_NBI };
    pending *wait = pending_add(w, hows[call->form]);
    wait->own_thread = call->legacy;
    return wait;
}

void vis_put_memory(worker *w, vis_call *call, size_t there_extent, size_t here_extent)
{
    stripe *s = stripe_for(w, call->target);
    size_t at = stripe_take(w, s, there_extent);
    call->there = s->there + at;
    call->model = s->model + at;
    call->pool = pool_draw(w, here_extent);
    call->here = desk_take(w, here_extent);
    call->here_len = here_extent;
    memcpy(call->here, call->pool, here_extent);
    call->wait = wait_for(w, call);
    call->wait->written = s;
    call->wait->at = at;
    call->wait->at_len = there_extent;
    call->wait->source = call->here;
    call->wait->source_len = here_extent;
    call->wait->category = GEX_EC_PUT;
}

void vis_get_memory(worker *w, vis_call *call, size_t here_extent)
{
    const unsigned char *before = pool_draw(w, here_extent);
    call->here = desk_take(w, here_extent);
    call->expected = desk_take(w, here_extent);
    call->here_len = here_extent;
    memcpy(call->here, before, here_extent);
    memcpy(call->expected, before, here_extent);
    call->wait = wait_for(w, call);
    call->wait->found = call->here;
    call->wait->expected = call->expected;
    call->wait->len = here_extent;
    call->wait->category = GEX_EC_GET;
}

bool vis_refused(const vis_call *call, int status, gex_Event_t event)
{
    if (!(call->flags & GEX_FLAG_IMMEDIATE) || call->legacy)
        return false;
    if (status == 0 && event != GEX_EVENT_NO_OP)
        return false;
    gasnet_AMPoll();
    return true;
}

void vis_end(worker *w, vis_call *call, gex_Event_t event)
{
    pending *wait = call->wait;
    if (call->form == VIS_NBI)
        return;
    wait->event = call->form == VIS_BLOCKING ? GEX_EVENT_INVALID : event;
    if (wait->event != GEX_EVENT_INVALID && call->form == VIS_LEAF) {
        wait->leaf = gex_Event_QueryLeaf(event, GEX_EC_LC);
        if (wait->leaf != gex_Event_QueryLeaf(event, GEX_EC_LC) && wait->leaf == GEX_EVENT_INVALID)
            mismatch(w, wait->op, "an event has no leaf, and then it has one");
    }
    if (wait->event == GEX_EVENT_INVALID)
        pending_done(w, wait);
}
