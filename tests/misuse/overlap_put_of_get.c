/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_put_of_get.c: a put of bytes that an outstanding get is to bring.
 *
 * EXPECT: gasnet_put: the source, 8 bytes at 0x[0-9a-f]+ of rank [0-9], overlaps the destination of
 * an outstanding gasnet_get_nb
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_handle_t get = gasnet_get_nb(here, peer, theirs, 64);
    FIX(gasnet_wait_syncnb(get);)
    gasnet_put(peer, theirs + 512, here + 8, 8);
    BUG(gasnet_wait_syncnb(get);)
    return finish();
}
