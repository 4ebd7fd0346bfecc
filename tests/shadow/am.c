/* SPDX-License-Identifier: BSD-3-Clause */
/* am.c: the sending end of active messages: requests of every category with 0 to 16 arguments. */
#include "am.h"

#include <string.h>

#define REQUESTS(n)                                                                              \
    static int request_short_##n(const am_request *r)                                            \
    {                                                                                            \
        return gex_AM_RequestShort##n(r->team, r->rank, AM_SHORT_REQUEST + (n),                  \
                                      r->flags ARITY_ELEMENTS_##n(r->args));                     \
    }                                                                                            \
    static int request_medium_##n(const am_request *r)                                           \
    {                                                                                            \
        return gex_AM_RequestMedium##n(r->team, r->rank, AM_MEDIUM_REQUEST + (n), r->source,     \
                                       r->len, r->local, r->flags ARITY_ELEMENTS_##n(r->args));  \
    }                                                                                            \
    static int request_long_##n(const am_request *r)                                             \
    {                                                                                            \
        return gex_AM_RequestLong##n(r->team, r->rank, AM_LONG_REQUEST + (n), r->source, r->len, \
                                     r->dest, r->local, r->flags ARITY_ELEMENTS_##n(r->args));   \
    }
ARITY_EACH(REQUESTS)

#define ASYNC(n)                                                                 \
    static void request_async_##n(const am_request *r)                           \
    {                                                                            \
        (void)gasnet_AMRequestLongAsync##n(r->target, AM_LONG_REQUEST + (n),     \
                                           (void *)(uintptr_t)r->source, r->len, \
                                           r->dest ARITY_ELEMENTS_##n(r->args)); \
    }
ARITY_EACH(ASYNC)

typedef int (*request_fn)(const am_request *r);
#define ROW_SHORT(n)  request_short_##n,
#define ROW_MEDIUM(n) request_medium_##n,
#define ROW_LONG(n)   request_long_##n,
static const request_fn request_fns[3][ARITIES] = { { ARITY_EACH(ROW_SHORT) },
                                                    { ARITY_EACH(ROW_MEDIUM) },
                                                    { ARITY_EACH(ROW_LONG) } };

#define ROW_ASYNC(n) request_async_##n,
static void (*const async_fns[ARITIES])(const am_request *r) = { ARITY_EACH(ROW_ASYNC) };

/* ---- one request ----------------------------------------------------------------------------- */

static size_t longest(const am_request *r)
{
    const bool medium = r->category == AM_MEDIUM;
    gex_Event_t *local = r->limit_flags == GEX_FLAG_AM_PREPARE_LEAST_ALLOC ? NULL : GEX_EVENT_NOW;
    size_t most =
        medium ? gex_AM_MaxRequestMedium(r->team, r->rank, local, r->limit_flags, r->arg_count)
               : gex_AM_MaxRequestLong(r->team, r->rank, local, r->limit_flags, r->arg_count);
    return most < LEN_MAX ? most : LEN_MAX;
}

/* Draws the length of a payload: sometimes 0, sometimes the longest. */
static size_t len_draw(worker *w, const burst *b, const am_request *r)
{
    const size_t most = longest(r);
    size_t len = random_len(&w->random, b->octave);
    if (len > most)
        len = 1 + random_below(&w->random, (uint32_t)most);
    if (random_chance(&w->random, 64))
        len = b->count == 1 || r->category == AM_MEDIUM ? most : 0;
    if (r->category == AM_LONG && r->arg_count == 0 && len > BARE_LONG_LEN)
        len = BARE_LONG_LEN;
    return len;
}

am_request am_request_draw(worker *w, const burst *b, am_category category, gex_Flags_t limit_flags)
{
    am_request r = { .category = category, .target = b->target, .local = GEX_EVENT_NOW };
    r.limit_flags = limit_flags;
    r.team = draw_team(w, b->target, &r.rank);
    r.arg_count = random_below(&w->random, ARITIES);
    if (category == AM_LONG && r.arg_count == 0 && w->bare_longs[b->target] == BARE_LONGS_MAX)
        r.arg_count = 1;
    if (category != AM_SHORT)
        r.len = len_draw(w, b, &r);
    r.want = (am_want)random_below(&w->random, r.arg_count > 1 ? 4 : 3);
    if (category == AM_LONG && r.want == WANT_NOTHING)
        r.want = WANT_SHORT; /* its place in the landing is free once the message was seen */
    if (random_chance(&w->random, 8))
        r.flags = GEX_FLAG_IMMEDIATE;
    return r;
}

/* Reserves room for a Long reply that no other reply uses. */
static gex_AM_Arg_t reply_place(worker *w, size_t len)
{
    if (w->reply_used + len > LANDING_LEN) {
        am_wait_replies(w);
        w->reply_used = 0;
    }
    size_t at = w->reply_used;
    w->reply_used += len;
    return (gex_AM_Arg_t)at;
}

void am_request_landing(worker *w, am_request *r)
{
    enum { BARE_PART = BARE_LONGS_MAX * BARE_LONG_LEN };
    unsigned char *landing = landing_of(r->target, shadow.rank, w->index);
    if (r->arg_count == 0) {
        r->dest = landing + (size_t)BARE_LONG_LEN * w->bare_longs[r->target]++;
        return;
    }
    if (BARE_PART + w->landing_used[r->target] + r->len > LANDING_LEN) {
        am_wait_replies(w);
        memset(w->landing_used, 0, sizeof w->landing_used);
    }
    r->dest = landing + BARE_PART + w->landing_used[r->target];
    w->landing_used[r->target] += r->len;
}

