/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_seq_barrier.c: a second thread calls GASNet in GASNET_SEQ.
 *
 * EXPECT: gasnet_barrier_notify: called by another thread than the one that started the job, in a
 * program compiled for GASNET_SEQ
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void *body(void *unused)
{
    BUG(gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);)
    return unused;
}

int main(void)
{
    begin();
    run_thread(body);
    return finish();
}
