/* SPDX-License-Identifier: BSD-3-Clause */
/* end_finalize_event.c: leaving the job with an event that was not waited for.
 *
 * EXPECT: gex_RMA_GetNB: 1 not synchronised when pen_finalize is called
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t event = gex_RMA_GetNB(team, here, peer, theirs, 8, 0);
    FIX(gex_Event_Wait(event);)
    (void)event;
    barrier();
    return pen_finalize();
}
