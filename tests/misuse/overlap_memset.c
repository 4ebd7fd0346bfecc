/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap_memset.c: a memset over an outstanding put.
 *
 * EXPECT: gasnet_memset_nb: the destination, 64 bytes at 0x[0-9a-f]+ of rank [0-9], overlaps the
 * destination of an outstanding gasnet_put_nb_bulk
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_handle_t put = gasnet_put_nb_bulk(peer, theirs + 32, here, 8);
    FIX(gasnet_wait_syncnb(put);)
    gasnet_wait_syncnb(gasnet_memset_nb(peer, theirs, 0, 64));
    BUG(gasnet_wait_syncnb(put);)
    return finish();
}
