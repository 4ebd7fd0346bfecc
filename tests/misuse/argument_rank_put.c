/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_rank_put.c: a put to a rank beyond the team.
 *
 * EXPECT: gex_RMA_PutNB: there is no rank 9 in a team of 2
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    BUG((void)gex_RMA_PutNB(team, 9, theirs, here, 8, GEX_EVENT_NOW, 0);)
    return finish();
}
