/* SPDX-License-Identifier: BSD-3-Clause */
/* handler_blockuntil.c: a handler waits for another handler.
 *
 * EXPECT: GASNET_BLOCKUNTIL: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG(GASNET_BLOCKUNTIL(replied != 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
