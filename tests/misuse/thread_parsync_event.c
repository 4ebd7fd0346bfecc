/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_parsync_event.c: a thread puts while another waits for an event, in GASNET_PARSYNC.
 *
 * EXPECT: (gex_RMA_PutBlocking: called while another thread is in gex_Event_Wait)
 *
 * PEN_RANKS: 2
 * PEN_MODE: parsync */
#include "misuse/misuse.h"

static void *body(void *unused)
{
    barrier();
    return unused;
}

int main(void)
{
    begin();
    if (me == 1) {
        sleep(1);
        barrier();
        return finish();
    }
    pthread_t thread;
    (void)pthread_create(&thread, NULL, body, NULL);
    FIX((void)pthread_join(thread, NULL);)
    (void)usleep(200000);
    (void)gex_RMA_PutBlocking(team, peer, theirs, here, 8, 0);
    BUG((void)pthread_join(thread, NULL);)
    return finish();
}
