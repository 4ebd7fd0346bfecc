/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_images.c: two images on one rank, in a program whose ranks have one thread.
 *
 * EXPECT: gasnet_coll_init: images\[\] has more than one image for a rank: each is a thread of its
 * own, so compile for GASNET_PAR
 *
 * PEN_RANKS: 2
 * PEN_MODE: seq */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

int main(void)
{
    begin();
    gasnet_image_t images[] = { 1, 1 BUG(+1) };
    gasnet_coll_init(images, me, NULL, 0, 0);
    return finish();
}
