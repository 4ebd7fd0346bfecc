/* SPDX-License-Identifier: BSD-3-Clause */
/* end_region_open.c: an access region is left open.
 *
 * EXPECT: gex_NBI_BeginAccessRegion: the access region is open when the program ends
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    barrier();
    gex_NBI_BeginAccessRegion(0);
    FIX(gex_Event_Wait(gex_NBI_EndAccessRegion(0));)
    return 0;
}
