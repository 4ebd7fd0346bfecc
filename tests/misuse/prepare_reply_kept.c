/* SPDX-License-Identifier: BSD-3-Clause */
/* prepare_reply_kept.c: a handler returns between Prepare and Commit.
 *
 * EXPECT: a handler returns after preparing a reply to rank [0-9]+: commit or cancel it
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    gex_AM_SrcDesc_t desc = gex_AM_PrepareReplyMedium(token, NULL, 8, 8, NULL, 0, 0);
    FIX((void)gex_AM_CancelReplyMedium(desc, 0);)
    (void)desc;
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
