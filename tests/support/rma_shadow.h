/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_shadow.h: a copy of each rank's segment, in which a test does by hand the work of the
 * library's put and get. Included after cmocka. */
#ifndef PEN_SUPPORT_RMA_SHADOW_H
#define PEN_SUPPORT_RMA_SHADOW_H

#include "support/rma_ranks.h"

enum { RMA_SHADOW_RANKS = 3 };

typedef struct rma_shadow {
    ranks world;
    char *copies[RMA_SHADOW_RANKS];
    pen_thread *thread; /* memory of rank 0, which makes the calls */
} rma_shadow;

/* Segments with random bytes. */
static inline void rma_shadow_open(rma_shadow *s, ranks_params params)
{
    params.size = RMA_SHADOW_RANKS;
    rma_ranks_open(&s->world, &params);
    s->thread = &s->world.jobs[0].first_thread;
    for (uint32_t rank = 0; rank < params.size; rank++) {
        s->copies[rank] = malloc(params.segment_len);
        for (size_t i = 0; i < params.segment_len; i++)
            s->copies[rank][i] = (char)ranks_random(&s->world, 256);
        memcpy(s->world.segments[rank], s->copies[rank], params.segment_len);
    }
}

static inline void rma_shadow_compare(rma_shadow *s)
{
    for (uint32_t rank = 0; rank < s->world.params.size; rank++)
        assert_memory_equal(s->world.segments[rank], s->copies[rank], s->world.params.segment_len);
}

static inline void rma_shadow_close(rma_shadow *s)
{
    for (uint32_t rank = 0; rank < s->world.params.size; rank++) {
        assert_int_equal(s->world.jobs[rank].counters.frame_dropped, 0);
        free(s->copies[rank]);
    }
    rma_ranks_close(&s->world);
}

#endif
