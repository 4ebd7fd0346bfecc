/* SPDX-License-Identifier: BSD-3-Clause */
/* source_written.c: the source of an outstanding put is changed.
 *
 * EXPECT: gex_RMA_PutNB: the source, 64 bytes at 0x[0-9a-f]+, was written before the operation was
 * synchronised
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t put = gex_RMA_PutNB(team, peer, theirs, here, 64, GEX_EVENT_DEFER, 0);
    FIX(gex_Event_Wait(put);)
    here[5] = 77;
    BUG(gex_Event_Wait(put);)
    return finish();
}
