/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_root.c: ranks broadcast from different roots.
 *
 * EXPECT: collectives do not match: number [0-9]+ of the team is .* on team rank [0-9]+ \(job rank
 * [0-9]+\), but .* on team rank [0-9]+ \(this one\)
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

int main(void)
{
    begin();
    gex_Event_Wait(gex_Coll_BroadcastNB(team, BUG(me) FIX(0), here, there, 64, 0));
    return finish();
}
