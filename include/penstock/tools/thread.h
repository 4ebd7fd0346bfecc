/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h: locks, condition variables, a barrier of threads, and variables of which each thread
 * has its own copy. Types have the same size in all modes. In modes with one thread and without
 * GASNETT_USE_TRUE_MUTEXES, locks and conditions do nothing. GASNet tools, chapter "Threads".
 *
 * Calls of this chapter that wait do not poll. Do not hold a lock during a call that may run
 * handlers which need the lock. */
#ifndef PENSTOCK_TOOLS_THREAD_H
#define PENSTOCK_TOOLS_THREAD_H

#include <penstock/tools/mode.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The system's objects, whose static initialisers are all zeros, and the thread that holds them. */
typedef struct pen_mutex {
    uint64_t object[7];
    uint64_t owner; /* identifies a live thread; 0: free */
} gasnett_mutex_t;
typedef struct pen_cond {
    uint64_t object[8];
} gasnett_cond_t;
typedef struct pen_rwlock {
    uint64_t object[8];
    uint64_t owner;   /* the writer; 0: no writer */
    uint64_t readers; /* threads that hold it for reading */
} gasnett_rwlock_t;

#define GASNETT_MUTEX_INITIALIZER { { 0, 0, 0, 0, 0, 0, 0 }, 0 }
#define GASNETT_COND_INITIALIZER   \
    {                              \
        {                          \
            0, 0, 0, 0, 0, 0, 0, 0 \
        }                          \
    }
#define GASNETT_RWLOCK_INITIALIZER { { 0, 0, 0, 0, 0, 0, 0, 0 }, 0, 0 }

PEN_API void pen_api_mutex_init(gasnett_mutex_t *mutex);
PEN_API int pen_api_mutex_destroy(gasnett_mutex_t *mutex);
PEN_API void pen_api_mutex_lock(gasnett_mutex_t *mutex);
PEN_API int pen_api_mutex_trylock(gasnett_mutex_t *mutex);
PEN_API void pen_api_mutex_unlock(gasnett_mutex_t *mutex);
PEN_API void pen_api_mutex_assert(const gasnett_mutex_t *mutex, int held);
PEN_API void pen_api_cond_init(gasnett_cond_t *cond);
PEN_API void pen_api_cond_destroy(gasnett_cond_t *cond);
PEN_API void pen_api_cond_signal(gasnett_cond_t *cond);
PEN_API void pen_api_cond_broadcast(gasnett_cond_t *cond);
PEN_API void pen_api_cond_wait(gasnett_cond_t *cond, gasnett_mutex_t *mutex);
PEN_API void pen_api_rwlock_init(gasnett_rwlock_t *lock);
PEN_API void pen_api_rwlock_destroy(gasnett_rwlock_t *lock);
PEN_API void pen_api_rwlock_rdlock(gasnett_rwlock_t *lock);
PEN_API void pen_api_rwlock_wrlock(gasnett_rwlock_t *lock);
PEN_API int pen_api_rwlock_tryrdlock(gasnett_rwlock_t *lock);
PEN_API int pen_api_rwlock_trywrlock(gasnett_rwlock_t *lock);
PEN_API void pen_api_rwlock_unlock(gasnett_rwlock_t *lock);
PEN_API void pen_api_rwlock_assert(const gasnett_rwlock_t *lock, int readers, int writer);

#if !PEN_TOOLS_LITE

/* ---- mutex ---------------------------------------------------------------------------------- */

/* Initialise a mutex that GASNETT_MUTEX_INITIALIZER did not initialise, and end its use. The first
 * call to end it needs a free mutex; the second accepts one that is held. Context: any. */
GEX_INLINE void gasnett_mutex_init(gasnett_mutex_t *mutex) { pen_api_mutex_init(mutex); }
GEX_INLINE void gasnett_mutex_destroy(gasnett_mutex_t *mutex)
{
    (void)pen_api_mutex_destroy(mutex);
}
GEX_INLINE int gasnett_mutex_destroy_ignoreerr(gasnett_mutex_t *mutex)
{
    return pen_api_mutex_destroy(mutex);
}

/* Take a mutex, waiting for it; take it if it is free (trylock returns 0 on success, else EBUSY);
 * release it. If the thread already holds the mutex that it takes, or does not hold the mutex that
 * it releases, the process ends with a message. Context: any; lock blocks. */
GEX_INLINE void gasnett_mutex_lock(gasnett_mutex_t *mutex)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_mutex_lock(mutex);
}
GEX_INLINE int gasnett_mutex_trylock(gasnett_mutex_t *mutex)
{
    return PEN_TOOLS_LOCKS ? pen_api_mutex_trylock(mutex) : 0;
}
GEX_INLINE void gasnett_mutex_unlock(gasnett_mutex_t *mutex)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_mutex_unlock(mutex);
}

/* End the process with a message unless the calling thread holds the mutex or, in the second call,
 * if it does. Context: any. */
GEX_INLINE void gasnett_mutex_assertlocked(const gasnett_mutex_t *mutex)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_mutex_assert(mutex, 1);
}
GEX_INLINE void gasnett_mutex_assertunlocked(const gasnett_mutex_t *mutex)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_mutex_assert(mutex, 0);
}

/* ---- condition variable --------------------------------------------------------------------- */

