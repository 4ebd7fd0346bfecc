/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_low_index.c: a reply for a handler index that no client has.
 *
 * EXPECT: an active message names handler 7: the library keeps indices below 128
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG((void)gex_AM_ReplyShort0(token, 7, 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
