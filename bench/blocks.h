/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.h: how a benchmark turns time into a ratio. A measurement and its yardstick run in turn,
 * in blocks of a few milliseconds and in random order; every pair of blocks gives a ratio, and the
 * median of the ratios is the result. Numbers of different moments cannot be compared on a shared
 * machine, so pairs in which the machine did something else are discarded and counted.
 *
 * What counts as something else is time, not events. A kernel thread that takes the core for some
 * microseconds shows as an involuntary switch, and there are tens of them a second on an idle
 * machine: a rule that rejects blocks with a switch in them rejects nearly all. So a pair is
 * discarded when a rank that should have computed all the while (wall time) had less of its core
 * (CPU time of the thread), by more than BLOCK_LOST_MAX of the block; when the hypervisor gave
 * ticks to others; when the yardstick was slow for no reason that we see (another core's cache
 * traffic, a slower clock): by more than a tenth slower than the best of the run. The best is the
 * quantile BLOCK_BEST, not the minimum: one lucky block must not condemn all others. Short blocks
 * lose little to each disturbance. When fewer than the wanted pairs are left there is no result,
 * which is a failure of the row and never a pass. */
#ifndef BENCH_BLOCKS_H
#define BENCH_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS_MAX = 600 };

#define BLOCK_LOST_MAX 0.01 /* part of a block that a rank may have been without its core */
#define BLOCK_SLOW_MAX 1.1  /* a yardstick's block over the best */
#define BLOCK_BEST     0.1  /* quantile that is called the best */

typedef struct block_pair {
    double ours_ns, raw_ns; /* time of one operation: the library's, the yardstick's */
    double cpu_ns; /* CPU time that all computing ranks need for an operation of the library */
    double lost;   /* largest part of a block that a rank was without its core */
    bool stolen;   /* the hypervisor was elsewhere */
} block_pair;

typedef struct block_result {
    double ours_ns, raw_ns; /* medians */
    double ratio, quarter1,
        quarter3;         /* median and quartiles of the ratios; 0 if too few pairs were left */
    double min, max;      /* smallest and largest ratio */
    double difference_ns; /* median of the library's time less the yardstick's */
    double cpu_ns;        /* median */
    double ours_best_ns, raw_best_ns,
        cpu_best_ns;          /* the quantile BLOCK_BEST of all, disturbed or not */
    unsigned pairs, rejected; /* rejected: the sum of the next three */
    unsigned lost, stolen, slow;
} block_result;

/* A moment of this thread: what the clock says, and how long the thread has had a core. */
typedef struct block_clock {
    double wall_ns, cpu_ns;
} block_clock;

static inline double block_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline double block_now_ns(void) { return block_clock_ns(CLOCK_MONOTONIC); }

/* The CPU time within the wall time: a switch between the two readings is not counted twice. */
static inline block_clock block_clock_start(void)
{
    block_clock start;
    start.wall_ns = block_now_ns();
    start.cpu_ns = block_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return start;
}

static inline block_clock block_clock_since(block_clock start)
{
    block_clock now;
    now.cpu_ns = block_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start.cpu_ns;
    now.wall_ns = block_now_ns() - start.wall_ns;
    return now;
}

/* The part of the time that the thread was without a core. */
static inline double block_clock_lost(block_clock took)
{
    const double lost_ns = took.wall_ns - took.cpu_ns;
    return took.wall_ns > 0 && lost_ns > 0 ? lost_ns / took.wall_ns : 0;
}

/* Ticks that the hypervisor gave to others, on all processors. */
static inline uint64_t block_stolen_ticks(void)
{
    unsigned long long stolen = 0;
    FILE *stat = fopen("/proc/stat", "re");
    if (stat == NULL)
        return 0;
    if (fscanf(stat, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &stolen) != 1)
        stolen = 0;
    fclose(stat);
    return stolen;
}

