/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_team.c: a put on no team.
 *
 * EXPECT: gex_RMA_PutBlocking: the team is GEX_TM_INVALID
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    BUG((void)pen_api_put(GEX_TM_INVALID, peer, theirs, here, 8, 0);)
    return finish();
}
