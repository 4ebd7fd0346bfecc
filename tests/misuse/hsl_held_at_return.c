/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_held_at_return.c: a handler forgets to drop its lock.
 *
 * EXPECT: a handler returned while it holds the lock at 0x
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    gex_HSL_Lock(&lock);
    FIX(gex_HSL_Unlock(&lock);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
