/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_too_long.c: a request longer than a Medium.
 *
 * EXPECT: a Medium request for handler 200 has a payload of [0-9]+ bytes: at most
 *
 * PEN_RANKS: 1
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
    BUG((void)gex_AM_RequestMedium0(team, peer, HANDLER, mine, gex_AM_LUBRequestMedium() + 1,
                                    GEX_EVENT_NOW, 0);)
    poke();
    return finish();
}
