/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_nargs.c: two arguments for a handler without arguments.
 *
 * EXPECT: rank [01] sent handler 200 \(handler\) 2 arguments, and it is registered with 0
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;

    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    BUG((void)gex_AM_RequestShort2(team, peer, HANDLER, 0, 1, 2);)
    poke();
    return finish();
}
