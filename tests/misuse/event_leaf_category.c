/* SPDX-License-Identifier: BSD-3-Clause */
/* event_leaf_category.c: a leaf of no category.
 *
 * EXPECT: gex_Event_QueryLeaf: category 0x100: 0x100 is no event category
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_t event = gex_RMA_PutNB(team, peer, theirs, here, 8, GEX_EVENT_DEFER, 0);
    BUG((void)gex_Event_QueryLeaf(event, 0x100);)
    gex_Event_Wait(event);
    return finish();
}
