/* SPDX-License-Identifier: BSD-3-Clause */
/* handler_getenv.c: a handler reads the environment of the console.
 *
 * EXPECT: gasnet_getenv: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG((void)gasnet_getenv("HOME");)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
