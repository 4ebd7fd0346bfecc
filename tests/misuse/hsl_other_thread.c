/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_other_thread.c: a thread drops the lock of another.
 *
 * EXPECT: gex_HSL_Unlock: this thread does not hold the lock at 0x
 *
 * PEN_RANKS: 1
 * PEN_MODE: par */
#include "misuse/misuse.h"

static void *body(void *unused)
{
    BUG(gex_HSL_Unlock(&lock);)
    return unused;
}

int main(void)
{
    begin();
    gex_HSL_Lock(&lock);
    run_thread(body);
    FIX(gex_HSL_Unlock(&lock);)
    return finish();
}
