/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_destroyed.c: a lock is taken after its end.
 *
 * EXPECT: gex_HSL_Lock: the lock at 0x[0-9a-f]+ was destroyed
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_HSL_Destroy(&lock);
    FIX(gex_HSL_Init(&lock);)
    gex_HSL_Lock(&lock);
    gex_HSL_Unlock(&lock);
    return finish();
}
