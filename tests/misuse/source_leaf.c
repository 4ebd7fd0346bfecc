/* SPDX-License-Identifier: BSD-3-Clause */
/* source_leaf.c: a source is changed before its leaf event is synchronised.
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
    FIX(gex_Event_Wait(leaf);)
    here[0] = 77;
    BUG(gex_Event_Wait(leaf);)
    gex_Event_Wait(put);
    return finish();
}
