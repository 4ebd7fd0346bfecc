/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h: all ranks of a job in one process, over a link made of lists, for unit tests of the
 * layers above the conduit. Either one thread steps a world; then each rank that polls lets all
 * others poll too, in an order drawn from a seed. Or each rank has its own thread. */
#ifndef PEN_SUPPORT_RANKS_H
#define PEN_SUPPORT_RANKS_H

#include "am/am.h"
#include "job/job.h"

#include <pthread.h>

typedef struct ranks_params {
    uint32_t size;
    uint64_t seed;
    uint32_t frame_max;     /* 0: 512 */
    uint32_t room;          /* frames that wait for one rank in one lane; 0: without bound */
    uint32_t again_percent; /* share of requests that are refused at random */
    size_t segment_len;     /* each rank's; 0: no segment */
    bool mapped;            /* peers see each other's segments */
    bool everything;
    bool same_host;
    bool shares;     /* teams have scratch in memory that all ranks see; needs same_host */
    bool link_moves; /* the link has put and get, which end at a later poll */
    size_t move_max; /* limit of the link's put and get; 0: without bound */
    bool threads;    /* a thread for each rank, which polls for itself only */
    pen_concurrency concurrency;
} ranks_params;

typedef struct ranks_frame ranks_frame;

typedef struct ranks_list {
    ranks_frame *first, *last;
    uint32_t count;
} ranks_list;

typedef struct ranks_link {
    pen_link link;
    struct ranks *world;
    ranks_list inbox[PEN_LANES]; /* this rank's, guarded by world->lock */
    ranks_list moves;            /* puts and gets this rank began */
    bool polling;                /* one thread steps all: this rank is being polled */
} ranks_link;

typedef struct ranks {
    ranks_params params;
    pen_job *jobs;
    ranks_link *links;
    char *arena;
    size_t arena_len;
    char **segments;
    uint64_t random;
    uint64_t frames_posted, posts_refused, wakes;
    pthread_mutex_t lock;
} ranks;

void ranks_open(ranks *world, const ranks_params *params);
void ranks_close(ranks *world);

uint32_t ranks_random(ranks *world, uint32_t below); /* 0..below - 1 */

/* Delivers a frame of the engine's own to `to` as if `from` had sent it. */
void ranks_inject(ranks *world, uint32_t from, uint32_t to, pen_lane lane, pen_am_internal index,
                  unsigned arg_count, const int32_t *args, const void *body, uint32_t body_len);

/* Runs body in a child whose error lines are caught. Returns true if it ended in a fatal error and
 * one of its lines holds `words`. */
bool ranks_dies(void (*body)(void *ctx), void *ctx, pen_job *job, const char *words);

#endif
