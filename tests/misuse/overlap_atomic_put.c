/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_atomic_put.c: a put over the target of an outstanding atomic operation.
 *
 * EXPECT: gex_RMA_PutBlocking: the destination, 8 bytes at 0x[0-9a-f]+ of rank [0-9], overlaps the
 * target of an outstanding gex_AD_OpNB_U64
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
    gex_Event_t add = gex_AD_OpNB_U64(domain, NULL, peer, theirs, GEX_OP_ADD, 1, 0, 0);
    FIX(gex_Event_Wait(add);)
    (void)gex_RMA_PutBlocking(team, peer, theirs, here, 8, 0);
    BUG(gex_Event_Wait(add);)
    gex_AD_Destroy(domain);
    return finish();
}
