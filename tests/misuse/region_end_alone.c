/* SPDX-License-Identifier: BSD-3-Clause */
/* region_end_alone.c: an access region is ended that was not begun.
 *
 * EXPECT: an access region is ended that was not begun by this thread
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    FIX(gex_NBI_BeginAccessRegion(0);)
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    return finish();
}
