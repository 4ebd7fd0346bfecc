/* SPDX-License-Identifier: BSD-3-Clause */
/* region_nested.c: access regions are nested.
 *
 * EXPECT: an access region is begun inside an access region of the same thread
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_NBI_BeginAccessRegion(0);
    BUG(gex_NBI_BeginAccessRegion(0);)
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    return finish();
}
