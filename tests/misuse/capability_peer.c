/* SPDX-License-Identifier: BSD-3-Clause */
/* capability_peer.c: a get from an endpoint of the peer that was made for atomics only.
 *
 * EXPECT: gex_RMA_GetNB: endpoint 1 of rank \d of the job was made without GEX_EP_CAPABILITY_RMA
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/endpoint.h"

int main(void)
{
    begin();
    BUG(make_second(GEX_EP_CAPABILITY_AD);)
    FIX(make_second(GEX_EP_CAPABILITY_AD | GEX_EP_CAPABILITY_RMA);)
    gex_TM_t pair = gex_TM_Pair(endpoint, 1);
    gex_Event_Wait(gex_RMA_GetNB(pair, here, peer, second_theirs, 8, 0));
    return finish();
}
