/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_registration.c: two handlers of one index.
 *
 * EXPECT: cannot register handler 210 \(row 1 of the table\): the index is taken
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_AM_Entry_t table[] = {
        { 210, (gex_AM_Fn_t)note_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, "one" },
        { BUG(210) FIX(211), (gex_AM_Fn_t)note_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0,
          NULL, "two" },
    };
    if (gex_EP_RegisterHandlers(endpoint, table, 2) != GASNET_OK)
        gasnet_exit(1);
    return finish();
}
