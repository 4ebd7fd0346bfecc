/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_low_index.c: a request for a handler index that no client has.
 *
 * EXPECT: an active message names handler 5: the library keeps indices below 128
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    BUG((void)gex_AM_RequestShort0(team, peer, 5, 0);)
    return finish();
}
