/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl_poll.c: a poll with a lock held.
 *
 * EXPECT: gasnet_AMPoll: called while holding a handler-safe lock
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gex_HSL_Lock(&lock);
    BUG((void)gasnet_AMPoll();)
    gex_HSL_Unlock(&lock);
    return finish();
}
