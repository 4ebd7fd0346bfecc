/* SPDX-License-Identifier: BSD-3-Clause */
/* collective_images_differ.c: two images of a rank are in different collectives.
 *
 * EXPECT: gasnet_coll_gather_all: [48] bytes, root [0-9]+: another image of this rank is in
 * gasnet_coll_gather_all of [48] bytes, root [0-9]+; all images make the same calls
 *
 * PEN_RANKS: 1 */
/* PEN_MODE: par */
#include "misuse/misuse.h"

#include <gasnet_coll.h>

static void *image(void *argument)
{
    const gasnet_image_t counts[] = { 2 }, image_i = argument != NULL;
    char got[2 * 8], give[8] = "";
    const size_t len = 8 BUG(-4 * image_i);
    gasnet_coll_init(counts, image_i, NULL, 0, 0);
    gasnet_coll_gather_all(GASNET_TEAM_ALL, got, give, len,
                           GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
    return NULL;
}

int main(void)
{
    pthread_t other;
    begin();
    if (pthread_create(&other, NULL, image, here) != 0)
        exit(72);
    (void)image(NULL);
    (void)pthread_join(other, NULL);
    return finish();
}
