/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_seq_request.c: a second thread calls GASNet in GASNET_SEQ.
 *
 * EXPECT: AMRequestShort: called by another thread than the one that started the job, in a program
 * compiled for GASNET_SEQ
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

static void *body(void *unused)
{
    BUG((void)gex_AM_RequestShort0(team, peer, HANDLER, 0);)
    return unused;
}

int main(void)
{
    begin();
    run_thread(body);
    return finish();
}
