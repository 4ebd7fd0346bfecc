/* SPDX-License-Identifier: BSD-3-Clause */
/* end_region_event.c: the event of an access region is dropped.
 *
 * EXPECT: gex_NBI_EndAccessRegion: 1 not synchronised when the program ends
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_NBI_BeginAccessRegion(0);
    (void)gex_RMA_PutNBI(team, peer, theirs, here, 8, GEX_EVENT_NOW, 0);
    gex_Event_t region = gex_NBI_EndAccessRegion(0);
    FIX(gex_Event_Wait(region);)
    (void)region;
    return finish();
}
