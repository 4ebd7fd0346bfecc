/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_parsync_barrier.c: a thread polls while another waits, in GASNET_PARSYNC.
 *
 * EXPECT: (gasnet_AMPoll: called while another thread is in
 * gasnet_barrier_wait|gasnet_barrier_wait: called while another)
 *
 * PEN_RANKS: 2
 * PEN_MODE: parsync */
#include "misuse/misuse.h"

static void *body(void *unused)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    return unused;
}

int main(void)
{
    begin();
    if (me == 1) {
        sleep(1);
        (void)body(NULL);
        return finish();
    }
    pthread_t thread;
    (void)pthread_create(&thread, NULL, body, NULL);
    FIX((void)pthread_join(thread, NULL);)
    (void)usleep(200000);
    (void)gasnet_AMPoll();
    BUG((void)pthread_join(thread, NULL);)
    return finish();
}
