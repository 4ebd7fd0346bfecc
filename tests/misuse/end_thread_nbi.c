/* SPDX-License-Identifier: BSD-3-Clause */
/* end_thread_nbi.c: a thread ends with implicit puts that no other thread can wait for.
 *
 * EXPECT: gex_RMA_PutNBI: 1 not synchronised when its thread ends
 *
 * PEN_RANKS: 1
 * PEN_MODE: par */
#include "misuse/misuse.h"

static void *body(void *unused)
{
    (void)gex_RMA_PutNBI(team, peer, theirs, here, 8, GEX_EVENT_NOW, 0);
    FIX(gex_NBI_Wait(GEX_EC_PUT, 0);)
    return unused;
}

int main(void)
{
    begin();
    run_thread(body);
    return finish();
}
