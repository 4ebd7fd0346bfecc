/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier_flags.c: a barrier flag that does not exist.
 *
 * EXPECT: gasnet_barrier_notify: flags 0x40: this call does not accept 0x40
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_barrier_notify(0, BUG(0x40) FIX(GASNET_BARRIERFLAG_ANONYMOUS));
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    return finish();
}
