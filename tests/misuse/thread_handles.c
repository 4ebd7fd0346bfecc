/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_handles.c: GASNet-1 handles are tested by another thread.
 *
 * EXPECT: gex_Event_TestAll: the handle 0x[0-9a-f]+ was made by gasnet_get_nb of another thread:
 * GASNet-1 handles are synchronised by the thread that made them
 *
 * PEN_RANKS: 1
 * PEN_MODE: par */
#include "misuse/misuse.h"

static gasnet_handle_t handles[2];

MAYBE_UNUSED static void *body(void *unused)
{
    (void)gasnet_try_syncnb_all(handles, 2);
    return unused;
}

int main(void)
{
    begin();
    handles[0] = gasnet_get_nb_bulk(here, peer, theirs, 8);
    BUG(run_thread(body);)
    FIX((void)body(NULL);)
    return finish();
}
