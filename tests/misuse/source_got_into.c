/* SPDX-License-Identifier: BSD-3-Clause */
/* source_got_into.c: a get writes into the source of a put that is not synchronised.
 *
 * EXPECT: gex_RMA_PutNB: the source, 64 bytes at 0x[0-9a-f]+, was written before the operation was
 * synchronised
 *
 * PEN_RANKS: 2 */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    barrier();
    gex_Event_t put = gex_RMA_PutNB(team, peer, theirs, here, 64, GEX_EVENT_DEFER, 0);
    FIX(gex_Event_Wait(put));
    gex_RMA_GetBlocking(team, here, peer, theirs + 1024, 64, 0);
    BUG(gex_Event_Wait(put));
    return finish();
}
