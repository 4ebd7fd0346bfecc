/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier_notify_twice.c: a barrier is notified twice.
 *
 * EXPECT: gasnet_barrier_notify was called twice
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    BUG(gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);)
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    return finish();
}
