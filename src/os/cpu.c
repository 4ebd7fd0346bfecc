/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu.c: how many cores this process may use, and whether other threads want them. */
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

uint64_t pen_switches_forced(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_nivcsw;
}
