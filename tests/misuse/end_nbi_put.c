/* SPDX-License-Identifier: BSD-3-Clause */
/* end_nbi_put.c: implicit puts are left.
 *
 * EXPECT: gex_RMA_PutNBI: 1 not synchronised when the program ends \(one of them: 8 bytes at
 * 0x[0-9a-f]+ of rank [0-9]\); call gex_NBI_Wait
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    (void)gex_RMA_PutNBI(team, peer, theirs, here, 8, GEX_EVENT_NOW, 0);
    FIX(gex_NBI_Wait(GEX_EC_PUT, 0);)
    return finish();
}
