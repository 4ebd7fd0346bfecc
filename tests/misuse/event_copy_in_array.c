/* SPDX-License-Identifier: BSD-3-Clause */
/* event_copy_in_array.c: an array holds an event that was waited for alone.
 *
 * EXPECT: gex_Event_WaitAll: event 0x[0-9a-f]+ was synchronised before
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t events[2];
    events[0] = gex_RMA_GetNB(team, here, peer, theirs, 8, 0);
    events[1] = gex_RMA_GetNB(team, here + 8, peer, theirs, 8, 0);
    gex_Event_Wait(events[1]);
    FIX(events[1] = GEX_EVENT_INVALID;)
    gex_Event_WaitAll(events, 2, 0);
    return finish();
}
