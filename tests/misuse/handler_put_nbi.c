/* SPDX-License-Identifier: BSD-3-Clause */
/* handler_put_nbi.c: a handler begins an implicit put.
 *
 * EXPECT: gasnet_put_nbi: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG(gasnet_put_nbi(peer, theirs, here, 8);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
