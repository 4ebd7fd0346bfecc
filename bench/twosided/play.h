/* SPDX-License-Identifier: BSD-3-Clause */
/* play.h: what programs over the two-sided library share: options, and opening it on a rank's
 * ports. */
#ifndef PEN_BENCH_TWOSIDED_PLAY_H
#define PEN_BENCH_TWOSIDED_PLAY_H

#include "extoll/ranks.h"
#include "twosided/twosided.h"

typedef struct play_options {
    pen_credit_params params;
    int number; /* of the command line */
} play_options;

/* [options of ranks.h] [static|activity|loan [NUMBER]]. ranks_wanted 0: any power of two. */
int play_main(int argc, char **argv, const char *program, int number, int ranks_wanted,
              int (*play)(ranks *, void *));

twosided *play_open(ranks *r, const play_options *options);

/* After all have received all. Fails the rank if a mailbox overflowed. */
void play_close(ranks *r, twosided *t);

#endif
