/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier_team.c: a barrier over a pair.
 *
 * EXPECT: gex_Coll_BarrierNB: the team comes from gex_TM_Pair
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_Wait(gex_Coll_BarrierNB(BUG(gex_TM_Pair(endpoint, 0)) FIX(team), 0));
    return finish();
}
