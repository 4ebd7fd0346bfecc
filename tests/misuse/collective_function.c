/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_function.c: a reduction by a function that is not registered.
 *
 * EXPECT: gasnet_coll_reduce: there is no function 1: gasnet_coll_init registered 1
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

static void first(void *results, size_t count, const void *left, size_t left_count,
                  const void *right, size_t len, int flags, int arg)
{
    (void)right;
    (void)left_count;
    (void)flags;
    (void)arg;
    memmove(results, left, count * len);
}

int main(void)
{
    begin();
    gasnet_coll_fn_entry_t table[] = { { first, GASNET_COLL_NONCOMM } };
    gasnet_coll_init(NULL, me, table, 1, 0);
    gasnet_coll_reduce(team, 0, here, there, 0, 0, 8, 4, BUG(1) FIX(0), 0,
                       GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
    return finish();
}
