/* SPDX-License-Identifier: BSD-3-Clause */
/* command.h: the subcommands of `penstock`. Each gets the arguments after its name,
 * NULL-terminated, and answers the exit status. */
#ifndef PEN_COMMAND_COMMAND_H
#define PEN_COMMAND_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { COMMAND_USAGE = 2 }; /* status of a command line that makes no sense */

typedef struct command {
    const char *name;
    int (*run)(char **arguments);
    const char *usage;   /* one line, without the program's name */
    const char *summary; /* one line */
    const char *text;    /* options and what else `penstock help <name>` says */
} command;

extern const command command_table[]; /* ends with a row whose name is NULL */

const command *command_find(const char *name); /* NULL: no such */

int command_run(char **arguments);
int command_sim(char **arguments);
int command_perf(char **arguments);
int command_agent(char **arguments);
int command_info(char **arguments);
int command_jobs(char **arguments);
int command_top(char **arguments);
int command_why(char **arguments);
int command_trace(char **arguments);
int command_help(char **arguments);
int command_words(char **arguments);

void command_print_help(FILE *out, const command *about);

/* "penstock[<who>] error: unknown option --x; did you mean --y? (see `penstock help <who>`)".
 * Answers COMMAND_USAGE. nearest may be NULL. */
int command_unknown(const char *who, const char *kind, const char *typed, const char *nearest);

/* Says that a command has no such option, or takes no such argument. Answers COMMAND_USAGE.
 * options: the options of the command; ends with NULL. */
int command_unknown_word(const char *who, const char *typed, const char *const *options);

/* Bytes of a host arena that conduits may want. */
size_t command_conduit_len(uint32_t ranks);

/* Sends what is left of the output on its way. Answers 0, or 1 when some of all that was written
 * did not arrive, which a line says. */
int command_written(const char *who);

#endif
