/* SPDX-License-Identifier: BSD-3-Clause */
/* world.h: a small job on the shm conduit: its links, the slice they share, and a ledger of what
 * was sent and delivered. Instrumented, as the conduit is. */
#ifndef EXPLORE_WORLD_H
#define EXPLORE_WORLD_H

#include "conduits/shm/shm.h"
#include "explore.h"
#include "progress/progress.h"

enum { WORLD_RANKS_MAX = 3, WORLD_FRAMES_MAX = 60, WORLD_BODY_MAX = 256 };

typedef struct world_frame { /* a frame to be sent */
    pen_peer to;
    pen_lane lane;
    uint32_t number; /* unique among the sender's: 0..WORLD_FRAMES_MAX - 1 */
    uint32_t head_len, body_len;
    bool is_express; /* straight from registers, where there is room */
} world_frame;

typedef struct world_rank {
    pen_host host;
    pen_link *link;
    pen_progress progress;
    pen_counters counters;
    const char *private_start; /* memory of the link */
    size_t private_len;
    uint64_t got[WORLD_RANKS_MAX]; /* by sender: a bit for each of its frames */
    uint32_t got_count;
    uint32_t replies; /* sent */
    pen_peer self;
    bool answers; /* a request with a reply */
    pen_poll_view view;
} world_rank;

typedef struct world_job {
    uint32_t rank_count;
    char *slice;
    size_t slice_len;
    shm_layout layout;
    world_rank ranks[WORLD_RANKS_MAX];
    struct world_words { /* the words of the host page */
        PEN_CACHE_ALIGNED _Atomic uint32_t sleeping;
        PEN_CACHE_ALIGNED _Atomic uint32_t wake;
        _Atomic uint32_t polling_total;
    } words[WORLD_RANKS_MAX];
} world_job;

/* Features of a scenario. Threads do not stop at words that no thread changes. */
enum { WORLD_SLEEPS = 1u << 0, WORLD_RINGS = 1u << 1, WORLD_VIEWS = 1u << 2 };

/* Opens and connects the links of `ranks` ranks. happens: WORLD_... */
world_job *world_open(uint32_t ranks, const shm_config *config, uint32_t happens);

pen_post world_post(world_job *world, pen_peer from, const world_frame *frame);
/* Posts a frame, and idles while there is no room. */
void world_send(world_job *world, pen_peer from, const world_frame *frame);
/* Polls all lanes once; idles if nothing was found. loop: the rest of the state that the caller's
 * future depends on. */
void world_poll(world_job *world, pen_peer self, uint64_t loop);
void world_receive(world_job *world, pen_peer self,
                   uint32_t count); /* polls until `count` frames came */

uint64_t world_digest(const void *rank); /* covers all state of a rank's thread */

/* For judges: check that all threads have ended, and that rank `self` got exactly these frames of
 * `from`. */
void world_judge_ended(uint32_t threads);
void world_judge_got(const world_job *world, pen_peer self, pen_peer from, uint64_t frames);
/* Checks that the channel has as much room as at the start, and that no chunk is taken. */
void world_judge_room(world_job *world, pen_peer from, pen_peer to, pen_lane lane);

#endif
