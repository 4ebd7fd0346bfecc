/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_handler_put.c: the handler of a reply puts.
 *
 * EXPECT: gex_RMA_PutBlocking: called in a handler, where nothing may poll
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
    (void)token;
    BUG((void)gex_RMA_PutBlocking(team, peer, theirs, here, 8, 0);)
    replied = 1;
}

int main(void)
{
    begin_with(answer, reply);
    poke();
    GASNET_BLOCKUNTIL(replied != 0);
    return finish();
}
