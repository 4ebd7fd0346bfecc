/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu.c: how many cores this process may use, on which one a thread runs, and whether other threads
 * want it. */
#include "os/cgroup.h"
#include "os/os.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CPUS_MAX = 1 << 16 }; /* limit of the search for a large enough mask */

/* Counts the cores in the affinity mask. The kernel wants room for all its cores, and their
 * number is not known. */
static unsigned cores_in_mask(void)
{
    for (int cpus = CPU_SETSIZE; cpus <= CPUS_MAX; cpus *= 4) {
        cpu_set_t *mask = CPU_ALLOC(cpus);
        if (mask == NULL)
            break;
        size_t len = CPU_ALLOC_SIZE(cpus);
        int answer = sched_getaffinity(0, len, mask);
        int error = errno;
        int count = answer == 0 ? CPU_COUNT_S(len, mask) : 0;
        CPU_FREE(mask);
        if (count > 0)
            return (unsigned)count;
        if (error != EINVAL)
            break;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

unsigned pen_cores_allowed(const char *cgroup_root)
{
    unsigned cores = cores_in_mask();
    double quota = pen_cgroup_cores(cgroup_root);
    if (quota > 0 && quota < (double)cores) {
        unsigned whole = (unsigned)quota;
        cores = whole + ((double)whole < quota ? 1 : 0);
    }
    return cores > 0 ? cores : 1;
}

int pen_cpu_here(void) { return sched_getcpu(); }

int pen_cpu_move_apart(const int *taken, unsigned taken_count, unsigned choice)
{
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0)
        return -1;
    cpu_set_t left = mask;
    for (unsigned i = 0; i < taken_count; i++)
        if (taken[i] >= 0 && taken[i] < CPU_SETSIZE)
            CPU_CLR((unsigned)taken[i], &left);
    const unsigned count = (unsigned)CPU_COUNT(&left);
    if (count == 0)
        return -1;
    unsigned cpu = 0;
    for (unsigned skip = choice % count; skip > 0 || !CPU_ISSET(cpu, &left); cpu++)
        skip -= CPU_ISSET(cpu, &left) ? 1 : 0;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    int moved = sched_setaffinity(0, sizeof(one), &one) == 0 ? sched_getcpu() : -1;
    (void)sched_setaffinity(0, sizeof(mask), &mask);
    return moved;
}

uint64_t pen_switches_forced(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_nivcsw;
}
