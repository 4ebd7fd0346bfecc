/* SPDX-License-Identifier: BSD-3-Clause */
/* source_bulk.c: the source of an implicit bulk put is changed.
 *
 * EXPECT: gasnet_put_nbi_bulk: the source, 64 bytes at 0x[0-9a-f]+, was written before the
 * operation was synchronised
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_put_nbi_bulk(peer, theirs, here, 64);
    FIX(gasnet_wait_syncnbi_puts();)
    here[63] = 77;
    BUG(gasnet_wait_syncnbi_puts();)
    return finish();
}
