/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_rank.c: a request to a rank beyond the team.
 *
 * EXPECT: AMRequestShort: there is no rank 9 in a team of 2
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;

    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    BUG((void)gex_AM_RequestShort0(team, 9, HANDLER, 0);)
    poke();
    return finish();
}
