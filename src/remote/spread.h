/* SPDX-License-Identifier: BSD-3-Clause */
/* spread.h: the launcher of a job on several hosts: a supervisor whose ranks are children of agents
 * elsewhere. What happens to a rank comes as a record and goes to the same exit rule; what the rule
 * wants goes out as records. No rank is started before an agent runs on every host. */
#ifndef PEN_REMOTE_SPREAD_H
#define PEN_REMOTE_SPREAD_H

#include "launch/supervisor.h"
#include "remote/hosts.h"

typedef struct pen_spread_options {
    const pen_hosts *hosts;
    uint32_t fan_out;
    const char *agent;   /* path of this command on the other hosts */
    char *const *ssh;    /* the words before a host's name; NULL-terminated */
    char *const *handed; /* variables for the ranks; likewise */
    double start_timeout_s;
    bool bind;
} pen_spread_options;

/* pen_supervise for such a job. Sets options->ops itself. */
pen_status pen_spread_supervise(pen_log *log, const pen_supervisor_options *options,
                                const pen_spread_options *spread_options, int *status_out,
                                int *signal_out);

#endif
