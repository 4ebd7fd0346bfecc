/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_category.c: a Medium for a handler of Shorts.
 *
 * EXPECT: rank [01] sent handler 200 \(handler\) a Medium message, which its registration excludes
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
    BUG((void)gex_AM_RequestMedium0(team, peer, HANDLER, here, 8, GEX_EVENT_NOW, 0);)
    poke();
    return finish();
}
