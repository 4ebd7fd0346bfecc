/* SPDX-License-Identifier: BSD-3-Clause */
/* am.h: what the senders and the handlers of active messages agree on.
 *
 * The first argument of a message is its name: the sender's thread, the kind of reply that is
 * wanted, and a number. From it, the sender's rank and the seed follow the other arguments, where
 * in the pool the payload was taken from, and all of the reply. Messages without arguments are
 * called bare: their payload follows from rank and length, and they are counted by rank. */
#ifndef PEN_TESTS_SHADOW_AM_H
#define PEN_TESTS_SHADOW_AM_H

#include "arity.h"
#include "shadow.h"

enum {
    AM_SHORT_REQUEST = 128,
    AM_MEDIUM_REQUEST = AM_SHORT_REQUEST + ARITIES,
    AM_LONG_REQUEST = AM_MEDIUM_REQUEST + ARITIES,
    AM_SHORT_REPLY = AM_LONG_REQUEST + ARITIES,
    AM_MEDIUM_REPLY = AM_SHORT_REPLY + ARITIES,
    AM_LONG_REPLY = AM_MEDIUM_REPLY + ARITIES,
    BARE_LONG_LEN = 64, /* at most, each in a place of its own in the landing */
    BARE_LONGS_MAX = 16 /* in a phase, from one thread to one rank */
};

typedef enum am_category { AM_SHORT, AM_MEDIUM, AM_LONG } am_category;
typedef enum am_want { WANT_NOTHING, WANT_SHORT, WANT_MEDIUM, WANT_LONG } am_want;

/* The name of a message. */
static inline uint32_t am_name(unsigned thread, am_want want, uint32_t number)
{
    return thread | (uint32_t)want << 3 | number << 5;
}
static inline unsigned am_name_thread(uint32_t name) { return name & 7u; }
static inline am_want am_name_want(uint32_t name) { return (am_want)(name >> 3 & 3u); }

/* What all else follows from: the name and who asked. */
static inline uint64_t am_key(gex_Rank_t requester, uint32_t name)
{
    return random_mix2(shadow.options.seed + 77 + requester, name);
}

static inline gex_AM_Arg_t am_arg(uint64_t key, bool is_reply, unsigned i)
{
    return (gex_AM_Arg_t)(uint32_t)random_mix2(key, 2 * i + is_reply);
}

static inline const unsigned char *am_payload(uint64_t key, bool is_reply)
{
    return shadow.pool + random_mix2(key, 100 + is_reply) % (POOL_LEN - LEN_MAX);
}

static inline const unsigned char *am_bare_payload(gex_Rank_t from, size_t len)
{
    return shadow.pool + random_mix2(from, len) % (POOL_LEN - LEN_MAX);
}

/* Added up for each message, at both ends. */
static inline uint64_t am_digest(uint64_t key, am_category category, unsigned arg_count, size_t len)
{
    return random_mix2(key, (uint64_t)len << 8 | (uint64_t)category << 5 | arg_count);
}

/* A request about to be sent. */
typedef struct am_request {
    gex_TM_t team;
    gex_Rank_t rank;
    const void *source;
    size_t len;
    void *dest;
    gex_Event_t *local;
    gex_Flags_t flags, limit_flags; /* what its longest payload depends on */
    am_category category;
    unsigned arg_count;
    gex_AM_Arg_t args[ARITY_MAX];
    gex_Rank_t target; /* of the job */
    am_want want;
} am_request;

am_request am_request_draw(worker *w, const burst *b, am_category category,
                           gex_Flags_t limit_flags);
/* Where a Long goes; may wait for replies, so it comes before the message has its name. */
void am_request_landing(worker *w, am_request *r);
/* Gives the message its name and all that follows from it; answers its payload. */
const unsigned char *am_request_name(worker *w, am_request *r);
/* It was sent from r->source, at the desk. */
void am_request_sent(worker *w, const am_request *r, gex_Event_t event);
burst am_burst(worker *w, unsigned most, am_category category);

/* The reply to a request. */
typedef struct am_reply {
    am_category category;
    unsigned arg_count;
    size_t len;
} am_reply;

/* peer: the other end, whose limits are those of both. */
/* Of arrivals: handlers run on every thread. */
typedef struct shared_tally {
    _Atomic uint64_t count, sum;
} shared_tally;

void tally_add(shared_tally *t, uint64_t digest);
/* Waits until as many came as were sent; they have to be the same. */
void tally_check(shared_tally *t, const am_tally *said, gex_Rank_t from, unsigned thread,
                 const char *what);

am_reply am_reply_of(uint64_t key, am_want want, gex_Rank_t peer);

/* Bare replies this rank waits for. */
void am_expect_bare(void);

#endif
