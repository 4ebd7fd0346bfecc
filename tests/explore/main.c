/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: explore [--long] [--trace] [--mutant <name>] <scenario> | --list
 *
 * Exits with 0 when every behaviour of the scenario is right; with --mutant when one is not, for a
 * mutant must be found. Else with 1, after the steps that lead to the fault. */
#include "explorer.h"
#include "missing.h"
#include "pen_config.h"

#include <stdio.h>
#include <string.h>
#if PEN_HAVE_SINGLE_THREADED
#    include <sys/single_threaded.h>
#endif
#include <time.h>

const char *explore_mutant;

static const explore_scenario *const tables[] = {
    explore_channel_scenarios, explore_inbox_scenarios,
    explore_sleep_scenarios,   explore_line_scenarios,
    explore_lock_scenarios,    explore_express_scenarios,
    explore_shared_scenarios,  NULL,
};

static const explore_scenario *find(const char *name)
{
    for (const explore_scenario *const *table = tables; *table != NULL; table++) {
        for (const explore_scenario *row = *table; row->name != NULL; row++) {
            if (name == NULL)
                printf("%-20s %s\n", row->name, row->what);
            else if (strcmp(row->name, name) == 0)
                return row;
        }
    }
    return NULL;
}

/* Fails if vary.py did not find a line in the sources. */
static void check_variations(const char *mutant)
{
    for (const char *const *name = missing; *name != NULL; name++) {
        if (strncmp(*name, "size ", 5) == 0 || (mutant != NULL && strcmp(*name, mutant) == 0))
            explore_die("%s: its line is gone from the sources; mend tests/explore/vary.py", *name);
    }
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int explore(const explore_scenario *scenario, const explore_limits *limits)
{
    explore_result result = explore_run(scenario, limits);
    printf("%s: %llu states, %llu runs, %llu steps, %.2f s of processor time: %s\n", scenario->name,
           (unsigned long long)result.states, (unsigned long long)result.runs,
           (unsigned long long)result.steps, seconds(),
           result.fault == NULL ? "all is well" : result.fault);
    if (limits->mutant == NULL)
        return result.fault == NULL ? 0 : 1;
    printf(result.fault == NULL ? "the mutant %s lives\n" : "the mutant %s is found\n",
           limits->mutant);
    return result.fault == NULL ? 1 : 0;
}

int main(int argc, char **argv)
{
#if PEN_HAVE_SINGLE_THREADED
    __libc_single_threaded = 0; /* the C library does not know the explored threads */
#endif
    explore_limits limits = { 0 };
    const explore_scenario *scenario = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--long") == 0)
            limits.is_long = true;
        else if (strcmp(argv[i], "--trace") == 0)
            limits.trace = true;
        else if (strcmp(argv[i], "--mutant") == 0 && i + 1 < argc)
            limits.mutant = explore_mutant = argv[++i];
        else
            scenario = find(strcmp(argv[i], "--list") == 0 ? NULL : argv[i]);
    }
    if (scenario == NULL)
        return argc == 2 && strcmp(argv[1], "--list") == 0 ? 0 : 2;
    check_variations(limits.mutant);
    return explore(scenario, &limits);
}
