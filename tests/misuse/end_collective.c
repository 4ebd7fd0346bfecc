/* SPDX-License-Identifier: BSD-3-Clause */
/* end_collective.c: the event of a broadcast is dropped.
 *
 * EXPECT: gex_Coll_BroadcastNB: 1 not synchronised when the program ends
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

int main(void)
{
    begin();
    gex_Event_t event = gex_Coll_BroadcastNB(team, 0, here, there, 64, 0);
    FIX(gex_Event_Wait(event);)
    (void)event;
    return finish();
}
