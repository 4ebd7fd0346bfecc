/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl.c: handler-safe locks: waiting for a lock that is held, and all calls with checks. A waiter
 * never polls. After a while it sleeps, so that the holder and threads that poll get the processor.
 */
#include "api/api.h"

#include "base/compiler.h"
#include "boot/wait_state.h"
#include "job/job.h"
#include "os/os.h"
#include "progress/progress.h"

#include <gasnetex.h>

enum { SPINS_MAX = 200 };
#define SLEEP_NS_MAX UINT64_C(100000000)

static _Atomic uint32_t *word_of(pen_hsl *lock) { return (_Atomic uint32_t *)&lock->word; }

static bool take(pen_hsl *lock)
{
    uint32_t free_word = 0;
    /* acquire: pairs with the release of the thread that dropped the lock */
    return atomic_compare_exchange_strong_explicit(word_of(lock), &free_word, 1,
                                                   memory_order_acquire, memory_order_relaxed);
}

void pen_api_hsl_wait(pen_hsl *lock)
{
    for (unsigned i = 0; i < SPINS_MAX; i++) {
        pen_cpu_relax();
        /* relaxed: a hint that taking the lock may succeed now */
        if (atomic_load_explicit(word_of(lock), memory_order_relaxed) == 0 && take(lock))
            return;
    }
    pen_job *job = pen_api_root.job;
    pen_wait what = pen_wait_for(PEN_CALL_LOCK, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, NULL);
    /* acquire as in take; 2 makes the holder wake a sleeper */
    while (atomic_exchange_explicit(word_of(lock), 2, memory_order_acquire) != 0) {
        if (job != NULL)
            pen_wait_show(&job->progress, &what, pen_now_ns());
        pen_futex_wait(word_of(lock), 2, SLEEP_NS_MAX);
    }
    if (what.shown)
        job->progress.on_wait(job, &what, pen_now_ns(), true);
}

void pen_api_hsl_wake(pen_hsl *lock) { pen_futex_wake(word_of(lock), 1); }

/* ---- with checks ---------------------------------------------------------------------------- */

static bool in_handler(void)
{
    pen_job *job = pen_api_root.job;
    return job != NULL && pen_api_thread(job)->handler_depth != 0;
}

static void taken(pen_hsl *lock)
{
    __atomic_store_n(&lock->owner, pen_api_me(),
                     __ATOMIC_RELAXED); /* other threads only compare it */
    lock->below = pen_api_locks;
    pen_api_locks = lock;
}

/* The word of a lock after gex_HSL_Destroy. */
enum { HSL_DESTROYED = 0xdead };

static void refuse_no_lock(const char *call, const pen_hsl *lock)
{
    if (lock == NULL)
        pen_api_misuse(call, "the lock is NULL");
    /* relaxed: a value that no lock has does not change */
    uint32_t word = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);
    if (word == HSL_DESTROYED)
        pen_api_misuse(call, "the lock at %p was destroyed; initialise it again by gex_HSL_Init",
                       (const void *)lock);
    if (word > 2 || lock->reserved != 0)
        pen_api_misuse(call, "there is no lock at %p; initialise it by gex_HSL_Init",
                       (const void *)lock);
}

static void refuse_recursion(const char *call, const pen_hsl *lock)
{
    if (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) ==
        pen_api_me()) /* relaxed: only this thread writes its own name */
        pen_api_misuse(call, "this thread holds the lock at %p already", (const void *)lock);
}

void pen_api_hsl_lock(pen_hsl *lock)
{
    refuse_no_lock("gex_HSL_Lock", lock);
    refuse_recursion("gex_HSL_Lock", lock);
    if (!take(lock))
        pen_api_hsl_wait(lock);
    taken(lock);
}

int pen_api_hsl_trylock(pen_hsl *lock)
{
    refuse_no_lock("gex_HSL_Trylock", lock);
    refuse_recursion("gex_HSL_Trylock", lock);
    if (!take(lock))
        return GASNET_ERR_NOT_READY;
    taken(lock);
    return GASNET_OK;
}

void pen_api_hsl_unlock(pen_hsl *lock)
{
    static const char call[] = "gex_HSL_Unlock";
    refuse_no_lock(call, lock);
    if (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) != pen_api_me())
        pen_api_misuse(call, "this thread does not hold the lock at %p", (void *)lock);
    if (pen_api_locks != lock && in_handler())
        pen_api_misuse(call, "a handler drops its locks in the reverse order of taking them");
    pen_hsl **link = &pen_api_locks;
    while (*link != lock)
        link = &(*link)->below;
    *link = lock->below;
    lock->below = NULL;
    __atomic_store_n(&lock->owner, NULL, __ATOMIC_RELAXED); /* ordered by the release below */
    /* release: what was written under the lock is visible to the next holder */
    if (atomic_exchange_explicit(word_of(lock), 0, memory_order_release) == 2)
        pen_api_hsl_wake(lock);
}

void pen_api_hsl_destroy(pen_hsl *lock)
{
    static const char call[] = "gex_HSL_Destroy";
    refuse_no_lock(call, lock);
    /* relaxed: a client that destroys a lock has seen its last use */
    if (atomic_load_explicit(word_of(lock), memory_order_relaxed) != 0)
        pen_api_misuse(call, "the lock at %p is held; drop it first", (void *)lock);
    atomic_store_explicit(word_of(lock), HSL_DESTROYED, memory_order_relaxed);
}
