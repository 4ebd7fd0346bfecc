/* SPDX-License-Identifier: BSD-3-Clause */
/* end_atomic.c: implicit atomic operations are left: only puts and gets are waited for.
 *
 * EXPECT: gex_AD_OpNBI_U64: 2 not synchronised when the program ends
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_ratomic.h>

int main(void)
{
    begin();
    gex_AD_t domain;
    gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD, 0);
    (void)gex_AD_OpNBI_U64(domain, NULL, peer, theirs, GEX_OP_ADD, 1, 0, 0);
    (void)gex_AD_OpNBI_U64(domain, NULL, peer, theirs, GEX_OP_ADD, 1, 0, 0);
    gex_NBI_Wait(GEX_EC_GET | GEX_EC_PUT, 0);
    FIX(gex_NBI_Wait(GEX_EC_RMW, 0);)
    gex_AD_Destroy(domain);
    return finish();
}
