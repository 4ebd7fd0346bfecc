/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h: the part of a supervisor that `penstock run` starts on each host of a job: it makes the
 * arena, starts the host's ranks, and tells the launcher over its standard output what they say,
 * print and come to; it decides nothing. When its input ends, everything here ends. */
#ifndef PEN_REMOTE_AGENT_H
#define PEN_REMOTE_AGENT_H

#include "boot/boot.h"

#include <sched.h>

typedef struct pen_agent_needs {
    const pen_boot_needs *boot;
    /* The cores to bind ranks to, here; none: answers why not. They stay. */
    const char *(*cores)(const cpu_set_t **sets, unsigned *count);
} pen_agent_needs;

/* Serves until the launcher lets it go; answers the exit status. */
int pen_agent_run(pen_log *log, const pen_agent_needs *needs);

#endif
