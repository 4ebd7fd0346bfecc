/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_held_at_reply.c: a handler replies with a lock held.
 *
 * EXPECT: AMReplyShort: called while holding a handler-safe lock
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token)
{
    (void)token;
    gex_HSL_Lock(&lock);
    FIX(gex_HSL_Unlock(&lock);)
    (void)gex_AM_ReplyShort0(token, REPLY, 0);
    BUG(gex_HSL_Unlock(&lock);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    poke();
    GASNET_BLOCKUNTIL(replied != 0);
    return finish();
}
