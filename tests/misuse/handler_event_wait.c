/* SPDX-License-Identifier: BSD-3-Clause */
/* handler_event_wait.c: a handler waits for an event of the main program.
 *
 * EXPECT: gex_Event_Wait: called in a handler, where nothing may poll
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static gex_Event_t event;

static void handler(gex_Token_t token)
{
    (void)token;
    BUG(gex_Event_Wait(event);)
    handled = 1;
}

int main(void)
{
    begin_with(handler, note_reply);
    event = gex_RMA_PutNB(team, peer, theirs, here, 8, GEX_EVENT_NOW, 0);
    poke();
    gex_Event_Wait(event);
    return finish();
}
