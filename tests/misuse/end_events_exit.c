/* SPDX-License-Identifier: BSD-3-Clause */
/* end_events_exit.c: gasnet_exit, and three events were not synchronised.
 *
 * EXPECT: gex_RMA_GetNB: 3 not synchronised when gasnet_exit\(0\) is called
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t events[3];
    for (int i = 0; i < 3; i++)
        events[i] = gex_RMA_GetNB(team, here + 8 * i, peer, theirs, 8, 0);
    FIX(gex_Event_WaitAll(events, 3, 0);)
    (void)events;
    barrier();
    gasnet_exit(0);
}
