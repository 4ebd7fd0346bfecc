/* SPDX-License-Identifier: BSD-3-Clause */
/* play.h: the common part of programs over the two-sided library: options, and opening the library
 * on a rank's ports. */
#ifndef PEN_BENCH_TWOSIDED_PLAY_H
#define PEN_BENCH_TWOSIDED_PLAY_H

#include "extoll/ranks.h"
#include "twosided/twosided.h"

/* [options of ranks.h] [static|activity|loan]. Answers the index of the word after; -1: it is
 * wrong, and was said. */
int play_read(ranks_options *options, pen_credit_params *params, const char *program, int argc,
              char **argv);

twosided *play_open(ranks *r, const pen_credit_params *params);

/* After all have received all. Fails the rank if a mailbox overflowed. */
void play_close(ranks *r, twosided *t);

#endif
