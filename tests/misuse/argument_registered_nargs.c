/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_registered_nargs.c: a handler of more arguments than messages have.
 *
 * EXPECT: cannot register handler 210 \(row 0 of the table\): it has more than 16 arguments
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_AM_Entry_t entry = {
        210,   (gex_AM_Fn_t)note_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, BUG(17) FIX(0), NULL,
        "wide"
    };
    if (gex_EP_RegisterHandlers(endpoint, &entry, 1) != GASNET_OK)
        gasnet_exit(1);
    return finish();
}
