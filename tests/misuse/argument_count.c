/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_count.c: a request with more arguments than messages have.
 *
 * EXPECT: gasnet_AMRequestShort: 17 arguments
 *
 * PEN_RANKS: 1
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
    BUG((void)gasnet_AMRequestShort(peer, HANDLER, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                    14, 15, 16, 17);)
    poke();
    return finish();
}
