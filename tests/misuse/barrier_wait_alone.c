/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier_wait_alone.c: a barrier is waited for that was not notified.
 *
 * EXPECT: gasnet_barrier_wait was called without gasnet_barrier_notify
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    FIX(gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);)
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    return finish();
}
