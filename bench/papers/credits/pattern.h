/* SPDX-License-Identifier: BSD-3-Clause */
/* pattern.h: the steps of the ranks of a two-sided program: send a message, or wait for one. An
 * operation is one iteration of an MPI benchmark: it ends when every rank's part has ended. */
#ifndef CREDITS_PATTERN_H
#define CREDITS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

typedef enum pattern {
    PATTERN_ALLTOALL,  /* in groups of consecutive ranks, all at once; all sends, then all waits */
    PATTERN_PINGPONG,  /* all pairs of neighbours at once */
    PATTERN_SENDRECV,  /* a ring, one way */
    PATTERN_EXCHANGE,  /* a ring, both ways */
    PATTERN_BCAST,     /* a binomial tree from rank 0, then a barrier */
    PATTERN_REDUCE,    /* a tree, upwards */
    PATTERN_ALLREDUCE, /* recursive doubling */
    PATTERN_ALLGATHER, /* a ring, as often as there are ranks */
    PATTERN_BARRIER,   /* dissemination; messages of one packet */
    PATTERNS,
} pattern;

/* Its name; PATTERNS has none. */
const char *pattern_name(pattern p);

/* Whether so named; *out is set then. */
bool pattern_find(const char *name, pattern *out);

typedef enum step_kind { STEP_SEND, STEP_WAIT, STEP_END } step_kind;

typedef struct step {
    step_kind kind;
    uint32_t peer;
    bool is_short; /* one packet, whatever the length of messages */
} step;

typedef struct place {
    uint32_t ranks, group; /* powers of two; group: of an all-to-all */
    uint32_t rank;         /* whose step */
} place;

/* The i-th step of a rank in an operation. */
step pattern_step(pattern p, const place *at, uint32_t i);

#endif
