/* SPDX-License-Identifier: BSD-3-Clause */
/* source_leaf_queried.c: a source is changed when its leaf event is known, but not synchronised.
 *
 * EXPECT: gex_RMA_PutNB: the source, 8 bytes at 0x[0-9a-f]+, was written before the operation was
 * synchronised
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t leaf;
    gex_Event_t put = gex_RMA_PutNB(team, peer, theirs, here, 8, &leaf, 0);
    gex_Event_t queried = gex_Event_QueryLeaf(put, GEX_EC_LC);
    FIX(gex_Event_Wait(queried);)
    here[0] = 77;
    BUG(gex_Event_Wait(queried);)
    gex_Event_Wait(put);
    return finish();
}
