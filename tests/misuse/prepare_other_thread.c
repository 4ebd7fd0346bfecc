/* SPDX-License-Identifier: BSD-3-Clause */
/* prepare_other_thread.c: another thread commits.
 *
 * EXPECT: gex_AM_CommitRequestMedium: the descriptor is not one that this thread has prepared
 *
 * PEN_RANKS: 2
 * PEN_MODE: par */
#include "misuse/misuse.h"

static gex_AM_SrcDesc_t shared;

MAYBE_UNUSED static void *body(void *unused)
{
    (void)gex_AM_CommitRequestMedium0(shared, HANDLER, 8);
    return unused;
}

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
    shared = prepare();
    BUG(run_thread(body);)
    FIX((void)body(NULL);)
    GASNET_BLOCKUNTIL(handled != 0);
    return finish();
}
