/* SPDX-License-Identifier: BSD-3-Clause */
/* end_valget.c: a value is asked for and never taken.
 *
 * EXPECT: gasnet_get_nb_val: 1 not synchronised when the program ends
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    begin();
    gasnet_valget_handle_t handle = gasnet_get_nb_val(peer, theirs, 8);
    FIX((void)gasnet_wait_syncnb_valget(handle);)
    (void)handle;
    return finish();
}
