/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_two_puts.c: two outstanding puts write the same bytes.
 *
 * EXPECT: gex_RMA_PutNB: the destination, 16 bytes at 0x[0-9a-f]+ of rank [0-9], overlaps the
 * destination of an outstanding gex_RMA_PutNB
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t first = gex_RMA_PutNB(team, peer, theirs, here, 16, GEX_EVENT_NOW, 0);
    FIX(gex_Event_Wait(first);)
    gex_Event_Wait(gex_RMA_PutNB(team, peer, theirs + 8, there, 16, GEX_EVENT_NOW, 0));
    BUG(gex_Event_Wait(first);)
    return finish();
}
