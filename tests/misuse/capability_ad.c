/* SPDX-License-Identifier: BSD-3-Clause */
/* capability_ad.c: a domain of atomics for endpoints that were made without.
 *
 * EXPECT: gex_AD_Create: endpoint 1 of this process was made without GEX_EP_CAPABILITY_AD
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/endpoint.h"

#include <gasnet_ratomic.h>

int main(void)
{
    begin();
    BUG(make_second(GEX_EP_CAPABILITY_RMA);)
    FIX(make_second(GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_AD);)
    gex_AD_t domain;
    gex_AD_Create(&domain, team_of_second(), GEX_DT_U64, GEX_OP_ADD, 0);
    gex_AD_Destroy(domain);
    return finish();
}
