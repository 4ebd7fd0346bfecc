/* SPDX-License-Identifier: BSD-3-Clause */
/* handover.h: pinning a rank to a core, and the price of a sched_yield that another process takes,
 * by which waiting is judged. Before <gasnet.h> or after it. */
#ifndef PEN_TESTS_CROWD_HANDOVER_H
#define PEN_TESTS_CROWD_HANDOVER_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HANDOVER_ROUNDS = 1000, HANDOVER_BATCHES = 9 };

static double handover_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void handover_pause_ms(long ms)
{
    const struct timespec pause = { .tv_nsec = ms * 1000000 };
    nanosleep(&pause, NULL);
}

/* Binds this process to one of the first `cores` cores that it may use, by its rank. 0, or -1 if
 * there are fewer cores or this process is no rank. */
static int handover_pin(unsigned cores)
{
    const char *rank = getenv("PENSTOCK_RANK"); /* the only word on it before the job is joined */
    cpu_set_t allowed, mine;
    if (rank == NULL || sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
        (unsigned)CPU_COUNT(&allowed) < cores)
        return -1;
    unsigned skip = (unsigned)strtoul(rank, NULL, 10) % cores;
    CPU_ZERO(&mine);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && skip-- == 0) {
            CPU_SET(cpu, &mine);
            break;
        }
    return sched_setaffinity(0, sizeof mine, &mine);
}

/* Whether others want this machine's cores: to be asked while all ranks but this one sleep, whose
 * naps are short. Samples the number of tasks that run or want to. */
static bool handover_is_disturbed(void)
{
    enum { SAMPLES = 15 };
    unsigned busy = 0;
    for (unsigned i = 0; i < SAMPLES; i++) {
        unsigned running = 0;
        handover_pause_ms(1);
        FILE *in = fopen("/proc/loadavg", "re");
        busy += in != NULL && fscanf(in, "%*f %*f %*f %u/", &running) == 1 && running > 1;
        if (in != NULL)
            fclose(in);
    }
    return busy > SAMPLES / 2;
}

static void handover_play(atomic_uint *turn, unsigned me)
{
    for (unsigned i = 0; i < HANDOVER_ROUNDS; i++) {
        while (atomic_load_explicit(turn, memory_order_acquire) % 2 != me)
            sched_yield();
        atomic_fetch_add_explicit(turn, 1, memory_order_release);
    }
}

/* Two processes on this core take turns; the time of one turn, the median of several series. */
static double handover_measure_ns(void)
{
    double took_ns[HANDOVER_BATCHES];
    void *shared =
        mmap(NULL, sizeof(atomic_uint), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
    atomic_uint *turn = (atomic_uint *)shared;
    pid_t child = fork();
    if (child == 0) {
        for (unsigned batch = 0; batch < HANDOVER_BATCHES; batch++)
            handover_play(turn, 1);
        _exit(0);
    }
    for (unsigned batch = 0; batch < HANDOVER_BATCHES; batch++) {
        double begin_ns = handover_now_ns();
        handover_play(turn, 0);
        double one_ns = (handover_now_ns() - begin_ns) / (2.0 * HANDOVER_ROUNDS);
        unsigned i = batch;
        for (; i > 0 && took_ns[i - 1] > one_ns; i--)
            took_ns[i] = took_ns[i - 1];
        took_ns[i] = one_ns;
    }
    while (waitpid(child, NULL, 0) < 0) {
    }
    munmap(shared, sizeof(atomic_uint));
    return took_ns[HANDOVER_BATCHES / 2];
}

#endif
