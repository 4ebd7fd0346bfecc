/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_destroy_held.c: a lock is destroyed while it is held.
 *
 * EXPECT: gex_HSL_Destroy: the lock at 0x[0-9a-f]+ is held
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_HSL_Lock(&lock);
    FIX(gex_HSL_Unlock(&lock);)
    gex_HSL_Destroy(&lock);
    BUG(gex_HSL_Unlock(&lock);)
    return finish();
}
