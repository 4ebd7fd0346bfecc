/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_recursive.c: a lock is taken twice.
 *
 * EXPECT: gex_HSL_Lock: this thread holds the lock at 0x
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_HSL_Lock(&lock);
    BUG(gex_HSL_Lock(&lock);)
    gex_HSL_Unlock(&lock);
    return finish();
}
