/* SPDX-License-Identifier: BSD-3-Clause */
/* process.c: the limits of this process, the cores of its threads, and the path of its program. */
#include "tools/tools.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

bool pen_tools_maximize_limit(int limit)
{
    struct rlimit now;
    if (getrlimit(limit, &now) != 0)
        return false;
    now.rlim_cur = now.rlim_max;
    return setrlimit(limit, &now) == 0;
}

bool pen_tools_bind(unsigned i)
{
    cpu_set_t may, one;
    if (sched_getaffinity(0, sizeof may, &may) != 0 || CPU_COUNT(&may) == 0)
        return false;
    unsigned left = i % (unsigned)CPU_COUNT(&may);
    unsigned cpu = 0;
    while (!CPU_ISSET(cpu, &may) || left-- != 0)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

bool pen_tools_program(char *out, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", out, size - 1);
    if (len <= 0)
        return false;
    out[len] = '\0';
    return true;
}
