/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: runs seeds; a failure is a line that says what, and one that repeats it.
 *
 *     sim_engine [--ranks N] [--seed S | --seeds FIRST COUNT | --list FILE |
 *                 --resume FILE LAST [--jobs N]]
 *
 * --list plays the seeds that FILE names, one at the start of each line. --resume goes on where
 * FILE says, which it keeps up to date, until LAST: a million seeds take hours, and may be
 * interrupted; --jobs says how many processes share them. engine_mutants is the same with faults in
 * src/reliable, of which
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

enum { SLICE = 250, JOBS_MAX = 1024 };

typedef struct eng_options {
    uint64_t first, count;
    uint32_t ranks, jobs;
    const char *ledger, *list;
} eng_options;

static const char *mutant;

bool sim_is(const char *name) { return mutant != NULL && strcmp(mutant, name) == 0; }

static char repeat_line[128]; /* for a run that ends by a signal */

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
    printf("at %.6f s of %u ranks: ", (double)world->network.now_ns / 1e9, world->plan.ranks);
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

static void least(uint32_t *sum, uint32_t more)
{
    if (*sum == 0 || (more != 0 && more < *sum))
        *sum = more;
}

static void add_totals(eng_totals *sum, const eng_totals *more)
{
    sum->seeds += more->seeds;
    sum->ranks += more->ranks;
    sum->messages += more->messages;
    sum->faults += more->faults;
    sum->deaths += more->deaths;
    sum->datagrams += more->datagrams;
    sum->resent += more->resent;
    sum->duplicates += more->duplicates;
    sum->virtual_ns += more->virtual_ns;
    least(&sum->messages_least, more->messages_least);
    least(&sum->faults_least, more->faults_least);
}

/* ---- seeds that are played by another process ------------------------------------------------ */

typedef struct eng_child {
    pid_t pid;
    int end; /* the file for its totals */
} eng_child;

static bool run_seeds(uint64_t first, uint64_t count, uint32_t ranks, eng_totals *totals);

/* doomed: NULL, or the one seed to play. */
static bool child_begin(eng_child *child, uint64_t first, uint64_t count, const eng_plan *doomed)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    (void)fflush(NULL);
    child->pid = fork();
    if (child->pid == 0) {
        eng_totals totals = { 0 };
        bool is_ok = true;
        if (doomed != NULL)
            engine_run(doomed, &totals);
        else
            is_ok = run_seeds(first, count, 0, &totals);
        is_ok = is_ok && write(ends[1], &totals, sizeof totals) == (ssize_t)sizeof totals;
        _exit(is_ok ? 0 : 1);
    }
    (void)close(ends[1]);
    child->end = ends[0];
    return child->pid > 0;
}

static bool child_end(const eng_child *child, eng_totals *totals)
{
    eng_totals its;
    bool is_told = read(child->end, &its, sizeof its) == (ssize_t)sizeof its;
    (void)close(child->end);
    int status = 1;
    if (child->pid <= 0 || waitpid(child->pid, &status, 0) != child->pid || status != 0 || !is_told)
        return false;
    add_totals(totals, &its);
    return true;
}

/* A job that loses a rank does not free its memory, so it runs in a process of its own. */
static bool run_doomed(const eng_plan *plan, eng_totals *totals)
{
    eng_child child;
    return child_begin(&child, plan->seed, 1, plan) && child_end(&child, totals);
}

static bool run_seeds(uint64_t first, uint64_t count, uint32_t ranks, eng_totals *totals)
{
    for (uint64_t seed = first; seed < first + count; seed++) {
        eng_plan plan = plan_of(seed, ranks);
        remember(seed, ranks);
        if (!plan.has_death)
            engine_run(&plan, totals);
        else if (!run_doomed(&plan, totals))
            return false;
    }
    return true;
}

static bool run_list(const char *path, uint32_t ranks, eng_totals *totals)
{
    FILE *file = fopen(path, "r");
    char line[256];
    bool is_ok = file != NULL;
    if (file == NULL) {
        perror(path);
        return false;
    }
    while (is_ok && fgets(line, sizeof line, file) != NULL)
        if (line[0] >= '0' && line[0] <= '9')
            is_ok = run_seeds(strtoull(line, NULL, 10), 1, ranks, totals);
    (void)fclose(file);
    return is_ok && totals->seeds != 0;
}

