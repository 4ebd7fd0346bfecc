/* SPDX-License-Identifier: BSD-3-Clause */
/* hold_resume_alone.c: a no-interrupt section ends that was not begun.
 *
 * EXPECT: gasnet_resume_interrupts: called without gasnet_hold_interrupts
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    FIX(gasnet_hold_interrupts();)
    gasnet_resume_interrupts();
    return finish();
}
