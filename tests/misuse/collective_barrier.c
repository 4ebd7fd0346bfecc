/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_barrier.c: a rank enters a barrier while its peer broadcasts.
 *
 * EXPECT: collectives do not match: number [0-9]+ of the team is .* on team rank [0-9]+ \(job rank
 * [0-9]+\), but .* on team rank [0-9]+ \(this one\)
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

int main(void)
{
    begin();
    BUG(if (me == 1) {
        barrier();
        return 0;
    })
    gex_Event_Wait(gex_Coll_BroadcastNB(team, 0, here, there, 64, 0));
    return finish();
}
