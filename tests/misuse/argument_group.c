/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_group.c: an explicit put asks for GEX_EVENT_GROUP.
 *
 * EXPECT: gex_RMA_PutNB: an event argument of this value is not legal here
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_Wait(
        gex_RMA_PutNB(team, peer, theirs, here, 8, BUG(GEX_EVENT_GROUP) FIX(GEX_EVENT_DEFER), 0));
    return finish();
}