static inline int block_compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static inline double block_quantile(const double *sorted, unsigned count, double part)
{
    const double place = part * (count - 1);
    const unsigned below = (unsigned)place;
    const unsigned above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

static inline double block_median(double *values, unsigned count)
{
    qsort(values, count, sizeof(*values), block_compare);
    return block_quantile(values, count, 0.5);
}

/* The yardstick at its best, among the pairs that nothing disturbed; 0: there are none. */
static inline double block_best_raw(const block_pair *pairs, unsigned count)
{
    static double raw[BLOCKS_MAX];
    unsigned calm = 0;
    for (unsigned i = 0; i < count; i++)
        if (pairs[i].lost <= BLOCK_LOST_MAX && !pairs[i].stolen)
            raw[calm++] = pairs[i].raw_ns;
    if (calm == 0)
        return 0;
    qsort(raw, calm, sizeof(*raw), block_compare);
    return block_quantile(raw, calm, BLOCK_BEST);
}

/* Whether a pair counts; if not, says in the result why. */
static inline bool block_keep(const block_pair *pair, double best_raw_ns, block_result *result)
{
    if (pair->lost > BLOCK_LOST_MAX)
        result->lost++;
    else if (pair->stolen)
        result->stolen++;
    else if (pair->raw_ns > BLOCK_SLOW_MAX * best_raw_ns)
        result->slow++;
    else
        return true;
    result->rejected++;
    return false;
}

/* Keeps the best block, for a row that has no result. It is an indication and is never judged. */
static inline void block_note_best(const block_pair *pairs, unsigned count, block_result *result)
{
    static double ours[BLOCKS_MAX], raw[BLOCKS_MAX], cpu[BLOCKS_MAX];
    for (unsigned i = 0; i < count; i++) {
        ours[i] = pairs[i].ours_ns;
        raw[i] = pairs[i].raw_ns;
        cpu[i] = pairs[i].cpu_ns;
    }
    qsort(ours, count, sizeof(*ours), block_compare);
    qsort(cpu, count, sizeof(*cpu), block_compare);
    result->cpu_best_ns = block_quantile(cpu, count, BLOCK_BEST);
    qsort(raw, count, sizeof(*raw), block_compare);
    result->ours_best_ns = block_quantile(ours, count, BLOCK_BEST);
    result->raw_best_ns = block_quantile(raw, count, BLOCK_BEST);
}

/* Discards pairs that the machine disturbed or slowed down, and judges the rest if at least
 * `needed` pairs are left. */
static inline block_result block_judge(const block_pair *pairs, unsigned count, unsigned needed)
{
    static double ratios[BLOCKS_MAX], ours[BLOCKS_MAX], raw[BLOCKS_MAX], differences[BLOCKS_MAX];
    static double cpu[BLOCKS_MAX];
    block_result result = { .pairs = count };
    const double best_raw_ns = block_best_raw(pairs, count);
    unsigned kept = 0;

    if (count != 0)
        block_note_best(pairs, count, &result);
    for (unsigned i = 0; i < count; i++) {
        if (!block_keep(&pairs[i], best_raw_ns, &result))
            continue;
        ratios[kept] = pairs[i].ours_ns / pairs[i].raw_ns;
        cpu[kept] = pairs[i].cpu_ns;
        differences[kept] = pairs[i].ours_ns - pairs[i].raw_ns;
        ours[kept] = pairs[i].ours_ns;
        raw[kept++] = pairs[i].raw_ns;
    }
    if (kept == 0 || kept < needed)
        return result;
    result.ratio = block_median(ratios, kept);
    result.quarter1 = block_quantile(ratios, kept, 0.25);
    result.quarter3 = block_quantile(ratios, kept, 0.75);
    result.min = ratios[0];
    result.max = ratios[kept - 1];
    result.difference_ns = block_median(differences, kept);
    result.cpu_ns = block_median(cpu, kept);
    result.ours_ns = block_median(ours, kept);
    result.raw_ns = block_median(raw, kept);
    return result;
}

/* Whether a ratio is good enough. What could not be measured never is. */
static inline bool block_passes(const block_result *result, double limit)
{
    return result->ratio > 0 && result->ratio <= limit;
}

#endif
