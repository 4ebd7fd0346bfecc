/* SPDX-License-Identifier: BSD-3-Clause */
/* region_wait_inside.c: implicit operations are waited for in an access region.
 *
 * EXPECT: implicit operations are synchronised inside an access region of the same thread
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_NBI_BeginAccessRegion(0);
    BUG(gex_NBI_Wait(GEX_EC_ALL, 0);)
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    return finish();
}
