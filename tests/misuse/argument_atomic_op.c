/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_atomic_op.c: an atomic operation that its domain does not have.
 *
 * EXPECT: gex_AD_OpNB_U64: operation 0x[0-9a-f]+: the domain was made for the operations
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
    gex_Event_Wait(
        gex_AD_OpNB_U64(domain, NULL, peer, theirs, BUG(GEX_OP_XOR) FIX(GEX_OP_ADD), 1, 0, 0));
    gex_AD_Destroy(domain);
    return finish();
}
