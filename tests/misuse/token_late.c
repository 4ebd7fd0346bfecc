/* SPDX-License-Identifier: BSD-3-Clause */
/* token_late.c: a token is asked after its handler returned.
 *
 * EXPECT: gex_Token_Info: the token is not that of a handler which this thread runs
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static gex_Token_t kept;

static void handler(gex_Token_t token)
{
    (void)token;
    kept = token;
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    gex_Token_Info_t info;
    BUG((void)gex_Token_Info(kept, &info, GEX_TI_ALL);)
    (void)info;
    (void)kept;
    return finish();
}
