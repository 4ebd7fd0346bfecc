/* SPDX-License-Identifier: BSD-3-Clause */
/* am_handlers.c: the receiving end of active messages: compares arguments and payload with those
 * that the message's name implies, replies, and counts. */
#include "am.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static shared_tally seen[RANKS_MAX][THREADS_MAX], seen_bare[RANKS_MAX], replies_seen[THREADS_MAX];
static _Atomic uint64_t bare_replies_seen, bare_replies_expected;

void tally_add(shared_tally *t, uint64_t digest)
{
    atomic_fetch_add_explicit(&t->sum, digest, memory_order_relaxed);
    /* release: pairs with tally_read; the sum is visible with the count */
    atomic_fetch_add_explicit(&t->count, 1, memory_order_release);
}

static am_tally tally_read(shared_tally *t)
{
    am_tally now = { .count = atomic_load_explicit(&t->count, memory_order_acquire) };
    now.sum = atomic_load_explicit(&t->sum, memory_order_relaxed);
    return now;
}

void am_expect_bare(void)
{
    atomic_fetch_add_explicit(&bare_replies_expected, 1, memory_order_relaxed);
}

/* ---- a message arrives ----------------------------------------------------------------------- */

typedef struct arrival {
    gex_Token_t token;
    am_category category;
    bool is_reply;
    void *payload;
    size_t len;
    const gex_AM_Arg_t *args;
    unsigned arg_count;
} arrival;

