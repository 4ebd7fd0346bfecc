/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier_name.c: a rank waits by another name than it notified.
 *
 * EXPECT: gasnet_barrier_wait: name 4, flags 0x0: barrier mismatch
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_barrier_notify(3, 0);
    if (gasnet_barrier_wait(BUG(4) FIX(3), 0) != GASNET_OK)
        gasnet_exit(1);
    return finish();
}
