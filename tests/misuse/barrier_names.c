/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier_names.c: ranks name a barrier differently.
 *
 * EXPECT: gasnet_barrier: name [01], flags 0x0: barrier mismatch
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    if (gasnet_barrier(BUG((int)me) FIX(5), 0) != GASNET_OK)
        gasnet_exit(1);
    return finish();
}