/* Gives a slice of the seeds to each job. */
static bool run_slices(uint64_t first, uint64_t last, uint32_t jobs, eng_totals *totals)
{
    eng_child children[JOBS_MAX];
    uint32_t begun = 0;
    bool is_ok = true;
    for (; begun < jobs && first <= last && is_ok; begun++, first += SLICE) {
        uint64_t count = last - first + 1 < SLICE ? last - first + 1 : SLICE;
        is_ok = child_begin(&children[begun], first, count, NULL);
    }
    for (uint32_t i = 0; i < begun; i++)
        is_ok = child_end(&children[i], totals) && is_ok;
    return is_ok;
}

static void say_totals(const eng_totals *totals)
{
    printf("%" PRIu64 " seeds passed: %" PRIu64 " ranks, %" PRIu64 " messages once each, %" PRIu64
           " faults felt, %" PRIu64 " jobs ended by a death, the others of at least %u messages a "
           "rank and %u faults; %" PRIu64 " datagrams, %" PRIu64 " sent again, %" PRIu64
           " had come before; %.0f s of made-up time\n",
           totals->seeds, totals->ranks, totals->messages, totals->faults, totals->deaths,
           totals->messages_least, totals->faults_least, totals->datagrams, totals->resent,
           totals->duplicates, (double)totals->virtual_ns / 1e9);
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

static uint64_t ledger_read(const char *path)
{
    FILE *file = fopen(path, "r");
    char text[32];
    uint64_t next = 1;
    if (file == NULL)
        return next;
    if (fgets(text, sizeof text, file) != NULL)
        next = strtoull(text, NULL, 10);
    (void)fclose(file);
    return next;
}

static bool resume(const eng_options *options, eng_totals *totals)
{
    const uint64_t last = options->count;
    uint64_t next = ledger_read(options->ledger);
    while (next <= last) {
        if (!run_slices(next, last, options->jobs, totals))
            return false;
        next += (uint64_t)options->jobs * SLICE;
        next = next <= last ? next : last + 1;
        printf("%" PRIu64 " of %" PRIu64 ": ", next - 1, last);
        say_totals(totals);
        if (!ledger_write(options->ledger, next))
            return false;
    }
    return true;
}

static int usage(void)
{
    fprintf(stderr, "usage: sim_engine [--ranks N] [--seed S | --seeds FIRST COUNT | "
                    "--list FILE | --resume FILE LAST [--jobs N]]\n");
    return 2;
}

static uint32_t *number_of(eng_options *options, const char *word)
{
    if (strcmp(word, "--ranks") == 0)
        return &options->ranks;
    return strcmp(word, "--jobs") == 0 ? &options->jobs : NULL;
}

static const char **text_of(eng_options *options, const char *word)
{
    if (strcmp(word, "--mutant") == 0)
        return &mutant;
    return strcmp(word, "--list") == 0 ? &options->list : NULL;
}

/* Parses the option that begins there. Returns how many words it takes, or 0 if it is unknown. */
static int read_option(char *const *words, int count, eng_options *options)
{
    if (count >= 2 && number_of(options, words[0]) != NULL) {
        *number_of(options, words[0]) = (uint32_t)strtoul(words[1], NULL, 10);
    } else if (count >= 2 && text_of(options, words[0]) != NULL) {
        *text_of(options, words[0]) = words[1];
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
    return options->ranks != 1 && options->ranks <= RANKS_MAX && options->jobs != 0 &&
           options->jobs <= JOBS_MAX;
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

static bool play(const eng_options *options, eng_totals *totals)
{
    if (options->ledger != NULL)
        return resume(options, totals);
    if (options->list != NULL)
        return run_list(options->list, options->ranks, totals);
    return run_seeds(options->first, options->count, options->ranks, totals);
}

int main(int argc, char **argv)
{
    eng_options options = { .first = 1, .count = 20, .jobs = 1 };
    eng_totals totals = { 0 };
    if (!read_options(argc, argv, &options))
        return usage();
    prepare();
    bool is_ok = play(&options, &totals);
    if (is_ok)
        say_totals(&totals);
    return is_ok ? 0 : 1;
}
