/* SPDX-License-Identifier: BSD-3-Clause */
/* end_vis.c: the event of a put in pieces is dropped.
 *
 * EXPECT: gex_VIS_VectorPutNB: 1 not synchronised when the program ends
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    const gex_Memvec_t to = { theirs, 8 }, from = { here, 8 };
    gex_Event_t event = gex_VIS_VectorPutNB(team, peer, 1, &to, 1, &from, 0);
    FIX(gex_Event_Wait(event);)
    (void)event;
    return finish();
}
