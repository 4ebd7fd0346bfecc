/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_get_before.c: a get from before the segment.
 *
 * EXPECT: get of 8 bytes at 0x[0-9a-f]+ of rank [0-9]+ is outside its segment
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    (void)gex_RMA_GetBlocking(team, here, peer, theirs BUG(-8), 8, 0);
    return finish();
}