/* Gives the message its name, derives its contents, and returns its payload. */
const unsigned char *am_request_name(worker *w, am_request *r)
{
    am_tally *sent = r->arg_count == 0 ? &w->sent_bare[r->target] : &w->sent[r->target];
    sent->count++;
    if (r->arg_count == 0) {
        sent->sum += am_digest(shadow.rank, r->category, 0, r->len);
        if (r->category != AM_SHORT)
            am_expect_bare();
        return am_bare_payload(shadow.rank, r->len);
    }
    uint32_t name = am_name(w->index, r->want, w->am_sequence++);
    uint64_t key = am_key(shadow.rank, name);
    r->args[0] = (gex_AM_Arg_t)name;
    for (unsigned i = 1; i < r->arg_count; i++)
        r->args[i] = am_arg(key, false, i);
    sent->sum += am_digest(key, r->category, r->arg_count, r->len);
    if (r->want != WANT_NOTHING) {
        am_reply reply = am_reply_of(key, r->want, r->target);
        if (reply.category == AM_LONG)
            r->args[1] = reply_place(w, reply.len);
        w->replies.count++;
        w->replies.sum += am_digest(key, reply.category, reply.arg_count, reply.len);
    }
    return am_payload(key, false);
}

/* The payload in a desk buffer, to be scribbled over once the library releases it. */
static void request_local(worker *w, am_request *r, const unsigned char *payload,
                          gex_Event_t *event)
{
    gex_Event_t *const forms[] = { GEX_EVENT_NOW, GEX_EVENT_GROUP, event };
    r->local = forms[random_below(&w->random, 3)];
    unsigned char *source = desk_take(w, r->len);
    if (r->len != 0)
        memcpy(source, payload, r->len);
    r->source = source;
}

void am_request_sent(worker *w, const am_request *r, gex_Event_t event)
{
    unsigned char *source = (unsigned char *)(uintptr_t)r->source;
    if (r->local == GEX_EVENT_NOW || (r->local != GEX_EVENT_GROUP && event == GEX_EVENT_INVALID)) {
        scribble(source, r->len);
        return;
    }
    pending *wait = pending_add(w, r->local == GEX_EVENT_GROUP ? BY_NBI : BY_EVENT);
    wait->source = source;
    wait->source_len = r->len;
    wait->category = GEX_EC_AM;
    wait->event = event;
}

static void request_one(worker *w, const burst *b, am_category category)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    am_request r = am_request_draw(w, b, category, 0);
    op_begin(w, b->target, r.len);
    if (category == AM_LONG)
        am_request_landing(w, &r); /* comes first, since it may wait for all replies */
    const unsigned char *payload = am_request_name(w, &r);
    w->unchecked_until_end++;
    if (category != AM_SHORT)
        request_local(w, &r, payload, &event);
    for (unsigned polls = 0; request_fns[category][r.arg_count](&r) != 0;)
        poll_once(&polls);
    if (category != AM_SHORT)
        am_request_sent(w, &r, event);
}

/* ---- bursts ---------------------------------------------------------------------------------- */

void am_short(worker *w, unsigned most)
{
    burst b = burst_of(w, most, 0, 2);
    for (unsigned i = 0; i < b.count; i++)
        request_one(w, &b, AM_SHORT);
}

burst am_burst(worker *w, unsigned most, am_category category)
{
    const size_t longest_medium = gex_AM_LUBRequestMedium();
    unsigned octaves = 1;
    while (octaves < OCTAVES && (category == AM_LONG || (size_t)2 << octaves <= longest_medium))
        octaves++;
    burst b = burst_of(w, most, 1, random_below(&w->random, octaves));
    size_t more = category == AM_LONG ? LEN_MAX + b.count * (((size_t)2 << b.octave) + 64)
                                      : b.count * (longest_medium + 64);
    if (w->desk_used + more > DESK_LEN)
        pending_finish_all(w);
    return b;
}

void am_medium(worker *w, unsigned most)
{
    burst b = am_burst(w, most, AM_MEDIUM);
    for (unsigned i = 0; i < b.count; i++)
        request_one(w, &b, AM_MEDIUM);
}

/* GASNet-1: the source stays unchanged until the handler of the reply begins. */
static void async_one(worker *w, const burst *b)
{
    am_request r = am_request_draw(w, b, AM_LONG, 0);
    if (r.arg_count == 0) /* only a message with a name tells which reply is for it */
        r.arg_count = 1;
    if (r.len > gasnet_AMMaxLongRequest())
        r.len = gasnet_AMMaxLongRequest();
    op_begin(w, b->target, r.len);
    am_request_landing(w, &r);
    const unsigned char *payload = am_request_name(w, &r);
    w->unchecked_until_end++;
    unsigned char *source = desk_take(w, r.len);
    memcpy(source, payload, r.len);
    r.source = source;
    async_fns[r.arg_count](&r);
    pending *wait = pending_add(w, BY_REPLY);
    wait->source = source;
    wait->source_len = r.len;
}

void am_long_async(worker *w, unsigned most)
{
    burst b = am_burst(w, most, AM_LONG);
    for (unsigned i = 0; i < b.count; i++)
        async_one(w, &b);
}

void am_long(worker *w, unsigned most)
{
    burst b = am_burst(w, most, AM_LONG);
    for (unsigned i = 0; i < b.count; i++)
        request_one(w, &b, AM_LONG);
}
