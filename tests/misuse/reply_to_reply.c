/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_to_reply.c: the handler of a reply replies.
 *
 * EXPECT: AMReplyShort: called in a handler that runs for a reply
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void answer(gex_Token_t token)
{
    (void)gex_AM_ReplyShort0(token, REPLY, 0);
    handled = 1;
}

static void reply(gex_Token_t token)
{
    BUG((void)gex_AM_ReplyShort0(token, REPLY, 0);)
    (void)token;
    replied = 1;
}

int main(void)
{
    begin_with(answer, reply);
    poke();
    GASNET_BLOCKUNTIL(replied != 0);
    return finish();
}
