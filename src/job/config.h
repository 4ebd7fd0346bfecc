/* SPDX-License-Identifier: BSD-3-Clause */
/* config.h: the variables of the job. */
#ifndef PEN_JOB_CONFIG_H
#define PEN_JOB_CONFIG_H

#include "knob/knob.h"

#include <stdbool.h>
#include <stdint.h>

extern const pen_knob pen_job_knobs[]; /* rows with offset into pen_job_config */
typedef struct pen_job_config {
    double exit_timeout;          /* GASNET_EXITTIMEOUT; 0: computed from the three below */
    pen_memory_limit segment_max; /* GASNET_MAX_SEGSIZE */
    bool huge_pages;              /* GASNET_USE_HUGEPAGES */
    double exit_timeout_max, exit_timeout_min, exit_timeout_factor;
    int64_t threads_max;      /* GASNET_MAX_THREADS */
    const char *conduit;      /* PENSTOCK_CONDUIT */
    const char *device;       /* PENSTOCK_DEVICE, or NULL */
    const char *check_off;    /* PENSTOCK_CHECK_OFF, or NULL */
    bool check_overlap;       /* PENSTOCK_CHECK_OVERLAP */
    bool wants_checks;        /* PENSTOCK_CHECKED */
    bool allow_other_conduit; /* PENSTOCK_ALLOW_OTHER_CONDUIT */
    bool stats;               /* PENSTOCK_STATS; also true if there is a stats_file */
    const char *stats_file;   /* GASNET_STATSFILE; "": none */
    bool verbose_env;         /* GASNET_VERBOSEENV */
} pen_job_config;

#endif
