/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_request.c: a request with a lock held.
 *
 * EXPECT: AMRequestShort: called while holding a handler-safe lock
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
    gex_HSL_Lock(&lock);
    FIX(gex_HSL_Unlock(&lock);)
    poke();
    BUG(gex_HSL_Unlock(&lock);)
    return finish();
}
