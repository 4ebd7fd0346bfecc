/* SPDX-License-Identifier: BSD-3-Clause */
/* capability_vis.c: a scattered put to an endpoint that was made for puts of one piece.
 *
 * EXPECT: gex_VIS_VectorPutBlocking: endpoint 1 of this process was made without
 * GEX_EP_CAPABILITY_VIS
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/endpoint.h"

int main(void)
{
    begin();
    BUG(make_second(GEX_EP_CAPABILITY_RMA);)
    FIX(make_second(GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_VIS);)
    gex_Memvec_t to = { second_theirs, 8 }, from = { here, 8 };
    (void)gex_VIS_VectorPutBlocking(gex_TM_Pair(second, 1), peer, 1, &to, 1, &from, 0);
    return finish();
}
