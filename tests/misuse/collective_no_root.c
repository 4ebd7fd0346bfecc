/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_no_root.c: a broadcast from a rank beyond the team.
 *
 * EXPECT: gex_Coll_BroadcastNB: there is no rank 7 to be the root in a team of 2
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

int main(void)
{
    begin();
    gex_Event_Wait(gex_Coll_BroadcastNB(team, BUG(7) FIX(0), here, there, 64, 0));
    return finish();
}
