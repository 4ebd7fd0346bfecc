/* SPDX-License-Identifier: BSD-3-Clause */
/* hold_in_handler.c: a handler holds interrupts, as they are in every handler.
 *
 * EXPECT: gasnet_hold_interrupts: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG(gasnet_hold_interrupts();)
    BUG(gasnet_resume_interrupts();)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
