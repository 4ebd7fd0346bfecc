/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier_try_alone.c: a barrier is tried that was not notified.
 *
 * EXPECT: gasnet_barrier_try was called without gasnet_barrier_notify
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    BUG((void)gasnet_barrier_try(0, GASNET_BARRIERFLAG_ANONYMOUS);)
    return finish();
}
