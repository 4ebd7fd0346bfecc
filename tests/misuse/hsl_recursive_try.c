/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_recursive_try.c: a lock that is held is tried.
 *
 * EXPECT: gex_HSL_Trylock: this thread holds the lock at 0x
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_HSL_Lock(&lock);
    BUG((void)gex_HSL_Trylock(&lock);)
    gex_HSL_Unlock(&lock);
    return finish();
}
