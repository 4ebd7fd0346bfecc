/* SPDX-License-Identifier: BSD-3-Clause */
/* event_no_op.c: the answer of an immediate call is waited for.
 *
 * EXPECT: gex_Event_Wait: GEX_EVENT_NO_OP stands for an operation that was not begun
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    BUG(gex_Event_Wait(GEX_EVENT_NO_OP);)
    return finish();
}
