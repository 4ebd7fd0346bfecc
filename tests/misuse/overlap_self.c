/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_self.c: source and destination of one put overlap.
 *
 * EXPECT: gex_RMA_PutBlocking: source and destination, 64 bytes at 0x[0-9a-f]+ and at 0x[0-9a-f]+
 * of this rank, overlap
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    (void)gex_RMA_PutBlocking(team, me, mine + BUG(8) FIX(64), mine, 64, 0);
    return finish();
}
