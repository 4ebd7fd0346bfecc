/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: runs seeds; a failure is one line that repeats it.
 *
 *     sim_reliable [--long] [--seed S | --seeds FIRST COUNT]
 *     sim_mutants [--mutant NAME] ...     runs with a fault in the protocol
 *     sim_mutants --all COUNT             fails unless COUNT seeds find every mutant
 */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mutants.h" /* sim_mutants[], ends with NULL; empty in the program without */

static bool run_seed(uint64_t seed, bool is_long)
{
    char what[SIM_WHAT_MAX];
    sim_plan plan = sim_plan_of(seed, is_long);
    if (sim_run(&plan, what))
        return true;
    printf("seed %" PRIu64 ": %s; repeat: %s %s%s%s%s--seed %" PRIu64 "\n", seed, what,
           sim_mutant != NULL ? "sim_mutants" : "sim_reliable", is_long ? "--long " : "",
           sim_mutant != NULL ? "--mutant " : "", sim_mutant != NULL ? sim_mutant : "",
           sim_mutant != NULL ? " " : "", seed);
    return false;
}

static uint64_t run_seeds(uint64_t first, uint64_t count, bool is_long)
{
    uint64_t failed = 0;
    for (uint64_t i = 0; i < count; i++)
        failed += !run_seed(first + i, is_long);
    return failed;
}

/* Runs a mutant in another process, since it may do anything. Returns true if it was found. */
static bool try_mutant(const char *name, uint64_t count)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0) {
        sim_mutant = name;
        alarm(20); /* an endless loop is found, too */
        for (uint64_t seed = 1; seed <= count; seed++)
            if (!run_seed(seed, false)) {
                fflush(stdout);
                _exit(1);
            }
        _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child)
        return false;
    if (WIFSIGNALED(status))
        printf("ended by signal %d\n", WTERMSIG(status));
    return status != 0;
}

static int try_all_mutants(uint64_t count)
{
    unsigned found = 0, all = 0;
    for (; sim_mutants[all] != NULL; all++) {
        printf("%s: ", sim_mutants[all]);
        if (try_mutant(sim_mutants[all], count))
            found++;
        else
            printf("NOT FOUND in %" PRIu64 " seeds\n", count);
    }
    printf("%u of %u mutants found\n", found, all);
    return found == all && all != 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 100, mutants = 0;
    bool is_long = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--long") == 0) {
            is_long = true;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            first = strtoull(argv[++i], NULL, 10);
            count = 1;
        } else if (strcmp(argv[i], "--seeds") == 0 && i + 2 < argc) {
            first = strtoull(argv[++i], NULL, 10);
            count = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--mutant") == 0 && i + 1 < argc) {
            sim_mutant = argv[++i];
        } else if (strcmp(argv[i], "--all") == 0 && i + 1 < argc) {
            mutants = strtoull(argv[++i], NULL, 10);
        } else {
            fprintf(stderr, "usage: sim_reliable [--long] [--seed S | --seeds FIRST COUNT] "
                            "[--mutant NAME | --all COUNT]\n");
            return 2;
        }
    }
    if (mutants != 0)
        return try_all_mutants(mutants);
    uint64_t failed = run_seeds(first, count, is_long);
    printf("%" PRIu64 " seeds passed, %" PRIu64 " failed\n", count - failed, failed);
    return failed != 0;
}
