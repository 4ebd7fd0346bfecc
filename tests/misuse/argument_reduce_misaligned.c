/* SPDX-License-Identifier: BSD-3-Clause */
/* argument_reduce_misaligned.c: elements of a reduction begin at an odd address.
 *
 * EXPECT: gex_Coll_ReduceToAllNB: src at 0x[0-9a-f]+ is not aligned for elements of 8 bytes
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

static int64_t elements[8], sums[8];

int main(void)
{
    begin();
    const char *source = (const char *)elements;
    BUG(source++;)
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(team, sums, source, GEX_DT_I64, 8, 4, GEX_OP_ADD, NULL, NULL, 0));
    return finish();
}
