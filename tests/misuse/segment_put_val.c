/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_put_val.c: a value is put where the peer has no segment.
 *
 * EXPECT: put of 4 bytes at 0x[0-9a-f]+ of rank [0-9]+ is outside its segment
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_put_val(peer, BUG(there) FIX(theirs), 7, 4);
    return finish();
}
