/* SPDX-License-Identifier: BSD-3-Clause */
/* capability_rma.c: a put over a pair of an endpoint that was made for scattered ones only.
 *
 * EXPECT: gex_RMA_PutNB: endpoint 1 of this process was made without GEX_EP_CAPABILITY_RMA
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/endpoint.h"

int main(void)
{
    begin();
    BUG(make_second(GEX_EP_CAPABILITY_VIS);)
    FIX(make_second(GEX_EP_CAPABILITY_RMA);)
    gex_TM_t pair = gex_TM_Pair(second, 1);
    gex_Event_Wait(gex_RMA_PutNB(pair, peer, second_theirs, here, 8, GEX_EVENT_NOW, 0));
    return finish();
}
