/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_twice.c: a handler replies twice.
 *
 * EXPECT: AMReplyShort: there has been a reply to this request already
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    (void)gex_AM_ReplyShort0(token, REPLY, 0);
    BUG((void)gex_AM_ReplyShort0(token, REPLY, 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    GASNET_BLOCKUNTIL(replied != 0);
    return finish();
}
