/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_none.c: a put before a segment is attached.
 *
 * EXPECT: put of 8 bytes at 0x[0-9a-f]+ of rank [0-9]+: that rank has no segment
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    if (gex_Client_Init(&client, &endpoint, &team, "MISUSE", NULL, NULL, 0) != GASNET_OK)
        return 70;
    FIX((void)gex_Segment_Attach(&segment, team, SEGMENT_LEN);)
    (void)gex_RMA_PutBlocking(team, gex_TM_QueryRank(team),
                              BUG(here) FIX(gex_Segment_QueryAddr(segment)), there, 8, 0);
    return finish();
}
