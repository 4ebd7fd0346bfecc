/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_legacy_null.c: a broadcast of the GASNet-1 era to nowhere.
 *
 * EXPECT: gasnet_coll_broadcast: dst is NULL, for 64 bytes
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

int main(void)
{
    begin();
    gasnet_coll_broadcast(GASNET_TEAM_ALL, BUG(NULL) FIX(here), 0, there, 64,
                          GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
    return finish();
}
