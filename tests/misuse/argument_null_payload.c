/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_null_payload.c: a request with a payload that is nowhere.
 *
 * EXPECT: AMRequestMedium: the payload is at NULL, and its length 16
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
    BUG((void)gex_AM_RequestMedium0(team, peer, HANDLER, NULL, 16, GEX_EVENT_NOW, 0);)
    poke();
    return finish();
}
