/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_unlock_free.c: a lock is dropped that is not taken.
 *
 * EXPECT: gex_HSL_Unlock: this thread does not hold the lock at 0x
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    FIX(gex_HSL_Lock(&lock);)
    gex_HSL_Unlock(&lock);
    return finish();
}
