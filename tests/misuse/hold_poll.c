/* SPDX-License-Identifier: BSD-3-Clause */
/* hold_poll.c: a poll in a no-interrupt section.
 *
 * EXPECT: gasnet_AMPoll: called between gasnet_hold_interrupts
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_hold_interrupts();
    BUG((void)gasnet_AMPoll();)
    gasnet_resume_interrupts();
    return finish();
}
