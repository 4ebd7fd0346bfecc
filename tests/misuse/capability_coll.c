/* SPDX-License-Identifier: BSD-3-Clause */
/* capability_coll.c: a barrier of endpoints that were made without collectives.
 *
 * EXPECT: gex_Coll_BarrierNB: endpoint 1 of this process was made without GEX_EP_CAPABILITY_COLL
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/endpoint.h"

int main(void)
{
    begin();
    BUG(make_second(GEX_EP_CAPABILITY_RMA);)
    FIX(make_second(GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_COLL);)
    gex_TM_t others = team_of_second();
    gex_Event_Wait(gex_Coll_BarrierNB(others, 0));
    return finish();
}
