/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_before_attach.c: a put before gasnet_attach.
 *
 * EXPECT: gasnet_put: called after gasnet_init but before gasnet_attach
 *
 * PEN_RANKS: 1
 * PEN_MODE: seq */
#include "misuse/misuse.h"

int main(void)
{
    if (gasnet_init(NULL, NULL) != GASNET_OK)
        return 70;
    FIX((void)gasnet_attach(NULL, 0, SEGMENT_LEN, 0);)
    BUG(gasnet_put(0, here, there, 8);)
    return 0;
}
