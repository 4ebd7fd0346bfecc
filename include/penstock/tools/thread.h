/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h: locks, condition variables, a barrier of threads, and variables that each thread has
 * for itself. Types have one size in all modes. In modes with one thread and without
 * GASNETT_USE_TRUE_MUTEXES, locks and conditions do nothing.
 * GASNet tools, chapter "Threads". Calls of this chapter that wait do not poll; do not hold a lock
 * in a call that may run handlers which want it. */
#ifndef PENSTOCK_TOOLS_THREAD_H
#define PENSTOCK_TOOLS_THREAD_H

#include <penstock/tools/mode.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The system's objects, whose static initialisers are all zeros, and who holds them. */
typedef struct pen_mutex {
    uint64_t object[7];
    uint64_t owner; /* differs between live threads; 0: nobody */
} gasnett_mutex_t;
typedef struct pen_cond {
    uint64_t object[8];
} gasnett_cond_t;
typedef struct pen_rwlock {
    uint64_t object[8];
    uint64_t owner;   /* the writer; 0: none */
    uint64_t readers; /* how many hold it for reading */
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

/* Readies a mutex that GASNETT_MUTEX_INITIALIZER did not, and ends its use, free or (the second)
 * held. Context: any. */
GEX_INLINE void gasnett_mutex_init(gasnett_mutex_t *mutex) { pen_api_mutex_init(mutex); }
GEX_INLINE void gasnett_mutex_destroy(gasnett_mutex_t *mutex)
{
    (void)pen_api_mutex_destroy(mutex);
}
GEX_INLINE int gasnett_mutex_destroy_ignoreerr(gasnett_mutex_t *mutex)
{
    return pen_api_mutex_destroy(mutex);
}

/* Takes a mutex, waiting for it; takes it if it is free (trylock returns 0 on success, else EBUSY);
 * gives it back. Taking a mutex that the thread holds, and giving back one it does not, ends the
 * process with a message. Context: any; lock blocks. */
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

/* Ends the process with a message unless the calling thread holds the mutex, or (the second) if it
 * does. Context: any. */
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

/* Readies, and ends the use of, a condition. Context: any. */
GEX_INLINE void gasnett_cond_init(gasnett_cond_t *cond) { pen_api_cond_init(cond); }
GEX_INLINE void gasnett_cond_destroy(gasnett_cond_t *cond) { pen_api_cond_destroy(cond); }

/* Wakes one waiting thread, or all; the caller holds the mutex. Context: any. */
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

/* Gives the mutex back, waits to be woken, takes it again; may return without a cause.
 * Context: no handler. Blocks. */
GEX_INLINE void gasnett_cond_wait(gasnett_cond_t *cond, gasnett_mutex_t *mutex)
{
    if (PEN_TOOLS_LOCKS)
        pen_api_cond_wait(cond, mutex);
}

/* ---- lock for many readers or one writer ----------------------------------------------------- */

/* Readies, and ends the use of, such a lock. Context: any. */
GEX_INLINE void gasnett_rwlock_init(gasnett_rwlock_t *lock) { pen_api_rwlock_init(lock); }
GEX_INLINE void gasnett_rwlock_destroy(gasnett_rwlock_t *lock) { pen_api_rwlock_destroy(lock); }

/* Takes it for reading or writing, waiting or not (try... return 0 on success, else EBUSY); gives
 * it back. A thread takes it once at a time. Context: any; rdlock and wrlock block. */
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

/* Ends the process with a message unless the lock is held, for reading, for writing by the calling
 * thread, or (the last) not for writing by it. Context: any. */
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

/* Where `count` threads of this process meet, again and again. Real in every mode. */
typedef struct pen_thread_barrier {
    gasnett_mutex_t mutex;
    gasnett_cond_t cond;
    uint64_t count, arrived, round;
} pen_thread_barrier;

#    define PEN_THREAD_BARRIER_INITIALIZER(count) \
        { GASNETT_MUTEX_INITIALIZER, GASNETT_COND_INITIALIZER, (count), 0, 0 }

/* Waits for the others. What threads wrote before it they all see behind it. Returns non-zero in
 * one of them. Context: no handler. Blocks; does not poll. */
PEN_API int pen_thread_barrier_wait(pen_thread_barrier *barrier);

#endif

/* ---- variables of a thread ------------------------------------------------------------------- */

/* At file scope: defines a pointer of which each thread has its own, at first NULL; or declares one
 * that another file defines. The calls below want its name. In every mode. */
#define GASNETT_THREADKEY_DEFINE(key)  __thread void *pen_threadkey_##key = 0
#define GASNETT_THREADKEY_DECLARE(key) extern __thread void *pen_threadkey_##key

/* Readies a key, which is not needed here; reads and writes the calling thread's value. The noinit
 * ones are for keys known to be ready. Context: any. */
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
