/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_before_start.c: a call before the job starts.
 *
 * EXPECT: gasnet_AMPoll: called before the job was started
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    BUG((void)gasnet_AMPoll();)
    begin();
    return finish();
}
