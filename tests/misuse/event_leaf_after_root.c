/* SPDX-License-Identifier: BSD-3-Clause */
/* event_leaf_after_root.c: a leaf is waited for after its root.
 *
 * EXPECT: gex_Event_Wait: event 0x[0-9a-f]+ was synchronised before, or its root was
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t leaf;
    gex_Event_t root = gex_RMA_PutNB(team, peer, theirs, here, 8, &leaf, 0);
    FIX(gex_Event_Wait(leaf);)
    gex_Event_Wait(root);
    BUG(gex_Event_Wait(leaf);)
    return finish();
}
