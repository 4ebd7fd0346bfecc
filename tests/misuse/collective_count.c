/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_count.c: ranks reduce different numbers of elements.
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
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, here, there, GEX_DT_I32, 4, 4 BUG(+me), GEX_OP_ADD,
                                          NULL, NULL, 0));
    return finish();
}
