/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_late.c: a reply with a token that was kept after its handler returned.
 *
 * EXPECT: AMReplyShort: the token is not that of a handler which this thread runs
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static gex_Token_t kept;

static void handler(gex_Token_t token)
{
    (void)token;
    kept = token;
    FIX((void)gex_AM_ReplyShort0(token, REPLY, 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    BUG((void)gex_AM_ReplyShort0(kept, REPLY, 0);)
    GASNET_BLOCKUNTIL(replied != 0);
    return finish();
}
