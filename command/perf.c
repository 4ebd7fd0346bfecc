/* SPDX-License-Identifier: BSD-3-Clause */
/* perf.c: `penstock perf`: starts the benchmark program that is installed with the library, as
 * `penstock run` would. */
#include "command/command.h"
#include "command/perf_options.h"
#include "command/place.h"
#include "diag/log.h"

#include <stddef.h>

static int start(pen_log *log, const perf_options *options)
{
    const char *name = options->par ? "perf-par" : "perf-seq";
    char program[4096], end_of_options[] = "--";
    if (!place_of_program(name, program, sizeof(program))) {
        pen_log_error(log,
                      "cannot find the benchmark program: there is no %s; build with "
                      "-DPENSTOCK_BENCH=ON",
                      program);
        return 1;
    }
    char *words[2 * PERF_WORDS_MAX + 4];
    size_t count = 0;
    for (size_t i = 0; i < options->run_count; i++)
        words[count++] = options->for_run[i];
    words[count++] = end_of_options;
    words[count++] = program;
    for (size_t i = 0; i < options->program_count; i++)
        words[count++] = options->for_program[i];
    words[count] = NULL;
    return command_run(words);
}

int command_perf(char **arguments)
{
    pen_log log;
    pen_log_init(&log, "perf");
    perf_options options;
    run_problem problem;
    bool unknown_operation;
    if (!perf_options_parse(arguments, &options, &problem, &unknown_operation)) {
        if (problem.unknown != NULL)
            return command_unknown("perf", unknown_operation ? "operation" : "option",
                                   problem.unknown, problem.nearest);
        pen_log_error(&log, "%s (see `penstock help perf`)", problem.text);
        return COMMAND_USAGE;
    }
    if (options.help)
        return command_help((char *[]){ "perf", NULL });
    return start(&log, &options);
}
