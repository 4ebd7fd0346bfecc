/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.c: monotonic time, and time on a core. */
#include "os/os.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now); /* cannot fail with these clocks */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t pen_now_ns(void) { return read_ns(CLOCK_MONOTONIC); }

uint64_t pen_cpu_ns(void) { return read_ns(CLOCK_THREAD_CPUTIME_ID); }

static uint64_t machine_now_ns(void *ctx)
{
    (void)ctx;
    return pen_now_ns();
}

const pen_clock pen_machine_clock = { machine_now_ns, NULL };
