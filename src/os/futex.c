/* SPDX-License-Identifier: BSD-3-Clause */
/* futex.c: sleeping on a word of memory that several processes share. */
#include "os/os.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void pen_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / 1000000000u),
                                .tv_nsec = (long)(timeout_ns % 1000000000u) };
    /* Woken, timed out, interrupted, value already different: the caller looks again in any case.
     */
    (void)syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, NULL, 0);
}

void pen_futex_wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}
