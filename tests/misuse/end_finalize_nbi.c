/* SPDX-License-Identifier: BSD-3-Clause */
/* end_finalize_nbi.c: leaving the job with an implicit put under way.
 *
 * EXPECT: gex_RMA_PutNBI: 1 not synchronised when pen_finalize is called
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    (void)gex_RMA_PutNBI(team, peer, theirs, here, 8, GEX_EVENT_NOW, 0);
    FIX(gex_NBI_Wait(GEX_EC_PUT, 0);)
    barrier();
    return pen_finalize();
}
