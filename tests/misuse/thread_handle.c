/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_handle.c: a GASNet-1 handle is waited for by another thread.
 *
 * EXPECT: gex_Event_Wait: the handle 0x[0-9a-f]+ was made by gasnet_put_nb of another thread:
 * GASNet-1 handles are synchronised by the thread that made them
 *
 * PEN_RANKS: 1
 * PEN_MODE: par */
#include "misuse/misuse.h"

static gasnet_handle_t handle;

MAYBE_UNUSED static void *body(void *unused)
{
    gasnet_wait_syncnb(handle);
    return unused;
}

int main(void)
{
    begin();
    handle = gasnet_put_nb(peer, theirs, here, 8);
    BUG(run_thread(body);)
    FIX(gasnet_wait_syncnb(handle);)
    return finish();
}
