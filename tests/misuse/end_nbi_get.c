/* SPDX-License-Identifier: BSD-3-Clause */
/* end_nbi_get.c: implicit gets are left: only the puts are waited for.
 *
 * EXPECT: gasnet_get_nbi: 5 not synchronised when gasnet_exit\(0\) is called
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    for (int i = 0; i < 5; i++)
        gasnet_get_nbi(here + 8 * i, peer, theirs, 8);
    BUG(gasnet_wait_syncnbi_puts();)
    FIX(gasnet_wait_syncnbi_gets();)
    barrier();
    gasnet_exit(0);
}
