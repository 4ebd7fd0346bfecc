/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_get_of_put.c: a get of bytes that an outstanding put is to write.
 *
 * EXPECT: gex_RMA_GetBlocking: the source, 8 bytes at 0x[0-9a-f]+ of rank [0-9], overlaps the
 * destination of an outstanding gex_RMA_PutNBI
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    (void)gex_RMA_PutNBI(team, peer, theirs, here, 8, GEX_EVENT_NOW, 0);
    FIX(gex_NBI_Wait(GEX_EC_PUT, 0);)
    (void)gex_RMA_GetBlocking(team, there, peer, theirs, 8, 0);
    BUG(gex_NBI_Wait(GEX_EC_PUT, 0);)
    return finish();
}
