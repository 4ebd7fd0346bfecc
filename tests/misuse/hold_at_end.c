/* SPDX-License-Identifier: BSD-3-Clause */
/* hold_at_end.c: main returns in a no-interrupt section.
 *
 * EXPECT: gasnet_hold_interrupts: interrupts are held when the program ends
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    barrier();
    gasnet_hold_interrupts();
    FIX(gasnet_resume_interrupts();)
    return 0;
}
