/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.h: a lock and a counter that know whether they are needed. Callers write the same
 * code in every thread mode; alone, a lock costs one predictable branch. */
#ifndef PEN_OS_LOCK_H
#define PEN_OS_LOCK_H

#include "base/compiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Fixed before the first link is opened; may be raised once, before a second thread enters. */
typedef enum pen_concurrency {
    PEN_ALONE,      /* SEQ, PARSYNC: no two threads inside the library at once   */
    PEN_HELPED,     /* as above, but a progress thread of ours runs as well      */
    PEN_CONCURRENT, /* PAR                                                       */
} pen_concurrency;

typedef struct pen_lock {
    _Atomic uint32_t word; /* 0 free, 1 held, 2 held and somebody sleeps (futex, process-private) */
    bool shared;           /* copied from the job at creation */
} pen_lock;

void pen_lock_take_slow(pen_lock *lock); /* bounded spin, then yields, then sleeps */
void pen_lock_wake(pen_lock *lock);

static inline void pen_lock_init(pen_lock *lock, pen_concurrency concurrency)
{
    atomic_init(&lock->word, 0);
    lock->shared = concurrency != PEN_ALONE;
}

static inline bool pen_lock_try(pen_lock *lock)
{
    if (pen_likely(!lock->shared))
        return true;
    uint32_t free = 0;
    /* acquire: pairs with the release in pen_lock_drop */
    return atomic_compare_exchange_strong_explicit(&lock->word, &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void pen_lock_take(pen_lock *lock)
{
    if (pen_unlikely(lock->shared) && !pen_lock_try(lock))
        pen_lock_take_slow(lock);
}

static inline void pen_lock_drop(pen_lock *lock)
{
    if (pen_likely(!lock->shared))
        return;
    /* release: what was written under the lock is visible to the next holder */
    if (pen_unlikely(atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2))
        pen_lock_wake(lock);
}

#endif
