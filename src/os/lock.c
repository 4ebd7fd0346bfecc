/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c: the slow path of a contended lock: spin a little, yield, sleep. */
#include "os/lock.h"

#include "base/compiler.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SPINS_MAX = 100, /* a few microseconds: longer than any critical section here */
    YIELDS_MAX = 16,
    NAP_NS = 1000000, /* bounds the delay if pen_lock_drop misses a sleeper */
};

uint16_t pen_lock_spins(void)
{
    cpu_set_t mask;
    /* An error means that there are more cores than bits in the mask. */
    bool alone = sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) == 1;
    return alone ? 0 : SPINS_MAX; /* on one core the holder cannot run while this thread spins */
}

static bool lock_looks_free(const pen_lock *lock)
{
    /* relaxed: pen_lock_try decides and orders */
    return atomic_load_explicit(&lock->word, memory_order_relaxed) == 0;
}

static void lock_sleep(pen_lock *lock)
{
    struct timespec nap = { .tv_nsec = NAP_NS };
    /* seq_cst: before the kernel reads the word, so that a later drop sees this sleeper */
    atomic_fetch_add_explicit(&lock->sleepers, 1, memory_order_seq_cst);
    (void)syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 1, &nap, NULL, 0);
    atomic_fetch_sub_explicit(&lock->sleepers, 1, memory_order_relaxed);
}

void pen_lock_take_slow(pen_lock *lock)
{
    for (unsigned i = 0; i < lock->spins; i++) {
        if (lock_looks_free(lock) && pen_lock_try(lock))
            return;
        pen_cpu_relax();
    }
    for (unsigned i = 0; i < YIELDS_MAX; i++) {
        if (lock_looks_free(lock) && pen_lock_try(lock))
            return;
        sched_yield();
    }
    while (!pen_lock_try(lock))
        lock_sleep(lock);
}

void pen_lock_wake(pen_lock *lock)
{
    (void)syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
