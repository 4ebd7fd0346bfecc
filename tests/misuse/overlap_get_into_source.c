/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_get_into_source.c: a get into a buffer that an outstanding put reads.
 *
 * EXPECT: gex_RMA_GetNB: the destination, 16 bytes at 0x[0-9a-f]+ of rank [0-9], overlaps the
 * source of an outstanding gex_RMA_PutNB
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t put = gex_RMA_PutNB(team, peer, theirs, here, 64, GEX_EVENT_DEFER, 0);
    FIX(gex_Event_Wait(put);)
    gex_Event_Wait(gex_RMA_GetNB(team, here + 8, peer, theirs + 512, 16, 0));
    BUG(gex_Event_Wait(put);)
    return finish();
}
