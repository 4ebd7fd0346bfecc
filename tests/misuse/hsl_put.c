/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_put.c: a put with a lock held.
 *
 * EXPECT: gasnet_put: called while holding a handler-safe lock
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_hsl_lock(&lock);
    BUG(gasnet_put(peer, theirs, here, 8);)
    gasnet_hsl_unlock(&lock);
    return finish();
}
