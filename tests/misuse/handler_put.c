/* SPDX-License-Identifier: BSD-3-Clause */
/* handler_put.c: a handler puts.
 *
 * EXPECT: gex_RMA_PutBlocking: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG((void)gex_RMA_PutBlocking(team, peer, theirs, here, 8, 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
