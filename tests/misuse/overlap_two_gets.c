/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_two_gets.c: two outstanding gets into one buffer.
 *
 * EXPECT: gex_RMA_GetNBI: the destination, 32 bytes at 0x[0-9a-f]+ of rank [0-9], overlaps the
 * destination of an outstanding gex_RMA_GetNBI
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    (void)gex_RMA_GetNBI(team, here, peer, theirs, 32, 0);
    FIX(gex_NBI_Wait(GEX_EC_GET, 0);)
    (void)gex_RMA_GetNBI(team, here, peer, theirs + 64, 32, 0);
    gex_NBI_Wait(GEX_EC_GET, 0);
    return finish();
}
