/* SPDX-License-Identifier: BSD-3-Clause */
/* event_garbage.c: something that is no event is waited for.
 *
 * EXPECT: gex_Event_Wait: 0x[0-9a-f]+ is no event
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    BUG(gex_Event_Wait((gex_Event_t)(void *)here);)
    return finish();
}
