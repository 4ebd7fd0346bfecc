/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_no_token.c: a reply without a token.
 *
 * EXPECT: AMReplyShort: there is no token
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG((void)gex_AM_ReplyShort0(NULL, REPLY, 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