static gex_Rank_t sender_of(gex_Token_t token)
{
    gex_Token_Info_t info;
    (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    if (info.gex_srcrank >= shadow.size)
        mismatch_at(shadow.rank, 0, 0, "a message comes from rank %u", info.gex_srcrank);
    return info.gex_srcrank;
}

static void check_payload(const arrival *a, gex_Rank_t from, const unsigned char *expected)
{
    static const char *const names[] = { "Short", "Medium", "Long" };
    if (a->category == AM_SHORT || a->len == 0 || memcmp(a->payload, expected, a->len) == 0)
        return;
    const unsigned char *found = a->payload;
    size_t at = 0;
    while (found[at] == expected[at])
        at++;
    uint32_t name = a->arg_count > 0 ? (uint32_t)a->args[0] : 0;
    mismatch_at(from, am_name_thread(name), shadow.workers[0].op,
                "payload of a %s %s with %u arguments to rank %u, byte %zu of %zu: expected %02x, "
                "found %02x (name of the message %" PRIx32 ")",
                names[a->category], a->is_reply ? "reply" : "request", a->arg_count, shadow.rank,
                at, a->len, expected[at], found[at], name);
}

static void check_args(const arrival *a, gex_Rank_t from, uint64_t key)
{
    const uint32_t name = (uint32_t)a->args[0];
    unsigned first = !a->is_reply && am_name_want(name) == WANT_LONG ? 2 : 1;
    for (unsigned i = first; i < a->arg_count; i++)
        if (a->args[i] != am_arg(key, a->is_reply, i))
            mismatch_at(from, am_name_thread(name), shadow.workers[0].op,
                        "argument %u of %u of a %s: expected %" PRId32 ", found %" PRId32
                        " (name of the message %" PRIx32 ")",
                        i, a->arg_count, a->is_reply ? "reply" : "request",
                        am_arg(key, a->is_reply, i), a->args[i], name);
}

/* ---- replying -------------------------------------------------------------------------------- */

typedef struct answer {
    gex_Token_t token;
    const void *payload;
    size_t len;
    void *dest;
} answer;

#define REPLIES(n)                                                                                \
    static void reply_short_##n(const answer *r, const gex_AM_Arg_t *a)                           \
    {                                                                                             \
        (void)a;                                                                                  \
        gex_AM_ReplyShort##n(r->token, AM_SHORT_REPLY + (n), 0 ARITY_ELEMENTS_##n(a));            \
    }                                                                                             \
    static void reply_medium_##n(const answer *r, const gex_AM_Arg_t *a)                          \
    {                                                                                             \
        (void)a;                                                                                  \
        gex_AM_ReplyMedium##n(r->token, AM_MEDIUM_REPLY + (n), r->payload, r->len, GEX_EVENT_NOW, \
                              0 ARITY_ELEMENTS_##n(a));                                           \
    }                                                                                             \
    static void reply_long_##n(const answer *r, const gex_AM_Arg_t *a)                            \
    {                                                                                             \
        (void)a;                                                                                  \
        gex_AM_ReplyLong##n(r->token, AM_LONG_REPLY + (n), r->payload, r->len, r->dest,           \
                            GEX_EVENT_NOW, 0 ARITY_ELEMENTS_##n(a));                              \
    }
ARITY_EACH(REPLIES)

/* Makes the payload in a buffer of the library's. */
#define COMMITS(n)                                                                              \
    static void commit_medium_##n(const answer *r, const gex_AM_Arg_t *a)                       \
    {                                                                                           \
        (void)a;                                                                                \
        gex_AM_SrcDesc_t desc =                                                                 \
            gex_AM_PrepareReplyMedium(r->token, NULL, r->len, r->len, NULL, 0, n);              \
        memcpy(gex_AM_SrcDescAddr(desc), r->payload, r->len);                                   \
        gex_AM_CommitReplyMedium##n(desc, AM_MEDIUM_REPLY + (n), r->len ARITY_ELEMENTS_##n(a)); \
    }                                                                                           \
    static void commit_long_##n(const answer *r, const gex_AM_Arg_t *a)                         \
    {                                                                                           \
        (void)a;                                                                                \
        gex_AM_SrcDesc_t desc =                                                                 \
            gex_AM_PrepareReplyLong(r->token, NULL, r->len, r->len, NULL, NULL, 0, n);          \
        memcpy(gex_AM_SrcDescAddr(desc), r->payload, r->len);                                   \
        gex_AM_CommitReplyLong##n(desc, AM_LONG_REPLY + (n), r->len,                            \
                                  r->dest ARITY_ELEMENTS_##n(a));                               \
    }
ARITY_EACH(COMMITS)

typedef void (*reply_fn)(const answer *r, const gex_AM_Arg_t *a);
#define ROW_SHORT(n)  reply_short_##n,
#define ROW_MEDIUM(n) reply_medium_##n,
#define ROW_LONG(n)   reply_long_##n,
static const reply_fn reply_fns[3][ARITIES] = { { ARITY_EACH(ROW_SHORT) },
                                                { ARITY_EACH(ROW_MEDIUM) },
                                                { ARITY_EACH(ROW_LONG) } };

#define ROW_COMMIT_MEDIUM(n) commit_medium_##n,
#define ROW_COMMIT_LONG(n)   commit_long_##n,
static const reply_fn commit_fns[3][ARITIES] = { { NULL },
                                                 { ARITY_EACH(ROW_COMMIT_MEDIUM) },
                                                 { ARITY_EACH(ROW_COMMIT_LONG) } };

/* The longest reply that may be made in a buffer of the library's. */
static size_t longest_negotiated(const am_reply *r, gex_Rank_t peer)
{
    const gex_Flags_t flags = GEX_FLAG_AM_PREPARE_LEAST_ALLOC;
    return r->category == AM_MEDIUM
               ? gex_AM_MaxReplyMedium(shadow.world, peer, NULL, flags, r->arg_count)
               : gex_AM_MaxReplyLong(shadow.world, peer, NULL, flags, r->arg_count);
}

am_reply am_reply_of(uint64_t key, am_want want, gex_Rank_t peer)
{
    am_reply r = { .category = (am_category)(want - WANT_SHORT) };
    r.arg_count = 1 + (unsigned)(key >> 40) % ARITY_MAX;
    if (r.category == AM_SHORT)
        return r;
    size_t most = r.category == AM_MEDIUM
                      ? gex_AM_MaxReplyMedium(shadow.world, peer, GEX_EVENT_NOW, 0, r.arg_count)
                      : gex_AM_MaxReplyLong(shadow.world, peer, GEX_EVENT_NOW, 0, r.arg_count);
    if (most > LEN_MAX)
        most = LEN_MAX;
    unsigned octave = (unsigned)(key >> 44 & 0xFFFF) % OCTAVES;
    while ((size_t)2 << octave > most)
        octave -= octave % 2 + 1; /* makes short payloads frequent */
    r.len = ((size_t)1 << octave) + (size_t)(random_mix(key) & (((uint64_t)1 << octave) - 1));
    return r;
}

static void reply(const arrival *a, gex_Rank_t from, uint64_t key)
{
    const uint32_t name = (uint32_t)a->args[0];
    am_reply r = am_reply_of(key, am_name_want(name), from);
    answer how = { .token = a->token, .payload = am_payload(key, true), .len = r.len };
    gex_AM_Arg_t args[ARITY_MAX] = { a->args[0] };
    for (unsigned i = 1; i < r.arg_count; i++)
        args[i] = am_arg(key, true, i);
    if (r.category == AM_LONG)
        how.dest = replies_of(from, am_name_thread(name)) + (uint32_t)a->args[1];
    if (r.category == AM_MEDIUM && a->category == AM_MEDIUM && a->len >= r.len)
        how.payload = memcpy(a->payload, how.payload, r.len); /* in the request's buffer */
    if (r.category != AM_SHORT && key >> 60 < 4 && r.len <= longest_negotiated(&r, from))
        commit_fns[r.category][r.arg_count](&how, args);
    else
        reply_fns[r.category][r.arg_count](&how, args);
}

static void got_bare(const arrival *a)
{
    gex_Rank_t from = sender_of(a->token);
    check_payload(a, from, am_bare_payload(from, a->len));
    if (a->is_reply) {
        atomic_fetch_add_explicit(&bare_replies_seen, 1, memory_order_release);
        return;
    }
    tally_add(&seen_bare[from], am_digest(from, a->category, 0, a->len));
    if (a->category == AM_SHORT)
        return;
    answer how = { .token = a->token };
    reply_fns[AM_SHORT][0](&how, NULL);
}

static void got(const arrival *a)
{
    if (a->arg_count == 0) {
        got_bare(a);
        return;
    }
    gex_Rank_t from = sender_of(a->token);
    const uint32_t name = (uint32_t)a->args[0];
    uint64_t key = am_key(a->is_reply ? shadow.rank : from, name);
    check_payload(a, from, am_payload(key, a->is_reply));
    check_args(a, from, key);
    uint64_t digest = am_digest(key, a->category, a->arg_count, a->len);
    if (a->is_reply) {
        tally_add(&replies_seen[am_name_thread(name)], digest);
        return;
    }
    if (am_name_want(name) != WANT_NOTHING)
        reply(a, from, key);
    tally_add(&seen[from][am_name_thread(name)], digest);
}

/* ---- handlers -------------------------------------------------------------------------------- */

#define HANDLER_SHORT(n, suffix, is_reply)                                     \
    static void short_##suffix##_##n(gex_Token_t token ARITY_PARAMETERS_##n)   \
    {                                                                          \
        const gex_AM_Arg_t args[] = { 0 ARITY_NAMES_##n };                     \
        const arrival a = { token, AM_SHORT, is_reply, NULL, 0, args + 1, n }; \
        got(&a);                                                               \
    }
#define HANDLER_BODY(n, suffix, is_reply, name, category)                           \
    static void name##_##suffix##_##n(gex_Token_t token, void *payload,             \
                                      size_t len ARITY_PARAMETERS_##n)              \
    {                                                                               \
        const gex_AM_Arg_t args[] = { 0 ARITY_NAMES_##n };                          \
        const arrival a = { token, category, is_reply, payload, len, args + 1, n }; \
        got(&a);                                                                    \
    }
#define HANDLERS(n)                                    \
    HANDLER_SHORT(n, request, false)                   \
    HANDLER_SHORT(n, reply, true)                      \
    HANDLER_BODY(n, request, false, medium, AM_MEDIUM) \
    HANDLER_BODY(n, reply, true, medium, AM_MEDIUM)    \
    HANDLER_BODY(n, request, false, long, AM_LONG)     \
    HANDLER_BODY(n, reply, true, long, AM_LONG)
ARITY_EACH(HANDLERS)

#define ENTRY(base, n, kind, role, function)                                                   \
    { (base) + (n), (gex_AM_Fn_t)(function), GEX_FLAG_AM_##kind | GEX_FLAG_AM_##role, n, NULL, \
      #function },
#define ENTRIES(n)                                                   \
    ENTRY(AM_SHORT_REQUEST, n, SHORT, REQUEST, short_request_##n)    \
    ENTRY(AM_SHORT_REPLY, n, SHORT, REPLY, short_reply_##n)          \
    ENTRY(AM_MEDIUM_REQUEST, n, MEDIUM, REQUEST, medium_request_##n) \
    ENTRY(AM_MEDIUM_REPLY, n, MEDIUM, REPLY, medium_reply_##n)       \
    ENTRY(AM_LONG_REQUEST, n, LONG, REQUEST, long_request_##n)       \
    ENTRY(AM_LONG_REPLY, n, LONG, REPLY, long_reply_##n)

void am_register(void)
{
    static gex_AM_Entry_t entries[] = { ARITY_EACH(ENTRIES) };
    if (gex_EP_RegisterHandlers(shadow.endpoint, entries, sizeof entries / sizeof *entries) !=
        GASNET_OK)
        mismatch_at(shadow.rank, 0, 0, "handlers cannot be registered");
}

/* ---- was everything seen, once? -------------------------------------------------------------- */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Polls until the count is reached or the limit of time is over. */
static uint64_t count_wait(_Atomic uint64_t *count, uint64_t wanted)
{
    const double end = now_s() + 0.75 * shadow.options.stall;
    uint64_t now;
    while ((now = atomic_load_explicit(count, memory_order_acquire)) < wanted && now_s() < end)
        for (unsigned polls = 0; polls < 32;)
            poll_once(&polls);
    return now;
}

void tally_check(shared_tally *t, const am_tally *said, gex_Rank_t from, unsigned thread,
                 const char *what)
{
    (void)count_wait(&t->count, said->count);
    am_tally now = tally_read(t);
    uint64_t op = from == shadow.rank ? shadow.workers[thread].op : shadow.workers[0].op;
    if (now.count != said->count)
        mismatch_at(from, thread, op,
                    "%s of rank %u: %" PRIu64 " were sent to rank %u, %" PRIu64 " were seen", what,
                    from, said->count, shadow.rank, now.count);
    if (now.sum != said->sum)
        mismatch_at(from, thread, op,
                    "%s of rank %u to rank %u: all %" PRIu64
                    " were seen, but not with the lengths, categories or names that were sent",
                    what, from, shadow.rank, now.count);
}

void am_wait_replies(worker *w)
{
    tally_check(&replies_seen[w->index], &w->replies, shadow.rank, w->index, "replies to requests");
}

void am_check(const worker *w, gex_Rank_t from, unsigned thread, const row *said)
{
    (void)w;
    tally_check(&seen[from][thread], &said->sent, from, thread, "requests");
}

void am_check_bare(gex_Rank_t from, const am_tally *said)
{
    tally_check(&seen_bare[from], said, from, 0, "messages without arguments");
}

void am_check_bare_replies(void)
{
    uint64_t wanted = atomic_load_explicit(&bare_replies_expected, memory_order_relaxed);
    uint64_t now = count_wait(&bare_replies_seen, wanted);
    if (now != wanted)
        mismatch_at(shadow.rank, 0, shadow.workers[0].op,
                    "replies without arguments: %" PRIu64 " are expected, %" PRIu64 " were seen",
                    wanted, now);
}
