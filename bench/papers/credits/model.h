/* SPDX-License-Identifier: BSD-3-Clause */
/* model.h: ranks of a two-sided library over a network of mailboxes, in virtual time, with the very
 * code of src/credit between them. A rank sends a message packet by packet while it has credits; it
 * looks into its mailbox only when it must wait: for credit, or for a message. Packets that leave
 * together travel as one burst. Ports of a NIC are busy for each packet; what lies between them
 * delays and is never full. */
#ifndef CREDITS_MODEL_H
#define CREDITS_MODEL_H

#include "bench/papers/credits/pattern.h"
#include "credit/credit.h"
#include "virtual/machine.h"

typedef struct model model;

typedef struct model_params {
    pen_virtual_machine machine;
    uint32_t ranks;
    bool is_free; /* no flow control and no bounds: what the others are compared with */
    pen_credit_params credit;
    uint32_t message_packets;
    uint64_t seed;
} model_params;

/* NULL: no memory. */
model *model_open(const model_params *params);
void model_close(model *m);

/* Plays operations of a pattern until all ranks have ended them. mixed: messages have random
 * lengths up to the usual one, so that counters do not stay in step. NULL, or what went wrong. */
const char *model_play(model *m, pattern p, uint32_t group, uint32_t ops, bool mixed);

/* Sums over all ranks since the model was opened. */
typedef struct model_counters {
    uint64_t now_ns;           /* the last rank's clock */
    uint64_t messages, waited; /* sent; of which found no credit, nor anything to do meanwhile */
    uint64_t packets, controls;
    uint64_t wait_ns; /* for credit, all that was done meanwhile included */
} model_counters;

void model_count(const model *m, model_counters *out);

/* Rank 0 as a sender to another rank, and that one's quota for it. */
void model_look(const model *m, uint32_t peer, uint32_t *hand, uint32_t *quota);

#endif
