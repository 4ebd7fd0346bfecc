/* SPDX-License-Identifier: BSD-3-Clause */
/* event_test_after.c: an event is tested after it was found done.
 *
 * EXPECT: gex_Event_Test: event 0x[0-9a-f]+ was synchronised before
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t event = gex_RMA_GetNB(team, here, peer, theirs, 8, 0);
    while (gex_Event_Test(event) != GASNET_OK)
        (void)gasnet_AMPoll();
    BUG((void)gex_Event_Test(event);)
    return finish();
}
