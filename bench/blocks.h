/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.h: how bench.c turns time into a ratio. A measurement and its yardstick run in turn, in
 * blocks of a few ten milliseconds and in random order; every pair of blocks gives a ratio, and the
 * median of the ratios is the result. Pairs in which the machine did something else are put aside
 * and counted: numbers of different moments cannot be compared on a shared machine. */
#ifndef BENCH_BLOCKS_H
#define BENCH_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { BLOCKS_MAX = 200 };

typedef struct block_pair {
    double ours_ns, raw_ns; /* of one operation */
    bool disturbed;         /* by a switch, or by the hypervisor */
} block_pair;

typedef struct block_result {
    double ours_ns, raw_ns;                /* medians */
    double ratio, quarter1, quarter3, min; /* of the ratios; ratio 0: nothing was left */
    unsigned pairs, rejected;
} block_result;

static inline double block_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline uint64_t block_switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_nivcsw;
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

/* Puts aside what was disturbed or slow for the machine's own reasons, and judges the rest. */
static inline block_result block_judge(const block_pair *pairs, unsigned count)
{
    static double ratios[BLOCKS_MAX], ours[BLOCKS_MAX], raw[BLOCKS_MAX];
    block_result result = { .pairs = count };
    double raw_best = 0;
    unsigned kept = 0;

    for (unsigned i = 0; i < count; i++)
        if (raw_best == 0 || pairs[i].raw_ns < raw_best)
            raw_best = pairs[i].raw_ns;
    for (unsigned i = 0; i < count; i++) {
        if (pairs[i].disturbed || pairs[i].raw_ns > 1.1 * raw_best)
            continue;
        ratios[kept] = pairs[i].ours_ns / pairs[i].raw_ns;
        ours[kept] = pairs[i].ours_ns;
        raw[kept++] = pairs[i].raw_ns;
    }
    result.rejected = count - kept;
    if (kept == 0)
        return result;
    result.ratio = block_median(ratios, kept);
    result.quarter1 = block_quantile(ratios, kept, 0.25);
    result.quarter3 = block_quantile(ratios, kept, 0.75);
    result.min = ratios[0];
    result.ours_ns = block_median(ours, kept);
    result.raw_ns = block_median(raw, kept);
    return result;
}

#endif
