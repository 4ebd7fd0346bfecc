/* SPDX-License-Identifier: BSD-3-Clause */
/* capability_am.c: a message from an endpoint without the capability for messages.
 *
 * EXPECT: gex_AM_PrepareRequestMedium: from endpoint 1 to endpoint 0 of rank \d: active messages go
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/endpoint.h"

int main(void)
{
    begin();
    BUG(make_second(GEX_EP_CAPABILITY_RMA);)
    FIX(make_second(GEX_EP_CAPABILITY_RMA);)
    BUG(gex_TM_t pair = gex_TM_Pair(second, 0);)
    FIX(gex_TM_t pair = gex_TM_Pair(endpoint, 0);)
    gex_AM_SrcDesc_t message =
        gex_AM_PrepareRequestMedium(pair, peer, here, 8, 8, GEX_EVENT_NOW, 0, 0);
    (void)gex_AM_CancelRequestMedium(message, 0);
    return finish();
}
