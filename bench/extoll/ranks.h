/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h: programs for the software EXTOLL card: ranks are forked processes, each a node of one
 * fabric with a VELO and an RMA port, on a core of its own where there are enough. */
#ifndef PEN_BENCH_EXTOLL_RANKS_H
#define PEN_BENCH_EXTOLL_RANKS_H

#include <card.h>
#include <rma2.h>
#include <velo2.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { RANKS_MAX = 64, RANKS_RESULTS = 64 };

/* In shared memory. */
typedef struct ranks_page {
    _Atomic uint32_t arrived, generation;
    double results[RANKS_MAX][RANKS_RESULTS]; /* results of each rank, read after a barrier */
} ranks_page;

typedef struct ranks {
    int rank, count;
    pen_card_config config;
    pen_card *card;
    velo2_port_t velo;
    velo2_connection_t *to; /* one for each rank */
    RMA2_Port rma;
    RMA2_Handle *rma_to; /* one for each rank */
    ranks_page *page;
    bool has_to_yield; /* there are more ranks than cores */
    const char *program;
} ranks;

/* Options that all programs share; other options are left to the caller.
 *   --ranks N   --latency   --slot 64|128   --mailbox SLOTS   --stall */
typedef struct ranks_options {
    int count;
    pen_card_config config;
} ranks_options;

/* Options may stand anywhere before others. Answers the index of the first that is none of these.
 */
int ranks_options_read(ranks_options *options, int argc, char **argv);

/* Starts them and waits: 0 if every one's play answered 0. The context is handed on. */
int ranks_run(const ranks_options *options, const char *program, int (*play)(ranks *, void *),
              void *context);

void ranks_barrier(ranks *r);

/* Ends the process, and says why. */
_Noreturn void ranks_fail(const ranks *r, const char *what, const char *why);

/* Sorts, and answers the middle one. */
double ranks_median(double *values, int count);

#endif
