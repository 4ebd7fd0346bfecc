/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_flags.c: a get with a flag that gets do not have.
 *
 * EXPECT: gex_RMA_GetBlocking: flags 0x400: this call does not accept 0x400
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    (void)gex_RMA_GetBlocking(team, here, peer, theirs, 8, BUG(GEX_FLAG_PEER_SEG_OFFSET) FIX(0));
    return finish();
}
