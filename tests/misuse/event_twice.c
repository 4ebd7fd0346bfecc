/* SPDX-License-Identifier: BSD-3-Clause */
/* event_twice.c: an event is waited for twice.
 *
 * EXPECT: gex_Event_Wait: event 0x[0-9a-f]+ was synchronised before
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t event = gex_RMA_PutNB(team, peer, theirs, here, 8, GEX_EVENT_NOW, 0);
    gex_Event_Wait(event);
    BUG(gex_Event_Wait(event);)
    return finish();
}
