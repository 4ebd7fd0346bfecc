/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.h: what the collectives that move and combine data share. Each is an operation in flight
 * like any other: it is waited for in every way, and then its result is compared. */
#ifndef PEN_TESTS_SHADOW_COLL_H
#define PEN_TESTS_SHADOW_COLL_H

#include "shadow.h"

#include <gasnet_coll.h>

typedef struct coll_call {
    gex_Rank_t root;
    size_t len;   /* of one member's part */
    uint64_t key; /* what all members give follows from it */
    unsigned form;
    bool numbers; /* buffers are arrays of a type, aligned for it */
    pending *wait;
    unsigned char *found, *source;
} coll_call;

/* What a member gives to a collective: len bytes of the pool. */
static inline const unsigned char *coll_bytes(uint64_t key, gex_Rank_t member)
{
    return shadow.pool + random_mix2(key, member) % (POOL_LEN - LIBRARY_LEN) / 8 * 8;
}

/* Makes `most` of them, several in flight. parts: buffers of a part's length that each needs. */
typedef void (*coll_one_fn)(worker *w, random_state *random, size_t len);
void coll_many(worker *w, unsigned most, unsigned parts, coll_one_fn one);

/* Begins the operation, the same on all members. */
coll_call coll_begin(worker *w, random_state *random, size_t len, unsigned forms);
/* A copy of what is given, scribbled over when it may be. */
void coll_source(worker *w, coll_call *c, const unsigned char *bytes, size_t len);
/* Where the result goes; expected must last. NULL: nothing comes, and len bytes stay as they are.
 */
void coll_result(worker *w, coll_call *c, const unsigned char *expected, size_t len);
void coll_begun(worker *w, const coll_call *c, gex_Event_t event);

#endif
