/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_seq_put.c: a second thread calls GASNet in GASNET_SEQ.
 *
 * EXPECT: gasnet_put: called by another thread than the one that started the job, in a program
 * compiled for GASNET_SEQ
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void *body(void *unused)
{
    BUG(gasnet_put(peer, theirs, here, 8);)
    return unused;
}

int main(void)
{
    begin();
    run_thread(body);
    return finish();
}
