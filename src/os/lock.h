/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.h: a lock that costs little if there is no second thread. Callers write the same code in
 * every thread mode. With PEN_ALONE a lock costs one predictable branch. A shared, free lock
 * costs one locked instruction, or less while the process has only one thread. */
#ifndef PEN_OS_LOCK_H
#define PEN_OS_LOCK_H

#include "base/compiler.h"
#include "pen_config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#if PEN_HAVE_SINGLE_THREADED
#    include <sys/single_threaded.h>
#endif

/* Fixed before the first link is opened; may be raised once, before a second thread enters. */
typedef enum pen_concurrency {
    PEN_ALONE,      /* SEQ, PARSYNC: no two threads inside the library at once   */
    PEN_HELPED,     /* as PEN_ALONE, but a progress thread of the library runs as well */
    PEN_CONCURRENT, /* PAR                                                       */
} pen_concurrency;

typedef struct pen_lock {
    _Atomic uint32_t word;     /* 0 free, 1 held (futex, process-private) */
    _Atomic uint32_t sleepers; /* threads that sleep on it or are about to */
    uint16_t spins;            /* attempts before a taker yields; 0 on one core */
    bool shared;               /* copied from the job at creation */
} pen_lock;

PEN_COLD void pen_lock_take_slow(pen_lock *lock); /* bounded spin, then yields, then sleeps */
PEN_COLD void pen_lock_wake(pen_lock *lock);
uint16_t pen_lock_spins(void); /* for a new lock */

static inline void pen_lock_init(pen_lock *lock, pen_concurrency concurrency)
{
    atomic_init(&lock->word, 0);
    atomic_init(&lock->sleepers, 0);
    lock->shared = concurrency != PEN_ALONE;
    lock->spins = lock->shared ? pen_lock_spins() : 0;
}

/* Does the C library know of no thread but this one? The answer becomes false before a second
 * thread begins, which then sees all earlier stores of this one. */
static inline bool pen_is_only_thread(void)
{
#if PEN_HAVE_SINGLE_THREADED
    return __libc_single_threaded != 0;
#else
    return false;
#endif
}

/* Takes the lock without a locked instruction, which would wait for earlier stores on their way
 * to a different core's cache. This is valid because no other thread exists. If a second thread
 * begins before the drop, the lock is held as usual. */
static inline bool pen_lock_try_only(pen_lock *lock)
{
    /* relaxed, both: one thread reads and writes */
    if (atomic_load_explicit(&lock->word, memory_order_relaxed) != 0)
        return false;
    atomic_store_explicit(&lock->word, 1, memory_order_relaxed);
    return true;
}

/* The ..._shared functions are for locks that are known to be shared. */
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

/* Drops the lock without waking sleepers. For a thread that will take it again, and wakes
 * sleepers then. */
static inline void pen_lock_drop_for_now(pen_lock *lock)
{
    atomic_store_explicit(&lock->word, 0,
                          memory_order_release); /* release: as in pen_lock_drop_shared */
}

/* Uses no exchange, which would cost as much as taking the lock. A sleeper that comes between
 * the load and the store is missed, and sleeps one bounded nap too long. The load comes first,
 * because after the store the lock may be freed. */
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
