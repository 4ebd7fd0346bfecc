/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_long.c: a Long whose payload ends behind the segment.
 *
 * EXPECT: a Long of 64 bytes goes to 0x[0-9a-f]+ of rank [01], outside its segment of 65536 bytes
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void handler(gex_Token_t token, void *payload, size_t len)
{
    (void)token;
    (void)payload;
    (void)len;
    handled = 1;
}

int main(void)
{
    begin();
    gex_AM_Entry_t entry = {
        HANDLER, (gex_AM_Fn_t)handler, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 0, NULL, "handler"
    };
    (void)gex_EP_RegisterHandlers(endpoint, &entry, 1);
    barrier();
    (void)gex_AM_RequestLong0(team, peer, HANDLER, here, 64, theirs + SEGMENT_LEN - BUG(8) FIX(64),
                              GEX_EVENT_NOW, 0);
    GASNET_BLOCKUNTIL(handled != 0);
    return finish();
}
