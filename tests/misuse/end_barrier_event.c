/* SPDX-License-Identifier: BSD-3-Clause */
/* end_barrier_event.c: the event of a barrier is dropped.
 *
 * EXPECT: gex_Coll_BarrierNB: 1 not synchronised when the program ends
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    BUG((void)gex_Coll_BarrierNB(team, 0);)
    return finish();
}
