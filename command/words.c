/* SPDX-License-Identifier: BSD-3-Clause */
/* words.c: `penstock words`: the words that may follow the words typed so far, a line each. The
 * completions of bash, zsh and fish call it, so that they offer what the command understands. It
 * prints nothing where a file name or a free value is expected. */
#include "command/command.h"
#include "command/info.h"
#include "command/perf_options.h"
#include "command/run_options.h"
#include "command/top.h"
#include "command/trace.h"
#include "command/watch.h"
#include "command/watch_options.h"
#include "conduit/conduit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is(const char *word, const char *wanted) { return strcmp(word, wanted) == 0; }

static void print_commands(void)
{
    for (const command *row = command_table; row->name != NULL; row++)
        if (row->usage != NULL)
            puts(row->name);
}

static void print_conduits(void)
{
    const pen_conduit *all[PEN_CONDUITS_MAX];
    const size_t count = pen_conduit_list(NULL, all);
    for (size_t i = 0; i < count; i++)
        puts(all[i]->name);
}

static void print_list(const char *const *words)
{
    for (; *words != NULL; words++)
        puts(*words);
}

static void print_jobs(void)
{
    static watch_job jobs[WATCH_JOBS_MAX];
    size_t count = watch_find(jobs, WATCH_JOBS_MAX);
    for (size_t i = 0; i < count; i++)
        printf("%d\n", (int)jobs[i].id);
    watch_close(jobs, count);
}

/* Prints the values of an option. Returns false if the word is no option that takes one. */
static bool print_values(const char *option)
{
    if (is(option, "--conduit"))
        print_conduits();
    else if (is(option, "--mode"))
        print_list((const char *const[]){ "seq", "par", NULL });
    else if (is(option, "--sort"))
        print_list(top_columns);
    else
        return is(option, "--interval") || run_option_takes_value(option) || is(option, "--max");
    return true;
}

static void print_options(const char *name)
{
    if (is(name, "run")) {
        run_option_print_names(stdout, false);
    } else if (is(name, "sim")) {
        run_option_print_names(stdout, true);
    } else if (is(name, "perf")) {
        perf_option_print_words(stdout);
    } else if (is(name, "info")) {
        print_list(info_options);
        print_conduits();
    } else if (is(name, "jobs")) {
        print_list(jobs_options);
    } else if (is(name, "top")) {
        print_jobs();
        print_list(top_options);
    } else if (is(name, "why")) {
        print_jobs();
        print_list(why_options);
    } else if (is(name, "trace")) {
        print_list(trace_options);
    } else if (is(name, "help")) {
        print_commands();
    }
}

int command_words(char **arguments)
{
    const char *last = NULL;
    for (char **at = arguments; *at != NULL; at++)
        last = *at;
    if (last == NULL)
        print_commands();
    else if (!(last[0] == '-' && print_values(last)))
        print_options(arguments[0]);
    return command_written("words");
}
