/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_in_region.c: two puts of one access region write the same bytes.
 *
 * EXPECT: gex_RMA_PutNBI: the destination, 8 bytes at 0x[0-9a-f]+ of rank [0-9], overlaps the
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
    (void)gex_RMA_PutNBI(team, peer, theirs + BUG(4) FIX(8), there, 8, GEX_EVENT_NOW, 0);
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    return finish();
}
