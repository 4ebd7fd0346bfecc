/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h: the process that `penstock run` starts on each host of a job. It makes the arena, starts
 * the host's ranks, and sends their messages, output and ends to the launcher over its standard
 * output. The launcher takes all decisions. When the agent's input ends, it ends with all its
 * ranks. */
#ifndef PEN_REMOTE_AGENT_H
#define PEN_REMOTE_AGENT_H

#include "boot/boot.h"
#include "diag/log.h"

#include <sched.h>

typedef struct pen_agent_needs {
    const pen_boot_needs *boot;
    /* Finds the cores of this host to bind ranks to; the sets stay valid. Returns the reason if
     * there are no cores to bind to, else NULL. */
    const char *(*cores)(const cpu_set_t **sets, unsigned *count);
} pen_agent_needs;

/* Serves until the launcher sends QUIT or ends. Returns the exit status. */
int pen_agent_run(pen_log *log, const pen_agent_needs *needs);

#endif
