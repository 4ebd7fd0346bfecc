/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_barrier.c: a barrier with a lock held.
 *
 * EXPECT: gex_Coll_BarrierNB: called while holding a handler-safe lock
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_HSL_Lock(&lock);
    BUG(barrier();)
    gex_HSL_Unlock(&lock);
    return finish();
}
