/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.h: a lock and a counter that know whether they are needed. Callers write the same
 * code in every thread mode; alone, a lock costs one predictable branch, shared and free, one
 * locked instruction, or none while the process has no second thread. */
#ifndef PEN_OS_LOCK_H
#define PEN_OS_LOCK_H

#include "base/compiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#if PEN_HAVE_SINGLE_THREADED
#    include <sys/single_threaded.h>
#endif

/* Fixed before the first link is opened; may be raised once, before a second thread enters. */
typedef enum pen_concurrency {
    PEN_ALONE,      /* SEQ, PARSYNC: no two threads inside the library at once   */
    PEN_HELPED,     /* as above, but a progress thread of ours runs as well      */
    PEN_CONCURRENT, /* PAR                                                       */
} pen_concurrency;

typedef struct pen_lock {
    _Atomic uint32_t word;     /* 0 free, 1 held (futex, process-private) */
    _Atomic uint32_t sleepers; /* threads that sleep for it or are about to */
    uint16_t spins;            /* how often a taker looks before it yields; 0 on one core */
    bool shared;               /* copied from the job at creation */
} pen_lock;

PEN_COLD void pen_lock_take_slow(pen_lock *lock); /* bounded spin, then yields, then sleeps */
PEN_COLD void pen_lock_wake(pen_lock *lock);
uint16_t pen_lock_spins(void); /* of a lock made now */

static inline void pen_lock_init(pen_lock *lock, pen_concurrency concurrency)
{
    atomic_init(&lock->word, 0);
    atomic_init(&lock->sleepers, 0);
    lock->shared = concurrency != PEN_ALONE;
    lock->spins = lock->shared ? pen_lock_spins() : 0;
}

/* Whether the C library knows of no thread but this one. It ceases to before another one begins,
 * which then sees all that this one has done. */
static inline bool pen_is_only_thread(void)
{
#if PEN_HAVE_SINGLE_THREADED
    return __libc_single_threaded != 0;
#else
    return false;
#endif
}

/* A locked instruction waits for the stores before it, which may be on their way to another core's
 * cache: nobody is there to whom it would matter. What was taken so is held as any lock is, should
 * there be a second thread before it is dropped. */
static inline bool pen_lock_try_only(pen_lock *lock)
{
    /* relaxed, both: one thread reads and writes */
    if (atomic_load_explicit(&lock->word, memory_order_relaxed) != 0)
        return false;
    atomic_store_explicit(&lock->word, 1, memory_order_relaxed);
    return true;
}

/* ..._shared: where the lock is known to be. */
static inline bool pen_lock_try_shared(pen_lock *lock)
{
    if (pen_likely(pen_is_only_thread()))
        return pen_lock_try_only(lock);
    uint32_t free = 0;
    /* acquire: pairs with the release in pen_lock_drop_shared */
    return atomic_compare_exchange_strong_explicit(&lock->word, &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline bool pen_lock_try(pen_lock *lock)
{
    return pen_likely(!lock->shared) || pen_lock_try_shared(lock);
}

static inline void pen_lock_take_shared(pen_lock *lock)
{
    if (pen_unlikely(!pen_lock_try_shared(lock)))
        pen_lock_take_slow(lock);
}

static inline void pen_lock_take(pen_lock *lock)
{
    if (pen_unlikely(lock->shared))
        pen_lock_take_shared(lock);
}

/* For who goes on to take it again, and wakes a sleeper then. */
static inline void pen_lock_drop_for_now(pen_lock *lock)
{
    atomic_store_explicit(&lock->word, 0, memory_order_release); /* as below */
}

/* Not an exchange, which would cost as much as taking the lock: a sleeper that comes between the
 * load and the store is overlooked, and sleeps one bounded nap too long. The load comes first
 * because after the store the lock's owner may be gone. */
static inline void pen_lock_drop_shared(pen_lock *lock)
{
    /* relaxed: a hint, see above */
    uint32_t sleepers = atomic_load_explicit(&lock->sleepers, memory_order_relaxed);
    /* release: what was written under the lock is visible to the next holder */
    atomic_store_explicit(&lock->word, 0, memory_order_release);
    if (pen_unlikely(sleepers != 0))
        pen_lock_wake(lock);
}

static inline void pen_lock_drop(pen_lock *lock)
{
    if (pen_unlikely(lock->shared))
        pen_lock_drop_shared(lock);
}

#endif
