/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_null_source.c: a put from nowhere.
 *
 * EXPECT: gex_RMA_PutNB: the local address is NULL, and the length 8
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_Event_Wait(gex_RMA_PutNB(team, peer, theirs, BUG(NULL) FIX(here), 8, GEX_EVENT_NOW, 0));
    return finish();
}
