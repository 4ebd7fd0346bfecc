/* SPDX-License-Identifier: BSD-3-Clause */
/* futex.c: sleeping on a word of memory that several processes share. */
#include "os/os.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void pen_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / 1000000000u),
                                .tv_nsec = (long)(timeout_ns % 1000000000u) };
    /* The result is not used: woken, timed out, interrupted or value different, the caller looks
     * again. */
    (void)syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, NULL, 0);
}

void pen_futex_wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

void pen_futex_rouse(_Atomic uint32_t *asked, _Atomic uint32_t *word)
{
    /* acq_rel: one of several senders takes the request; the sleeper's word was loaded before it */
    if (atomic_exchange_explicit(asked, 0, memory_order_acq_rel) == 0)
        return;
    /* release: a sleeper that sees the new value sees the data stored before */
    atomic_fetch_add_explicit(word, 1, memory_order_release);
    pen_futex_wake(word, INT_MAX); /* all sleeping threads of that rank */
}
