/* SPDX-License-Identifier: BSD-3-Clause */
/* run.c: `penstock run`: the command line becomes variables for the ranks and options for the
 * supervisor. */
#include "base/status.h"
#include "boot/boot.h"
#include "command/command.h"
#include "command/environment.h"
#include "command/place.h"
#include "command/run_options.h"
#include "command/spread_plan.h"
#include "command/topology.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "launch/supervisor.h"
#include "link/pair.h"
#include "remote/spread.h"

#include <stddef.h>

bool command_use_checked(pen_log *log, environment *to)
{
    char folder[4096];
    if (!place_of_library(true, folder, sizeof(folder))) {
        pen_log_error(log,
                      "cannot use the checked library: there is none in %s; build it with `cmake "
                      "--preset checked` or leave --checked out",
                      folder);
        return false;
    }
    const char *before = pen_knob_from_process(NULL, "LD_LIBRARY_PATH");
    environment_set(to, "LD_LIBRARY_PATH", folder, before);
    environment_set(to, "PENSTOCK_CHECKED", "1", NULL);
    pen_log_info(log, "checked library from %s", folder);
    return true;
}

static bool conduit_is_usable(pen_log *log, const run_options *options)
{
    const pen_conduit *chosen;
    char frames[16];
    const char *memory = pen_pair_split(options->conduit, frames, sizeof frames);
    const char *first = memory != NULL ? frames : options->conduit;
    if (pen_conduit_choose(log, first, options->ranks, &chosen) != PEN_OK)
        return false;
    return memory == NULL ||
           pen_pair_choose(log, chosen, memory, options->ranks, false, &chosen) == PEN_OK;
}

static bool settings_apply(pen_log *log, const run_options *options, environment *to)
{
    if (options->conduit != NULL) {
        if (!conduit_is_usable(log, options))
            return false;
        environment_set(to, "PENSTOCK_CONDUIT", options->conduit, NULL);
    }
    if (options->trace != NULL)
        environment_set(to, "PENSTOCK_TRACE", options->trace, NULL);
    if (options->stats)
        environment_set(to, "PENSTOCK_STATS", "1", NULL);
    if (options->verbose)
        environment_set(to, "GASNET_VERBOSEENV", "1", NULL);
    return !options->checked || command_use_checked(log, to);
}

/* Finds the cores to bind ranks to. Without --bind it finds no cores and returns true. */
static bool cores_find(pen_log *log, const run_options *options, topology *out)
{
    if (!options->bind)
        return true;
    topology_read(out);
    if (out->set_count == 0) {
        pen_log_error(log, "cannot bind ranks to cores: %s; leave --bind out", out->why_not);
        return false;
    }
    pen_log_info(log, "binding ranks to %u cores", out->set_count);
    return true;
}

/* Answers the exit status. */
static int start(pen_log *log, const run_options *options, const environment *changed)
{
    static spread_plan plan; /* both are large */
    static topology machine;
    if (!spread_plan_make(log, options, changed, &plan))
        return COMMAND_USAGE;
    if (!plan.used && !cores_find(log, options, &machine))
        return 1;
    const pen_boot_needs needs = { .conduit_len = command_conduit_len };
    const pen_supervisor_options supervisor = { .size = options->ranks,
                                                .timeout_s = options->timeout_s,
                                                .tag = options->tag,
                                                .argv = options->argv,
                                                .launcher = "penstock run",
                                                .cores = machine.sets,
                                                .core_count = machine.set_count,
                                                .needs = &needs,
                                                .ops = &pen_super_local_ops };
    int status, signal;
    pen_status result =
        plan.used ? pen_spread_supervise(log, &supervisor, &plan.options, &status, &signal)
                  : pen_supervise(log, &supervisor, &status, &signal, NULL);
    if (result != PEN_OK)
        return result == PEN_ERR_ARGUMENT ? COMMAND_USAGE : 1;
    if (signal != 0)
        pen_supervisor_die(status, signal);
    return status;
}

int command_run(char **arguments)
{
    pen_log log;
    pen_log_init(&log, "run");
    run_options options;
    run_problem problem;
    environment changed;
    environment_open(&changed);
    if (!run_options_parse(arguments, &options, environment_hand_on, &changed, &problem)) {
        if (problem.unknown != NULL)
            return command_unknown("run", "option", problem.unknown, problem.nearest);
        pen_log_error(&log, "%s (see `penstock help run`)", problem.text);
        return COMMAND_USAGE;
    }
    if (options.help)
        return command_help((char *[]){ "run", NULL });
    if (options.verbose)
        log.level = PEN_LOG_INFO;
    if (!settings_apply(&log, &options, &changed))
        return COMMAND_USAGE;
    /* The variables are set in this process, too: the layout of the arena depends on them. */
    if (!environment_apply(&changed)) {
        pen_log_error(&log, "cannot set variables for the ranks: %s; set fewer", changed.failed);
        return 1;
    }
    return start(&log, &options, &changed);
}
