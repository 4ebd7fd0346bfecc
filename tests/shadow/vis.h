/* SPDX-License-Identifier: BSD-3-Clause */
/* vis.h: shared declarations of the scattered transfers of vis_lists.c and vis_boxes.c. */
#ifndef PEN_TESTS_SHADOW_VIS_H
#define PEN_TESTS_SHADOW_VIS_H

#include "shadow.h"

typedef enum vis_form { VIS_BLOCKING, VIS_NB, VIS_LEAF, VIS_NBI, VIS_FORMS } vis_form;

/* One call about to be made. */
typedef struct vis_call {
    bool is_put, legacy;
    vis_form form;
    gex_Rank_t target, rank; /* rank in the job, in the team */
    gex_TM_t team;
    gex_Flags_t flags;
    pending *wait;
    unsigned char *there, *here; /* remote and local base of the transfer */
    const unsigned char *pool;   /* puts: the bytes at here */
    unsigned char *model;        /* puts: the stripe's model at `there` */
    unsigned char *expected;     /* gets: the expected bytes at here */
    size_t here_len;
} vis_call;

/* Draws the form of the next call, and begins the operation. */
vis_call vis_begin(worker *w, const burst *b, bool legacy, size_t len);
/* Prepares the local side of a put, extent bytes; a part of the stripe. */
void vis_put_memory(worker *w, vis_call *call, size_t there_extent, size_t here_extent);
/* Prepares the local side of a get. */
void vis_get_memory(worker *w, vis_call *call, size_t here_extent);
/* Called before the put is made: its target may have to be notified. */
void vis_tell(worker *w, const vis_call *call, size_t extent);
/* Returns whether the call must be repeated, because it was refused. */
bool vis_refused(const vis_call *call, int status, gex_Event_t event);
/* Called after the call. event: for the forms that have one. */
void vis_end(worker *w, vis_call *call, gex_Event_t event);

void vis_legacy_lists(worker *w, unsigned most); /* GASNet-1: vector and indexed */

#endif
