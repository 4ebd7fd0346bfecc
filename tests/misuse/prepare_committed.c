/* SPDX-License-Identifier: BSD-3-Clause */
/* prepare_committed.c: a descriptor is committed twice.
 *
 * EXPECT: gex_AM_CommitRequestMedium: the descriptor is not one that this thread has prepared
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void sink(gex_Token_t token, void *payload, size_t len)
{
    (void)token;
    (void)payload;
    (void)len;
    handled = 1;
}

static gex_AM_SrcDesc_t prepare(void)
{
    gex_AM_SrcDesc_t desc = gex_AM_PrepareRequestMedium(team, peer, NULL, 8, 8, NULL, 0, 0);
    memset(gex_AM_SrcDescAddr(desc), 1, 8);
    return desc;
}

int main(void)
{
    begin();
    gex_AM_Entry_t entry = {
        HANDLER, (gex_AM_Fn_t)sink, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL, "sink"
    };
    (void)gex_EP_RegisterHandlers(endpoint, &entry, 1);
    barrier();
    gex_AM_SrcDesc_t desc = prepare();
    (void)gex_AM_CommitRequestMedium0(desc, HANDLER, 8);
    BUG((void)gex_AM_CommitRequestMedium0(desc, HANDLER, 8);)
    GASNET_BLOCKUNTIL(handled != 0);
    return finish();
}
