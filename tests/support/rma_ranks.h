/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_ranks.h: ranks.h with puts and gets, and with memory on devices behind endpoint 1. */
#ifndef PEN_SUPPORT_RMA_RANKS_H
#define PEN_SUPPORT_RMA_RANKS_H

#include "rma/rma.h"
#include "support/ranks.h"

void rma_ranks_open(ranks *world, const ranks_params *params);
void rma_ranks_close(ranks *world); /* the part of vis/ */

/* Two ranks, as the first one sees them. */
typedef struct rma_pair {
    ranks world;
    pen_job *job, *peer;
    pen_thread *thread;
    char *remote; /* the peer's segment */
} rma_pair;

/* Opens the ranks. The function sets size and seed of params. */
void rma_pair_open(rma_pair *p, ranks_params params);

/* Gives each rank an endpoint 1 with a segment of `len` bytes on a stand-in device, known to all
 * ranks. */
void rma_ranks_add_devices(ranks *world, size_t len);

/* Makes a pair of endpoints 0 or 1 of a rank and all others, as gex_TM_Pair does. The job frees it
 * when rma_ranks_close closes it. */
pen_team *rma_ranks_pair(ranks *world, uint32_t rank, uint16_t local, uint16_t remote);

#endif
