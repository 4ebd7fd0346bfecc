/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_null.c: a broadcast to nowhere.
 *
 * EXPECT: gex_Coll_BroadcastNB: dst is NULL, for 64 bytes
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

int main(void)
{
    begin();
    gex_Event_Wait(gex_Coll_BroadcastNB(team, 0, BUG(NULL) FIX(here), there, 64, 0));
    return finish();
}
