/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_ranks.h: ranks.h with puts and gets, and with memory on devices behind endpoint 1. */
#ifndef PEN_SUPPORT_RMA_RANKS_H
#define PEN_SUPPORT_RMA_RANKS_H

#include "rma/rma.h"
#include "support/ranks.h"

void rma_ranks_open(ranks *world, const ranks_params *params);
void rma_ranks_close(ranks *world); /* vis/'s part too */

/* Two ranks, as seen by the first. */
typedef struct rma_pair {
    ranks world;
    pen_job *job, *peer;
    pen_thread *thread;
    char *remote; /* the peer's segment */
} rma_pair;

/* params: size and seed are set here. */
void rma_pair_open(rma_pair *p, ranks_params params);

/* Gives each rank an endpoint 1 with a segment of so many bytes on a stand-in device, known to
 * all. */
void rma_ranks_add_devices(ranks *world, size_t len);

/* A pair of endpoints 0 or 1 of a rank and all others, as gex_TM_Pair makes it; the job frees it
 * when it is closed with rma_ranks_close. */
pen_team *rma_ranks_pair(ranks *world, uint32_t rank, uint16_t local, uint16_t remote);

#endif
