/* SPDX-License-Identifier: BSD-3-Clause */
/* run_options.h: the command lines of `penstock run` and `penstock sim`, taken apart. Pure: what is
 * wrong with them is a text for the caller to print. */
#ifndef PEN_COMMAND_RUN_OPTIONS_H
#define PEN_COMMAND_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct run_options {
    uint32_t ranks;
    double timeout_s; /* 0: none */
    bool tag, bind, checked, stats, verbose, help;
    const char *conduit;    /* NULL: not given */
    const char *trace;      /* file; NULL: not given */
    char *hosts, *hostfile; /* words of argv; NULL: not given */
    bool local;
    /* `penstock sim`; NULL, 0: not given */
    char *machine, *topology, *placement;
    uint32_t per_node;
    bool json;
    char **argv; /* program and arguments, NULL-terminated */
} run_options;

typedef struct run_problem {
    char text[256];      /* "" when there is none */
    const char *unknown; /* an option nobody knows, as typed; then text is empty */
    const char *nearest; /* the option that was probably meant; NULL if no name is similar */
} run_problem;

/* set: called for each --env NAME=VALUE or NAME, in order. False: *problem says why. */
bool run_options_parse(char **arguments, run_options *out, void (*set)(void *ctx, char *entry),
                       void *ctx, run_problem *problem);

/* Takes the command line of `penstock sim` apart in the same way. */
bool run_options_parse_sim(char **arguments, run_options *out, void (*set)(void *ctx, char *entry),
                           void *ctx, run_problem *problem);

/* Prints the name of every option, a line each, for completions. */
void run_option_print_names(FILE *out, bool is_sim);

/* Whether the word is an option that a value follows. */
bool run_option_takes_value(const char *word);

#endif
