/* SPDX-License-Identifier: BSD-3-Clause */
/* place.h: chooses the core of a rank, or of a thread that stands for a rank. The choice does not
 * depend on the launcher, since programs that are compared must run in the same place. */
#ifndef BENCH_PLACE_H
#define BENCH_PLACE_H

#include <sched.h>

/* Binds the calling thread to the rank-th of the cores that it may use, beginning again where there
 * are too few. Where the kernel refuses, it stays where it is. */
static inline void place_rank(unsigned rank)
{
    cpu_set_t all, mine;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    int wanted = (int)(rank % (unsigned)CPU_COUNT(&all));
    CPU_ZERO(&mine);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && wanted-- == 0)
            CPU_SET(cpu, &mine);
    (void)sched_setaffinity(0, sizeof mine, &mine);
}

#endif
