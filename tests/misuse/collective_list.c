/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_list.c: a list of addresses, without a flag that says whose they are.
 *
 * EXPECT: gasnet_coll_broadcastM: flags 0x12: GASNET_COLL_SINGLE or GASNET_COLL_LOCAL is needed, to
 * tell lists of the addresses of all ranks from lists of this rank's
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

int main(void)
{
    begin();
    void *const list[] = { here };
    gasnet_coll_broadcastM(team, list, 0, there, 64,
                           GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC FIX(| GASNET_COLL_LOCAL));
    return finish();
}
