/* SPDX-License-Identifier: BSD-3-Clause */
/* end_event.c: main returns, and an event was not synchronised.
 *
 * EXPECT: gex_RMA_PutNB: 1 not synchronised when the program ends \(one of them: 8 bytes at
 * 0x[0-9a-f]+ of rank [0-9]\); wait for the event
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t event = gex_RMA_PutNB(team, peer, theirs, here, 8, GEX_EVENT_NOW, 0);
    FIX(gex_Event_Wait(event);)
    (void)event;
    return finish();
}
