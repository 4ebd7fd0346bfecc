/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_held_at_end.c: main returns with a lock held.
 *
 * EXPECT: gex_HSL_Lock: the lock at 0x[0-9a-f]+ is held when the program ends
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    barrier();
    gex_HSL_Lock(&lock);
    FIX(gex_HSL_Unlock(&lock);)
    return 0;
}
