/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_put_past_end.c: a put that ends behind the segment.
 *
 * EXPECT: put of 16 bytes at 0x[0-9a-f]+ of rank [0-9]+ is outside its segment
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    (void)gex_RMA_PutBlocking(team, peer, theirs + SEGMENT_LEN - BUG(8) FIX(16), here, 16, 0);
    return finish();
}
