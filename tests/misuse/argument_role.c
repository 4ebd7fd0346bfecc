/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_role.c: a request for a handler of replies.
 *
 * EXPECT: rank [01] sent handler 201 \(reply\) a request, which its registration excludes
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
    BUG((void)gex_AM_RequestShort0(team, peer, REPLY, 0);)
    poke();
    return finish();
}
