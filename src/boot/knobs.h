/* SPDX-License-Identifier: BSD-3-Clause */
/* knobs.h: the variables that decide how a job is made. Those that a job's own table lists as well
 * (segment size, exit time-outs) are read here because the supervisor has no job. */
#ifndef PEN_BOOT_KNOBS_H
#define PEN_BOOT_KNOBS_H

#include "base/status.h"
#include "diag/log.h"
#include "knob/knob.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pen_boot_config {
    int64_t ranks;                /* GASNET_PSHM_NODES; 0: not set */
    const char *spawn;            /* GASNET_SPAWNFN */
    bool alone;                   /* PENSTOCK_ALONE */
    int64_t block_most;           /* GASNET_SUPERNODE_MAXSIZE; 0: no bound */
    pen_memory_limit segment_max; /* GASNET_MAX_SEGSIZE; zero: not set */
    const char *copies;           /* PENSTOCK_COPIES */
    const char *trace;            /* PENSTOCK_TRACE or GASNET_TRACEFILE; "": no trace */
    const char *trace_file;       /* GASNET_TRACEFILE */
    const char *trace_mask;       /* GASNET_TRACEMASK */
    uint32_t trace_kinds;         /* bits of the pen_trace_kind that are traced */
    uint64_t trace_len;           /* PENSTOCK_TRACE_SIZE */
    /* GASNET_EXITTIMEOUT; 0: not set, computed from the three below */
    double exit_timeout;
    double leave_timeout; /* PENSTOCK_LEAVE_TIMEOUT; 0: no limit */
    double exit_timeout_max, exit_timeout_min, exit_timeout_factor;
} pen_boot_config;

/* The rows that belong to boot alone. */
extern const pen_knob pen_boot_knobs[];

/* How `penstock run` reaches other hosts. */
typedef struct pen_launch_config {
    const char *ssh, *ssh_options, *remote_folder;
    int64_t fan_out;
    double timeout, beat;
} pen_launch_config;
extern const pen_knob pen_launch_knobs[];

pen_status pen_boot_config_read(pen_log *log, pen_boot_config *out);

/* Reads a decimal number out of a variable of this process. Returns false if the variable is not
 * set or holds anything else. */
bool pen_boot_number(const char *name, long most, long *out);

/* Seconds that `ranks` ranks get for an orderly end. */
double pen_boot_exit_timeout(const pen_boot_config *config, uint32_t ranks);

/* Nanoseconds for which ranks that have left with 0 wait for their peers; 0: no limit. */
uint64_t pen_boot_leave_limit_ns(const pen_boot_config *config);

#endif
