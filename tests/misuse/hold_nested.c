/* SPDX-License-Identifier: BSD-3-Clause */
/* hold_nested.c: no-interrupt sections are nested.
 *
 * EXPECT: gasnet_hold_interrupts: called between gasnet_hold_interrupts
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_hold_interrupts();
    BUG(gasnet_hold_interrupts();)
    gasnet_resume_interrupts();
    return finish();
}