/* Initialise a condition, and end its use. Context: any. */
GEX_INLINE void gasnett_cond_init(gasnett_cond_t *cond) { pen_api_cond_init(cond); }
GEX_INLINE void gasnett_cond_destroy(gasnett_cond_t *cond) { pen_api_cond_destroy(cond); }

/* Wake one waiting thread, or all waiting threads. The caller holds the mutex. Context: any. */
GEX_INLINE void gasnett_cond_signal(gasnett_cond_t *cond)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_cond_signal(cond);
}
GEX_INLINE void gasnett_cond_broadcast(gasnett_cond_t *cond)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_cond_broadcast(cond);
}

/* Releases the mutex, waits for a signal, takes the mutex again. May return without a signal.
 * Context: no handler. Blocks. */
GEX_INLINE void gasnett_cond_wait(gasnett_cond_t *cond, gasnett_mutex_t *mutex)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_cond_wait(cond, mutex);
}

/* ---- lock for many readers or one writer ----------------------------------------------------- */

/* Initialise a reader-writer lock, and end its use. Context: any. */
GEX_INLINE void gasnett_rwlock_init(gasnett_rwlock_t *lock) { pen_api_rwlock_init(lock); }
GEX_INLINE void gasnett_rwlock_destroy(gasnett_rwlock_t *lock) { pen_api_rwlock_destroy(lock); }

/* Take the lock for reading or for writing, with or without waiting (try... return 0 on success,
 * else EBUSY); release it. A thread may hold the lock only once. Context: any; rdlock and wrlock
 * block. */
GEX_INLINE void gasnett_rwlock_rdlock(gasnett_rwlock_t *lock)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_rwlock_rdlock(lock);
}
GEX_INLINE void gasnett_rwlock_wrlock(gasnett_rwlock_t *lock)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_rwlock_wrlock(lock);
}
GEX_INLINE int gasnett_rwlock_tryrdlock(gasnett_rwlock_t *lock)
{
    return PEN_TOOLS_LOCKS ? pen_api_rwlock_tryrdlock(lock) : 0;
}
GEX_INLINE int gasnett_rwlock_trywrlock(gasnett_rwlock_t *lock)
{
    return PEN_TOOLS_LOCKS ? pen_api_rwlock_trywrlock(lock) : 0;
}
GEX_INLINE void gasnett_rwlock_unlock(gasnett_rwlock_t *lock)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_rwlock_unlock(lock);
}

/* End the process with a message unless the lock is held; is held for reading; is held for writing
 * by the calling thread; is not held for writing by the calling thread. Context: any. */
GEX_INLINE void gasnett_rwlock_assertlocked(const gasnett_rwlock_t *lock)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_rwlock_assert(lock, 1, 1);
}
GEX_INLINE void gasnett_rwlock_assertrdlocked(const gasnett_rwlock_t *lock)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_rwlock_assert(lock, 1, 0);
}
GEX_INLINE void gasnett_rwlock_assertwrlocked(const gasnett_rwlock_t *lock)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_rwlock_assert(lock, 0, 1);
}
GEX_INLINE void gasnett_rwlock_assertunlocked(const gasnett_rwlock_t *lock)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_rwlock_assert(lock, 0, 0);
}

/* ---- barrier of threads: an addition of this implementation ---------------------------------- */

/* A point where `count` threads of this process meet repeatedly. Works in every mode. */
typedef struct pen_thread_barrier {
    gasnett_mutex_t mutex;
    gasnett_cond_t cond;
    uint64_t count, arrived, round;
} pen_thread_barrier;

#    define PEN_THREAD_BARRIER_INITIALIZER(count) \
        { GASNETT_MUTEX_INITIALIZER, GASNETT_COND_INITIALIZER, (count), 0, 0 }

/* Waits until `count` threads have arrived. Afterwards each thread sees all that the threads wrote
 * before the barrier. Returns non-zero in exactly one thread. Context: no handler. Blocks; does not
 * poll. */
PEN_API int pen_thread_barrier_wait(pen_thread_barrier *barrier);

#endif

/* ---- variables of a thread ------------------------------------------------------------------- */

/* At file scope: defines a pointer of which each thread has its own copy, NULL at first, or
 * declares one that another file defines. The calls below take its name. Available in every mode.
 */
#define GASNETT_THREADKEY_DEFINE(key)  __thread void *pen_threadkey_##key = 0
#define GASNETT_THREADKEY_DECLARE(key) extern __thread void *pen_threadkey_##key

/* Initialise a key, which is not required; read and write the calling thread's value. The noinit
 * forms are for keys that are initialised already. Context: any. */
#define gasnett_threadkey_init(key)              _gasneti_threadkey_init(&pen_threadkey_##key)
#define gasnett_threadkey_get(key)               (pen_threadkey_##key)
#define gasnett_threadkey_set(key, value)        ((void)(pen_threadkey_##key = (value)))
#define gasnett_threadkey_get_noinit(key)        gasnett_threadkey_get(key)
#define gasnett_threadkey_set_noinit(key, value) gasnett_threadkey_set(key, value)

/* A name of the reference implementation whose address clients take. */
/* NOLINTNEXTLINE(readability-identifier-naming) */
static __inline__ void _gasneti_threadkey_init(void **value) { (void)value; }

#ifdef __cplusplus
}
#endif
#endif
