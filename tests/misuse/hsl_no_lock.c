/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_no_lock.c: a lock was never initialised.
 *
 * EXPECT: gex_HSL_Lock: there is no lock at 0x
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_HSL_t fresh;
    memset(&fresh, 0x5a, sizeof(fresh));
    FIX(gex_HSL_Init(&fresh);)
    gex_HSL_Lock(&fresh);
    gex_HSL_Unlock(&fresh);
    return finish();
}
