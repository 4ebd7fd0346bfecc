/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.c: collectives of all ranks: barriers, and moving data. Each thread has its own team for
 * them, and makes the same calls as the threads of its number on the other ranks. */
#include "coll.h"

#include <string.h>

enum { AT_ONCE = 8, SLACK = 64 };

/* ---- barriers -------------------------------------------------------------------------------- */

/* Several barriers in flight. */
void coll_barrier(worker *w, unsigned most)
{
    random_state random = random_together(w);
    gex_Event_t events[AT_ONCE];
    while (most > 0) {
        unsigned count = 1 + random_below(&random, AT_ONCE);
        if (count > most)
            count = most;
        for (unsigned i = 0; i < count; i++) {
            op_begin(w, (shadow.rank + 1) % shadow.size, 1);
            events[i] = gex_Coll_BarrierNB(w->team, 0);
        }
        gex_Event_WaitAll(events, count, 0);
        op_checked(w, count);
        most -= count;
    }
}

/* ---- what they share ------------------------------------------------------------------------- */

void coll_many(worker *w, unsigned most, unsigned parts, coll_one_fn one)
{
    random_state random = random_together(w);
    pending_finish_all(w);
    while (most > 0) {
        const unsigned octave = random_below(&random, OCTAVES);
        unsigned count = 1 + random_below(&random, AT_ONCE);
        size_t len = random_len(&random, octave);
        while (len > LEN_MAX / parts)
            len /= 2;
        if (count > most)
            count = most;
        if (w->pending_count + count > PENDING_MAX ||
            w->desk_used + (size_t)count * parts * (len + SLACK) > DESK_LEN)
            pending_finish_all(w);
        for (unsigned i = 0; i < count; i++)
            one(w, &random, len);
        most -= count;
        pending_finish_some(w);
    }
}

coll_call coll_begin(worker *w, random_state *random, size_t len, unsigned forms)
{
    coll_call c = { .len = len };
    op_begin(w, (shadow.rank + 1) % shadow.size, len);
    c.root = random_below(random, shadow.size);
    c.key = random_next(random);
    c.form = random_below(random, forms);
    c.wait = pending_add(w, BY_EVENT);
    return c;
}

void coll_source(worker *w, coll_call *c, const unsigned char *bytes, size_t len)
{
    c->source = c->numbers ? desk_take_aligned(w, len) : desk_take(w, len);
    memcpy(c->source, bytes, len);
    c->wait->source = c->source;
    c->wait->source_len = len;
}

void coll_result(worker *w, coll_call *c, const unsigned char *expected, size_t len)
{
    c->found = c->numbers ? desk_take_aligned(w, len) : desk_take(w, len);
    c->wait->found = c->found;
    c->wait->len = len;
    c->wait->expected = expected;
    if (expected == NULL) {
        c->wait->expected = pool_draw(w, len);
        memcpy(c->found, c->wait->expected, len);
    }
}

void coll_begun(worker *w, const coll_call *c, gex_Event_t event)
{
    c->wait->event = event;
    if (event == GEX_EVENT_INVALID)
        pending_done(w, c->wait);
}

static int legacy_flags(const coll_call *c)
{
    static const int ins[] = { GASNET_COLL_IN_NOSYNC, GASNET_COLL_IN_MYSYNC,
                               GASNET_COLL_IN_ALLSYNC };
    static const int outs[] = { GASNET_COLL_OUT_NOSYNC, GASNET_COLL_OUT_MYSYNC,
                                GASNET_COLL_OUT_ALLSYNC };
    return GASNET_COLL_LOCAL | ins[c->key % 3] | outs[c->key / 3 % 3];
}

/* ---- broadcast ------------------------------------------------------------------------------- */

static void broadcast_one(worker *w, random_state *random, size_t len)
{
    coll_call c = coll_begin(w, random, len, 4);
    coll_source(w, &c, coll_bytes(c.key, shadow.rank), len);
    coll_result(w, &c, coll_bytes(c.key, c.root), len);
    gex_Event_t event = GEX_EVENT_INVALID;
    if (c.form == 0)
        gasnet_coll_broadcast(w->team, c.found, c.root, c.source, len, legacy_flags(&c));
    else if (c.form == 1)
        event = gasnet_coll_broadcast_nb(w->team, c.found, c.root, c.source, len, legacy_flags(&c));
    else
        event = gex_Coll_BroadcastNB(w->team, c.root, c.found, c.source, len, 0);
    coll_begun(w, &c, event);
}

