/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: runs seeds; a failure is a line that says what, and one that repeats it.
 *
 *     sim_engine [--ranks N] [--seed S | --seeds FIRST COUNT | --resume FILE LAST]
 *
 * --resume goes on where FILE says, which it keeps up to date, until LAST: a million seeds take
 * hours, and may be interrupted. engine_mutants is the same with faults in src/reliable, of which
 * --mutant NAME turns one on. */
#include "engine.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLICE = 500 };

typedef struct eng_options {
    uint64_t first, count;
    uint32_t ranks;
    const char *ledger;
} eng_options;

static const char *mutant;

bool sim_is(const char *name) { return mutant != NULL && strcmp(mutant, name) == 0; }

static char repeat_line[128]; /* for whoever comes down by a signal */

static void remember(uint64_t seed, uint32_t ranks)
{
    char how[32] = "";
    if (ranks != 0)
        (void)snprintf(how, sizeof how, "--ranks %u ", ranks);
    (void)snprintf(repeat_line, sizeof repeat_line,
                   "seed %" PRIu64 " failed; repeat: sim_engine %s--seed %" PRIu64 "\n", seed, how,
                   seed);
}

static void say_repeat(void)
{
    if (write(STDOUT_FILENO, repeat_line, strlen(repeat_line)) < 0)
        return; /* nobody listens */
}

_Noreturn void engine_fail(const eng_world *world, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("at %.6f s of %u ranks: ", (double)world->now_ns / 1e9, world->plan.ranks);
    (void)vprintf(format, args);
    va_end(args);
    printf("\n");
    (void)fflush(NULL);
    say_repeat();
    _exit(1);
}

static void on_crash(int number)
{
    say_repeat();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* A job that loses a rank leaves its memory behind, as processes may; so it is one. */
static bool run_apart(const eng_plan *plan, eng_totals *totals)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        engine_run(plan, totals);
        _exit(write(ends[1], totals, sizeof *totals) == (ssize_t)sizeof *totals ? 0 : 1);
    }
    (void)close(ends[1]);
    bool is_told = read(ends[0], totals, sizeof *totals) == (ssize_t)sizeof *totals;
    (void)close(ends[0]);
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && is_told;
}

static bool run_seeds(uint64_t first, uint64_t count, uint32_t ranks, eng_totals *totals)
{
    for (uint64_t seed = first; seed < first + count; seed++) {
        eng_plan plan = plan_of(seed, ranks);
        remember(seed, ranks);
        if (!plan.has_death)
            engine_run(&plan, totals);
        else if (!run_apart(&plan, totals))
            return false;
    }
    return true;
}

static void say_totals(const eng_totals *totals)
{
    printf("%" PRIu64 " seeds passed: %" PRIu64 " ranks, %" PRIu64 " messages once each, %" PRIu64
           " faults, %" PRIu64 " deaths of ranks; %" PRIu64 " datagrams, %" PRIu64
           " sent again, %" PRIu64 " had come before; %.0f s of made-up time\n",
           totals->seeds, totals->ranks, totals->messages, totals->faults, totals->deaths,
           totals->datagrams, totals->resent, totals->duplicates, (double)totals->virtual_ns / 1e9);
    (void)fflush(stdout);
}

static bool ledger_write(const char *path, uint64_t next)
{
    FILE *file = fopen(path, "w");
    bool is_ok = file != NULL && fprintf(file, "%" PRIu64 "\n", next) > 0;
    if (file == NULL || fclose(file) != 0 || !is_ok)
        perror(path);
    return is_ok;
}

static bool resume(const char *path, uint64_t last, eng_totals *totals)
{
    uint64_t next = 1;
    FILE *file = fopen(path, "r");
    char text[32];
    if (file != NULL && fgets(text, sizeof text, file) != NULL)
        next = strtoull(text, NULL, 10);
    if (file != NULL)
        (void)fclose(file);
    while (next <= last) {
        uint64_t count = last - next + 1 < SLICE ? last - next + 1 : SLICE;
        if (!run_seeds(next, count, 0, totals))
            return false;
        next += count;
        printf("%" PRIu64 " of %" PRIu64 ": ", next - 1, last);
        say_totals(totals);
        if (!ledger_write(path, next))
            return false;
    }
    return true;
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: sim_engine [--ranks N] [--seed S | --seeds FIRST COUNT | --resume FILE LAST]\n");
    return 2;
}

/* The option that begins there; answers how many words it takes, 0: it is none. */
static int read_option(char *const *words, int count, eng_options *options)
{
    if (count >= 2 && strcmp(words[0], "--ranks") == 0) {
        options->ranks = (uint32_t)strtoul(words[1], NULL, 10);
    } else if (count >= 2 && strcmp(words[0], "--mutant") == 0) {
        mutant = words[1];
    } else if (count >= 2 && strcmp(words[0], "--seed") == 0) {
        options->first = strtoull(words[1], NULL, 10);
        options->count = 1;
    } else if (count >= 3 && strcmp(words[0], "--seeds") == 0) {
        options->first = strtoull(words[1], NULL, 10);
        options->count = strtoull(words[2], NULL, 10);
        return 3;
    } else if (count >= 3 && strcmp(words[0], "--resume") == 0) {
        options->ledger = words[1];
        options->count = strtoull(words[2], NULL, 10);
        return 3;
    } else {
        return 0;
    }
    return 2;
}

static bool read_options(int argc, char **argv, eng_options *options)
{
    for (int i = 1, used; i < argc; i += used) {
        used = read_option(argv + i, argc - i, options);
        if (used == 0)
            return false;
    }
    return options->ranks != 1 && options->ranks <= RANKS_MAX;
}

static void prepare(void)
{
    static const int crashes[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE };
    struct rlimit files; /* two for each rank */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        (void)signal(crashes[i], on_crash);
}

int main(int argc, char **argv)
{
    eng_options options = { .first = 1, .count = 20 };
    eng_totals totals = { 0 };
    if (!read_options(argc, argv, &options))
        return usage();
    prepare();
    bool is_ok = options.ledger != NULL
                     ? resume(options.ledger, options.count, &totals)
                     : run_seeds(options.first, options.count, options.ranks, &totals);
    if (is_ok)
        say_totals(&totals);
    return is_ok ? 0 : 1;
}
