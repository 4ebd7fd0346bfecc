/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_unregistered.c: a request for a handler that is not registered.
 *
 * EXPECT: rank [01] sent an active message for handler 222, which is not registered here
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    BUG((void)gex_AM_RequestShort0(team, peer, 222, 0);)
    return finish();
}
