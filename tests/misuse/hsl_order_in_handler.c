/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_order_in_handler.c: a handler drops locks in the order in which it took them.
 *
 * EXPECT: gex_HSL_Unlock: a handler drops its locks in the reverse order
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    gex_HSL_Lock(&lock);
    gex_HSL_Lock(&other_lock);
    BUG(gex_HSL_Unlock(&lock);)
    gex_HSL_Unlock(&other_lock);
    FIX(gex_HSL_Unlock(&lock);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
