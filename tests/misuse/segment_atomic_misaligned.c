/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_atomic_misaligned.c: an atomic operation at an odd address.
 *
 * EXPECT: atomic operation at 0x[0-9a-f]+ of rank [01]: a value of 8 bytes lies at a multiple of
 * its size
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
    gex_Event_Wait(gex_AD_OpNB_U64(domain, NULL, peer, theirs BUG(+1), GEX_OP_ADD, 1, 0, 0));
    gex_AD_Destroy(domain);
    return finish();
}
