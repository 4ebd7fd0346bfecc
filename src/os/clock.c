/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.c: monotonic time. */
#include "os/os.h"

#include <time.h>

uint64_t pen_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t machine_now_ns(void *ctx)
{
    (void)ctx;
    return pen_now_ns();
}

const pen_clock pen_machine_clock = { machine_now_ns, NULL };
