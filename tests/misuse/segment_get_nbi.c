/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_get_nbi.c: an implicit get that reaches behind the segment.
 *
 * EXPECT: get of 4096 bytes at 0x[0-9a-f]+ of rank [0-9]+ is outside its segment
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    (void)gex_RMA_GetNBI(team, here, peer, theirs + SEGMENT_LEN - BUG(1) FIX(4096), 4096, 0);
    gex_NBI_Wait(GEX_EC_GET, 0);
    return finish();
}
