/* SPDX-License-Identifier: BSD-3-Clause */
/* end_notified.c: a barrier is notified and not waited for.
 *
 * EXPECT: gasnet_barrier_notify: the barrier is not waited for when the program ends
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    barrier();
    BUG(gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);)
    return 0;
}
