/* SPDX-License-Identifier: BSD-3-Clause */
/* handler_get_nb.c: a handler begins a get.
 *
 * EXPECT: gex_RMA_GetNB: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG((void)gex_RMA_GetNB(team, here, peer, theirs, 8, 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
