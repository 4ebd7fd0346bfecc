/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_too_long.c: a reply longer than a Medium.
 *
 * EXPECT: a Medium reply for handler 201 has a payload of [0-9]+ bytes: at most
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    BUG((void)gex_AM_ReplyMedium0(token, REPLY, mine, gex_AM_LUBReplyMedium() + 1, GEX_EVENT_NOW,
                                  0);)
    (void)token;
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
