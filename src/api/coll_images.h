/* SPDX-License-Identifier: BSD-3-Clause */
/* api/coll_images.h: collectives of the GASNet-1 era among images, of which a rank has several: one
 * for each thread that called gasnet_coll_init. The images of a rank bring their arguments; the
 * last of them begins one collective for all, among ranks, on a team that nobody else uses. When
 * that is over, its result is copied to where each image wants it.
 *
 * Ranks may have different numbers of images. Among ranks every part is as long as that of the rank
 * with the most. A collective that ends for all together is followed by a barrier, since results
 * are copied after the collective among ranks; the next collective waits until that barrier is
 * begun, so that all ranks begin the same things in the same order.
 *
 * Only calls of gasnet_coll_... drive them on: they make no progress in other calls. */
#ifndef PEN_API_COLL_IMAGES_H
#define PEN_API_COLL_IMAGES_H

#include "api/coll.h"

#include <gasnet_coll.h>

/* gasnet_coll_init with more than one image on some rank. counts: by rank. Called by the thread of
 * each image; the last one of a rank takes part in a collective. */
void pen_api_images_init(const char *call, pen_job *job, const gasnet_image_t *counts,
                         gasnet_image_t mine);
void pen_api_images_close(struct pen_images *images); /* the team is closed with the job's others */

/* Whether a call with these flags is made by every image: several are on a rank, the team is that
 * of all ranks, and GASNET_COLL_NO_IMAGES is not given. */
bool pen_api_images_call(const pen_team *team, int flags);

uint32_t pen_api_images_total(void);
/* The calling thread's image: its number, and its place among those of its rank. */
uint32_t pen_api_image(const char *call);
uint32_t pen_api_image_place(const char *call);

/* One image's part in a collective. reduction: of PEN_COLL_REDUCE; else NULL. root: an image, which
 * has been checked, or PEN_COLL_ALL. Answers an event that is done when the image's result is
 * there, and which has to be waited for by pen_api_images_step. */
gex_Event_t pen_api_images_begin(const char *call, pen_thread *thread, const pen_coll_move *move,
                                 const pen_reduction *reduction);

/* The barrier among images: GASNET_BARRIERFLAG_IMAGES. Each image has one at a time. */
void pen_api_images_notify(const char *call, pen_thread *thread);
bool pen_api_images_try(const char *call);

/* Drives all of this rank's on, and polls. Without images: nothing. Answers whether there are any.
 */
bool pen_api_images_step(void);

#endif
