/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_thread_ends.c: a thread ends with a lock held.
 *
 * EXPECT: gex_HSL_Lock: the lock at 0x[0-9a-f]+ is held when its thread ends
 *
 * PEN_RANKS: 1
 * PEN_MODE: par */
#include "misuse/misuse.h"

static void *body(void *unused)
{
    (void)gasnet_AMPoll();
    gex_HSL_Lock(&lock);
    FIX(gex_HSL_Unlock(&lock);)
    return unused;
}

int main(void)
{
    begin();
    run_thread(body);
    return finish();
}
