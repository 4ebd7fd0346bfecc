/* SPDX-License-Identifier: BSD-3-Clause */
/* spread.h: the launcher of a job on several hosts: a supervisor whose ranks are children of agents
 * on other hosts. An event of a rank arrives as a record and goes to the exit rule; the rule's
 * decisions are sent as records. No rank is started before an agent runs on every host. */
#ifndef PEN_REMOTE_SPREAD_H
#define PEN_REMOTE_SPREAD_H

#include "base/status.h"
#include "diag/log.h"
#include "launch/supervisor.h"
#include "remote/hosts.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pen_spread_options {
    const pen_hosts *hosts;
    uint32_t fan_out;
    const char *agent;   /* path of this command on the remote hosts */
    char *const *ssh;    /* words of the command before a host's name; NULL-terminated */
    char *const *handed; /* variables for the ranks; NULL-terminated */
    double start_timeout_s;
    bool bind;
} pen_spread_options;

/* Runs a job on several hosts, as pen_supervise does on one. Sets options->ops itself. */
pen_status pen_spread_supervise(pen_log *log, const pen_supervisor_options *options,
                                const pen_spread_options *spread_options, int *status_out,
                                int *signal_out);

#endif
