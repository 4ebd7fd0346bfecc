/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_mask.c: an event category that there is not.
 *
 * EXPECT: gex_NBI_Wait: mask 0x100: 0x100 is no event category
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_NBI_Wait(BUG(0x100) FIX(GEX_EC_ALL), 0);
    return finish();
}
