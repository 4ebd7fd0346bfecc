/* SPDX-License-Identifier: BSD-3-Clause */
/* handler_barrier.c: a handler enters a barrier.
 *
 * EXPECT: gasnet_barrier_notify: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    BUG(gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    return finish();
}
