/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_after_region.c: a put over those of an access region that is not synchronised.
 *
 * EXPECT: gex_RMA_PutBlocking: the destination, 8 bytes at 0x[0-9a-f]+ of rank [0-9], overlaps the
 * destination of an outstanding gex_RMA_PutNBI
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_NBI_BeginAccessRegion(0);
    (void)gex_RMA_PutNBI(team, peer, theirs, here, 8, GEX_EVENT_NOW, 0);
    gex_Event_t region = gex_NBI_EndAccessRegion(0);
    FIX(gex_Event_Wait(region);)
    (void)gex_RMA_PutBlocking(team, peer, theirs, there, 8, 0);
    BUG(gex_Event_Wait(region);)
    return finish();
}
