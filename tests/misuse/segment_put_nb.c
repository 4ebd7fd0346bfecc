/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_put_nb.c: a put with an event, to an address of the caller.
 *
 * EXPECT: put of 8 bytes at 0x[0-9a-f]+ of rank [0-9]+ is outside its segment
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_Wait(gex_RMA_PutNB(team, peer, BUG(there) FIX(theirs), here, 8, GEX_EVENT_NOW, 0));
    return finish();
}
