/* SPDX-License-Identifier: BSD-3-Clause */
/* api/coll_images.h: collectives of the GASNet-1 era among images. A rank has several images: one
 * for each thread that called gasnet_coll_init. Each image of a rank brings its arguments. The last
 * of them begins one collective for all, among ranks, on a private team. When it is over, its
 * result is copied to the destination of each image. Ranks may have different numbers of images:
 * among ranks, every part is as long as the part of the rank with the most images.
 *
 * If a collective ends for all ranks together, a barrier follows it, because results are copied
 * after the collective among ranks. The next collective waits until that barrier has begun, so that
 * all ranks begin the same operations in the same order. Only calls of gasnet_coll_... make
 * progress. */
#ifndef PEN_API_COLL_IMAGES_H
#define PEN_API_COLL_IMAGES_H

#include "api/api.h"
#include "coll/coll.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"

#include <gasnet_coll.h>
#include <stdbool.h>
#include <stdint.h>

struct pen_images;

/* Implements gasnet_coll_init with more than one image on a rank. counts: by rank. The thread of
 * each image calls it; the last call of a rank takes part in a collective. */
void pen_api_images_init(const char *call, pen_job *job, const gasnet_image_t *counts,
                         gasnet_image_t mine);
void pen_api_images_close(
    struct pen_images *images); /* frees the images; the team is closed with the job's teams */

/* Returns whether every image makes a call with these flags: a rank has several images, the team is
 * that of all ranks, and GASNET_COLL_NO_IMAGES is not set. */
bool pen_api_images_call(const pen_team *team, int flags);

uint32_t pen_api_images_total(void);
/* Returns the calling thread's image: its number, and its place among the images of its rank. */
uint32_t pen_api_image(const char *call);
uint32_t pen_api_image_place(const char *call);

/* Begins one image's part in a collective. reduction: for PEN_COLL_REDUCE, else NULL. root: an
 * image, which has been checked, or PEN_COLL_ALL. Returns an event that is done when the image's
 * result has been written. Wait for it with pen_api_images_step. */
gex_Event_t pen_api_images_begin(const char *call, pen_thread *thread, const pen_coll_move *move,
                                 const pen_reduction *reduction);

/* The barrier among images: GASNET_BARRIERFLAG_IMAGES. Each image takes part in one at a time. */
void pen_api_images_notify(const char *call, pen_thread *thread);
bool pen_api_images_try(const char *call);

/* Drives all collectives of this rank's images, and polls. Returns false, and does nothing, if
 * there are no images. */
bool pen_api_images_step(void);

#endif
