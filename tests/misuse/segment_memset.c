/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_memset.c: a memset behind the segment.
 *
 * EXPECT: memset of 64 bytes at 0x[0-9a-f]+ of rank [0-9]+ is outside its segment
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_memset(peer, theirs BUG(+SEGMENT_LEN), 3, 64);
    return finish();
}
