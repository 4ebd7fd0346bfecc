/* SPDX-License-Identifier: BSD-3-Clause */
/* start.c: how long a job takes that does nothing, from the moment it is started until it has been
 * reaped, in turn with starting and reaping as many empty programs. Prints lines of JSON as perf
 * does; bench/run.py starts it.
 *
 *     start RANKS PAIRS PENSTOCK NOTHING EMPTY   `penstock run`, held to 1.5 x empty + 20 ms
 *     start RANKS PAIRS self NOTHING EMPTY       NOTHING forks itself; 128 ranks: at most 60 ms */
#include "../blocks.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MAX = 4096, SELF_RANKS = 128 };
#define RUN_FACTOR    1.5
#define RUN_EXTRA_NS  20e6
#define SELF_LIMIT_NS 60e6

static void fail(const char *what, const char *of, int error)
{
    fprintf(stderr, "start: %s %s: %s\n", what, of, strerror(error));
    exit(1);
}

static pid_t begin(char **argv)
{
    pid_t pid;
    const int error = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);
    if (error != 0)
        fail("cannot start", argv[0], error);
    return pid;
}

static void reap(pid_t pid, const char *name)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            fail("cannot wait for", name, errno);
    if (status != 0) {
        fprintf(stderr, "start: %s has failed (wait status %d)\n", name, status);
        exit(1);
    }
}

static double empty_ns(unsigned count, char *program)
{
    static pid_t pids[RANKS_MAX];
    char *argv[] = { program, NULL };
    const double start_ns = block_now_ns();
    for (unsigned i = 0; i < count; i++)
        pids[i] = begin(argv);
    for (unsigned i = 0; i < count; i++)
        reap(pids[i], program);
    return block_now_ns() - start_ns;
}

static double job_ns(char **argv)
{
    const double start_ns = block_now_ns();
    reap(begin(argv), argv[0]);
    return block_now_ns() - start_ns;
}

/* raw_ns is what the job is held to; a median is what counts, and few pairs are needed for it. */
static void print_row(bool self, unsigned ranks, const block_result *result, double limit)
{
    printf("{\"metric\":\"%s_%u_ranks\",\"value\":%.3f,\"unit\":\"ms\",\"baseline\":\"%s\","
           "\"baseline_value\":%.3f,\"ratio\":%.4f,\"quarter1\":%.4f,\"quarter3\":%.4f,"
           "\"min\":%.4f,\"judged\":\"ratio\",\"sense\":\"<=\",\"blocks\":%u,\"rejected\":%u",
           self ? "self_fork" : "start_and_exit", ranks, result->ours_ns / 1e6,
           self ? "limit" : "1.5_x_empty_programs_and_20_ms", result->raw_ns / 1e6, result->ratio,
           result->quarter1, result->quarter3, result->min, result->pairs, result->rejected);
    if (limit > 0)
        printf(",\"pass_at\":%g,\"pass\":%s", limit,
               block_passes(result, limit) ? "true" : "false");
    else
        printf(",\"pass_at\":null,\"pass\":null");
    printf(",\"stretch_at\":null,\"stretch\":null}\n");
}

int main(int argc, char **argv)
{
    static block_pair pairs[BLOCKS_MAX];
    if (argc != 6) {
        fprintf(stderr, "usage: start RANKS PAIRS PENSTOCK|self NOTHING EMPTY\n");
        return 2;
    }
    const unsigned ranks = (unsigned)strtoul(argv[1], NULL, 10);
    const unsigned count = (unsigned)strtoul(argv[2], NULL, 10);
    const bool self = strcmp(argv[3], "self") == 0;
    if (ranks < 1 || ranks > RANKS_MAX || count < 1 || count > BLOCKS_MAX) {
        fprintf(stderr, "start: ranks from 1 to %d, pairs from 1 to %d\n", RANKS_MAX, BLOCKS_MAX);
        return 2;
    }
    char *job[] = { argv[3], "run", "-n", argv[1], argv[4], NULL };
    char *alone[] = { argv[4], NULL };
    if (self)
        setenv("GASNET_PSHM_NODES", argv[1], 1);
    for (unsigned i = 0; i < count; i++) {
        const uint64_t stolen = block_stolen_ticks();
        const double raw_ns = empty_ns(ranks, argv[5]);
        pairs[i].raw_ns = self ? SELF_LIMIT_NS : RUN_FACTOR * raw_ns + RUN_EXTRA_NS;
        pairs[i].ours_ns = job_ns(self ? alone : job);
        pairs[i].stolen = block_stolen_ticks() != stolen;
    }
    const block_result result = block_judge(pairs, count, count / 3);
    print_row(self, ranks, &result, self && ranks != SELF_RANKS ? 0 : 1);
    return 0;
}
