/* SPDX-License-Identifier: BSD-3-Clause */
/* handler_request.c: a handler sends a request instead of a reply.
 *
 * EXPECT: AMRequestShort: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG((void)gex_AM_RequestShort0(team, peer, HANDLER, 0);)
    FIX((void)gex_AM_ReplyShort0(token, REPLY, 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    FIX(GASNET_BLOCKUNTIL(replied != 0);)
    return finish();
}
