/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.h: the parts of `penstock sim`. */
#ifndef PEN_COMMAND_SIM_H
#define PEN_COMMAND_SIM_H

#include "boot/boot.h"
#include "command/run_options.h"
#include "diag/log.h"
#include "virtual/virtual.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct sim_plan {
    const char *machine, *topology, *placement;
    pen_virtual_params params;
    uint32_t nodes[PEN_BOOT_RANKS_MAX]; /* the node of each rank */
} sim_plan;

/* Reads machine, topology and placement. On failure prints the reason and returns false. */
bool sim_plan_make(pen_log *log, const run_options *options, sim_plan *out);

typedef struct sim_result {
    int status;
    double real_s;
} sim_result;

/* Prints times, events, stalls and the busiest links, as text or as one JSON object. */
void sim_report(FILE *out, bool json, const sim_plan *plan, const pen_virtual *world,
                const sim_result *result);

#endif
