/* SPDX-License-Identifier: BSD-3-Clause */
/* perf_options.h: the command line of `penstock perf`, taken apart into one for `penstock run`.
 * Pure: what is wrong with it is a text for the caller to print. */
#ifndef PEN_COMMAND_PERF_OPTIONS_H
#define PEN_COMMAND_PERF_OPTIONS_H

#include "command/run_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PERF_WORDS_MAX = 24 };

typedef struct perf_options {
    bool help, par;                    /* par: measure the thread mode PAR, not SEQ */
    char *for_run[PERF_WORDS_MAX];     /* options of `penstock run` */
    char *for_program[PERF_WORDS_MAX]; /* arguments of the benchmark program */
    size_t run_count, program_count;
    char len_max[32];
} perf_options;

/* False: *problem says why; problem->unknown is an option, or the operation if *unknown_operation.
 */
bool perf_options_parse(char **arguments, perf_options *out, run_problem *problem,
                        bool *unknown_operation);

/* Prints every operation and every option, a line each, for completions. */
void perf_option_print_words(FILE *out);

#endif
