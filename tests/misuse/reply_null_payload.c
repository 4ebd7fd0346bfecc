/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_null_payload.c: a reply with a payload that is nowhere.
 *
 * EXPECT: AMReplyMedium: the payload is at NULL, and its length 8
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG((void)gex_AM_ReplyMedium0(token, REPLY, NULL, 8, GEX_EVENT_NOW, 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
