/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.h: shared code of the collectives that move and combine data. Each is an operation in
 * flight: it is waited for in every way, and then its result is compared. */
#ifndef PEN_TESTS_SHADOW_COLL_H
#define PEN_TESTS_SHADOW_COLL_H

#include "shadow.h"

#include <gasnet_coll.h>

typedef struct coll_call {
    gex_Rank_t root;
    size_t len;   /* length of one member's part */
    uint64_t key; /* the contributions of all members follow from it */
    unsigned form;
    bool numbers; /* buffers are arrays of a type, aligned for it */
    pending *wait;
    unsigned char *found, *source;
} coll_call;

/* Returns a member's contribution to a collective: len bytes of the pool. */
static inline const unsigned char *coll_bytes(uint64_t key, gex_Rank_t member)
{
    return shadow.pool + random_mix2(key, member) % (POOL_LEN - LIBRARY_LEN) / 8 * 8;
}

/* Makes `most` operations, several in flight. parts: buffers of a part's length that each needs. */
typedef void (*coll_one_fn)(worker *w, random_state *random, size_t len);
void coll_many(worker *w, unsigned most, unsigned parts, coll_one_fn one);

/* Begins the operation with the same parameters on all members. */
coll_call coll_begin(worker *w, random_state *random, size_t len, unsigned forms);
/* Returns a copy of the contribution, which is scribbled over once the library releases it. */
void coll_source(worker *w, coll_call *c, const unsigned char *bytes, size_t len);
/* Sets the place of the result; expected must last. expected NULL: no result arrives, and len
 * bytes stay unchanged. */
void coll_result(worker *w, coll_call *c, const unsigned char *expected, size_t len);
void coll_begun(worker *w, const coll_call *c, gex_Event_t event);

#endif
