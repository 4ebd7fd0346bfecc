/* SPDX-License-Identifier: BSD-3-Clause */
/* am.h: the agreement between the senders and the handlers of active messages.
 *
 * The first argument of a message is its name: the sender's thread, the kind of reply that is
 * wanted, and a number. The other arguments, the payload's place in the pool, and the whole reply
 * follow from the name, the sender's rank and the seed. Messages without arguments are called
 * bare: their payload follows from rank and length, and they are counted by rank. */
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
    BARE_LONG_LEN = 64, /* at most; each has its own place in the landing */
    BARE_LONGS_MAX = 16 /* in a phase, from one thread to one rank */
};

typedef enum am_category { AM_SHORT, AM_MEDIUM, AM_LONG } am_category;
typedef enum am_want { WANT_NOTHING, WANT_SHORT, WANT_MEDIUM, WANT_LONG } am_want;

/* Makes the name of a message. */
static inline uint32_t am_name(unsigned thread, am_want want, uint32_t number)
{
    return thread | (uint32_t)want << 3 | number << 5;
}
static inline unsigned am_name_thread(uint32_t name) { return name & 7u; }
static inline am_want am_name_want(uint32_t name) { return (am_want)(name >> 3 & 3u); }

/* Returns the key from which all contents follow; it depends on the name and the requester. */
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

/* Digests are added up for each message, at both ends. */
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
    gex_Flags_t flags, limit_flags; /* its longest payload depends on this */
    am_category category;
    unsigned arg_count;
    gex_AM_Arg_t args[ARITY_MAX];
    gex_Rank_t target; /* rank in the job */
    am_want want;
} am_request;

am_request am_request_draw(worker *w, const burst *b, am_category category,
                           gex_Flags_t limit_flags);
/* Finds the place for a Long. May wait for replies, so it is called before the message has its
 * name. */
void am_request_landing(worker *w, am_request *r);
/* Gives the message its name, derives its contents, and returns its payload. */
const unsigned char *am_request_name(worker *w, am_request *r);
/* Called after a message was sent from r->source, a desk buffer. */
void am_request_sent(worker *w, const am_request *r, gex_Event_t event);
burst am_burst(worker *w, unsigned most, am_category category);

/* The reply to a request. */
typedef struct am_reply {
    am_category category;
    unsigned arg_count;
    size_t len;
} am_reply;

/* Counts arrivals; atomic because handlers run on every thread. */
typedef struct shared_tally {
    _Atomic uint64_t count, sum;
} shared_tally;

void tally_add(shared_tally *t, uint64_t digest);
/* Waits until all messages that were sent have arrived, and compares their digests. */
void tally_check(shared_tally *t, const am_tally *said, gex_Rank_t from, unsigned thread,
                 const char *what);

/* Returns the reply to a request. peer: the opposite end; limits are the minimum of both ends. */
am_reply am_reply_of(uint64_t key, am_want want, gex_Rank_t peer);

/* Counts a bare reply that this rank waits for. */
void am_expect_bare(void);

#endif
