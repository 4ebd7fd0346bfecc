/* SPDX-License-Identifier: BSD-3-Clause */
/* spread_plan.h: whether a job goes to other hosts, to which, and how they are reached. */
#ifndef PEN_COMMAND_SPREAD_PLAN_H
#define PEN_COMMAND_SPREAD_PLAN_H

#include "command/environment.h"
#include "command/run_options.h"
#include "diag/log.h"
#include "remote/hosts.h"
#include "remote/spread.h"

#include <limits.h>
#include <stdbool.h>

enum { SPREAD_WORDS_MAX = 48 };

typedef struct spread_plan {
    bool used;
    pen_spread_options options; /* points at what follows */
    pen_hosts hosts;
    char agent[PATH_MAX];
    char words_text[4096]; /* holds the text of the words in `ssh` */
    char *ssh[SPREAD_WORDS_MAX + 1];
    char connect_timeout[48], alive_interval[48];
} spread_plan;

/* From the options, or Slurm's variables where it has given us several hosts and started one
 * process. changed: variables that the command line sets. False: why not has been said. */
bool spread_plan_make(pen_log *log, const run_options *options, const environment *changed,
                      spread_plan *out);

#endif
