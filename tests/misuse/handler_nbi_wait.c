/* SPDX-License-Identifier: BSD-3-Clause */
/* handler_nbi_wait.c: a handler synchronises implicit operations.
 *
 * EXPECT: gex_NBI_Wait: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG(gex_NBI_Wait(GEX_EC_ALL, 0);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
