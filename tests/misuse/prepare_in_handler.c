/* SPDX-License-Identifier: BSD-3-Clause */
/* prepare_in_handler.c: a handler prepares a request.
 *
 * EXPECT: gex_AM_PrepareRequestMedium: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG((void)gex_AM_PrepareRequestMedium(team, peer, NULL, 8, 8, NULL, 0, 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
