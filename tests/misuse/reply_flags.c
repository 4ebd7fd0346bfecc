/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_flags.c: a reply with a flag that replies do not have.
 *
 * EXPECT: AMReplyShort: flags 0x400: this call does not accept 0x400
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG((void)gex_AM_ReplyShort0(token, REPLY, GEX_FLAG_PEER_SEG_OFFSET);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