void coll_broadcast(worker *w, unsigned most) { coll_many(w, most, 2, broadcast_one); }

/* ---- parts to and from members --------------------------------------------------------------- */

/* A buffer with a part of every member's contribution: from member i, part `part_i`. */
static unsigned char *parts_of_all(worker *w, const coll_call *c, gex_Rank_t part_i)
{
    unsigned char *all = desk_take(w, c->len * shadow.size);
    for (gex_Rank_t member = 0; member < shadow.size; member++)
        memcpy(all + member * c->len, coll_bytes(c->key, member) + part_i * c->len, c->len);
    return all;
}

static gex_Event_t gather(worker *w, coll_call *c)
{
    const bool to_all = c->form == 0, gets = to_all || c->root == shadow.rank;
    coll_source(w, c, coll_bytes(c->key, shadow.rank), c->len);
    coll_result(w, c, gets ? parts_of_all(w, c, 0) : NULL, c->len * shadow.size);
    const unsigned how = (unsigned)(c->key >> 20) % 4;
    if (to_all && how == 0)
        gasnet_coll_gather_all(w->team, c->found, c->source, c->len, legacy_flags(c));
    else if (to_all && how == 1)
        return gasnet_coll_gather_all_nb(w->team, c->found, c->source, c->len, legacy_flags(c));
    else if (to_all)
        return pen_Coll_GatherToAllNB(w->team, c->found, c->source, c->len, 0);
    else if (how == 0)
        gasnet_coll_gather(w->team, c->root, c->found, c->source, c->len, legacy_flags(c));
    else if (how == 1)
        return gasnet_coll_gather_nb(w->team, c->root, c->found, c->source, c->len,
                                     legacy_flags(c));
    else
        return pen_Coll_GatherToOneNB(w->team, c->root, c->found, c->source, c->len, 0);
    return GEX_EVENT_INVALID;
}

static gex_Event_t scatter(worker *w, coll_call *c)
{
    coll_source(w, c, coll_bytes(c->key, c->root), c->len * shadow.size);
    coll_result(w, c, coll_bytes(c->key, c->root) + shadow.rank * c->len, c->len);
    const unsigned how = (unsigned)(c->key >> 20) % 4;
    if (how == 0)
        gasnet_coll_scatter(w->team, c->found, c->root, c->source, c->len, legacy_flags(c));
    else if (how == 1)
        return gasnet_coll_scatter_nb(w->team, c->found, c->root, c->source, c->len,
                                      legacy_flags(c));
    else
        return pen_Coll_ScatterNB(w->team, c->root, c->found, c->source, c->len, 0);
    return GEX_EVENT_INVALID;
}

static gex_Event_t exchange(worker *w, coll_call *c)
{
    coll_source(w, c, coll_bytes(c->key, shadow.rank), c->len * shadow.size);
    coll_result(w, c, parts_of_all(w, c, shadow.rank), c->len * shadow.size);
    const unsigned how = (unsigned)(c->key >> 20) % 4;
    if (how == 0)
        gasnet_coll_exchange(w->team, c->found, c->source, c->len, legacy_flags(c));
    else if (how == 1)
        return gasnet_coll_exchange_nb(w->team, c->found, c->source, c->len, legacy_flags(c));
    else
        return pen_Coll_AllToAllNB(w->team, c->found, c->source, c->len, 0);
    return GEX_EVENT_INVALID;
}

static void parts_one(worker *w, random_state *random, size_t len)
{
    coll_call c = coll_begin(w, random, len, 4);
    gex_Event_t event = c.form < 2 ? gather(w, &c) : c.form == 2 ? scatter(w, &c) : exchange(w, &c);
    coll_begun(w, &c, event);
}

void coll_parts(worker *w, unsigned most) { coll_many(w, most, 3 * shadow.size + 1, parts_one); }
