/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_images.c: two images on one rank.
 *
 * EXPECT: gasnet_coll_init: images\[1\] is 2: each rank is one image; let one thread of a rank call
 * collectives, or start more ranks
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
