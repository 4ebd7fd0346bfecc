/* SPDX-License-Identifier: BSD-3-Clause */
/* am_negotiated.c: requests whose payload is made in a buffer that was agreed on: the library's or
 * the client's. Some are prepared, abandoned, and prepared again. */
#include "am.h"

#include <string.h>

#define COMMITS(n)                                                                                \
    static int commit_medium_##n(gex_AM_SrcDesc_t desc, const am_request *r, bool second)         \
    {                                                                                             \
        if (second)                                                                               \
            return gex_AM_CommitRequestMedium##n##_v2(desc, AM_MEDIUM_REQUEST + (n), r->len,      \
                                                      r->flags ARITY_ELEMENTS_##n(r->args));      \
        gex_AM_CommitRequestMedium##n(desc, AM_MEDIUM_REQUEST + (n),                              \
                                      r->len ARITY_ELEMENTS_##n(r->args));                        \
        return 0;                                                                                 \
    }                                                                                             \
    static int commit_long_##n(gex_AM_SrcDesc_t desc, const am_request *r, bool second)           \
    {                                                                                             \
        if (second)                                                                               \
            return gex_AM_CommitRequestLong##n##_v2(desc, AM_LONG_REQUEST + (n), r->len, r->dest, \
                                                    r->flags ARITY_ELEMENTS_##n(r->args));        \
        gex_AM_CommitRequestLong##n(desc, AM_LONG_REQUEST + (n), r->len,                          \
                                    r->dest ARITY_ELEMENTS_##n(r->args));                         \
        return 0;                                                                                 \
    }
ARITY_EACH(COMMITS)

/* second: uses the form that may be immediate. Returns non-zero if the call was refused, without
 * effect. */
typedef int (*commit_fn)(gex_AM_SrcDesc_t desc, const am_request *r, bool second);
#define ROW_MEDIUM(n) commit_medium_##n,
#define ROW_LONG(n)   commit_long_##n,
static const commit_fn commit_fns[2][ARITIES] = { { ARITY_EACH(ROW_MEDIUM) },
                                                  { ARITY_EACH(ROW_LONG) } };

/* A request that is refused for lack of room cannot poll, so it is committed without the immediate
 * flag. */
static void commit(worker *w, gex_AM_SrcDesc_t desc, am_request *r)
{
    const commit_fn commit_one = commit_fns[r->category - AM_MEDIUM][r->arg_count];
    r->flags = random_chance(&w->random, 2) ? GEX_FLAG_IMMEDIATE : 0;
    while (commit_one(desc, r, random_chance(&w->random, 2) || r->flags != 0) != 0)
        r->flags = 0;
}

/* The parameters that were asked for. */
typedef struct wish {
    size_t least, most;
    bool tells_dest, cancels;
} wish;

static gex_AM_SrcDesc_t prepare(const am_request *r, const wish *wanted)
{
    gex_AM_SrcDesc_t desc;
    for (unsigned polls = 0;;) {
        desc = r->category == AM_MEDIUM
                   ? gex_AM_PrepareRequestMedium(r->team, r->rank, r->source, wanted->least,
                                                 wanted->most, r->local, r->flags, r->arg_count)
                   : gex_AM_PrepareRequestLong(r->team, r->rank, r->source, wanted->least,
                                               wanted->most, wanted->tells_dest ? r->dest : NULL,
                                               r->local, r->flags, r->arg_count);
        if (desc != GEX_AM_SRCDESC_NO_OP)
            return desc;
        poll_once(&polls);
    }
}

static void cancel(const am_request *r, gex_AM_SrcDesc_t desc)
{
    if (r->category == AM_MEDIUM)
        (void)gex_AM_CancelRequestMedium(desc, 0);
    else
        (void)gex_AM_CancelRequestLong(desc, 0);
}

static void check_buffer(const worker *w, const am_request *r, const wish *wanted,
                         gex_AM_SrcDesc_t desc)
{
    size_t len = gex_AM_SrcDescSize(desc);
    if (len < wanted->least || len > wanted->most)
        mismatch(w, w->op, "a buffer of %zu to %zu bytes was asked for; it has %zu", wanted->least,
                 wanted->most, len);
    if (r->source != NULL && gex_AM_SrcDescAddr(desc) != r->source)
        mismatch(w, w->op, "the client's buffer was offered, and another one came back");
}

static void one(worker *w, const burst *b, am_category category)
{
    const bool own = random_chance(&w->random, 2);
    gex_Event_t event = GEX_EVENT_INVALID;
    am_request r = am_request_draw(
        w, b, category, own ? GEX_FLAG_AM_PREPARE_LEAST_CLIENT : GEX_FLAG_AM_PREPARE_LEAST_ALLOC);
    op_begin(w, b->target, r.len);
    if (category == AM_LONG)
        am_request_landing(w, &r);
    const unsigned char *payload = am_request_name(w, &r);
    gex_Event_t *const forms[] = { GEX_EVENT_NOW, GEX_EVENT_GROUP, &event };
    r.local = own ? forms[random_below(&w->random, 3)] : NULL;
    r.source = own ? desk_take(w, r.len) : NULL;
    wish wanted = { .least = r.len };
    wanted.most =
        r.len +
        (own ? 0 : random_below(&w->random, 1024)); /* the payload may be shorter than the buffer */
    wanted.tells_dest = random_chance(&w->random, 2);
    wanted.cancels = random_chance(&w->random, 16);
    w->unchecked_until_end++;
    gex_AM_SrcDesc_t desc = prepare(&r, &wanted);
    if (wanted.cancels) {
        cancel(&r, desc);
        desc = prepare(&r, &wanted);
    }
    check_buffer(w, &r, &wanted, desc);
    if (r.len != 0)
        memcpy(gex_AM_SrcDescAddr(desc), payload, r.len);
    commit(w, desc, &r);
    if (own)
        am_request_sent(w, &r, event);
}

void am_negotiated(worker *w, unsigned most)
{
    const am_category category = random_chance(&w->random, 2) ? AM_MEDIUM : AM_LONG;
    burst b = am_burst(w, most, category);
    for (unsigned i = 0; i < b.count; i++)
        one(w, &b, category);
}
