/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_no_sync.c: a collective whose flags do not say when data may move.
 *
 * EXPECT: gasnet_coll_broadcast: flags 0x80: exactly one GASNET_COLL_IN_\.\.\. and one
 * GASNET_COLL_OUT_\.\.\. are needed
 *
 * PEN_RANKS: 2 */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

int main(void)
{
    begin();
    gasnet_coll_broadcast(GASNET_TEAM_ALL, here, 0, here, 8,
                          GASNET_COLL_LOCAL FIX(| GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_NOSYNC));
    return finish();
}
