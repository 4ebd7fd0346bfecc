/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_put_null.c: a put to NULL.
 *
 * EXPECT: put of 8 bytes at \(nil\) of rank [0-9]+ is outside its segment
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    (void)gex_RMA_PutBlocking(team, peer, BUG(NULL) FIX(theirs), here, 8, 0);
    return finish();
}
