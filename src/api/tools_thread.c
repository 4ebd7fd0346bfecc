/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_thread.c: the client's locks, conditions and barriers of threads, made of those of the
 * system.
 *
 * A lock records its holder, so that a program that would deadlock ends with a message instead. The
 * words that name a holder are relaxed atomics: each thread only tests whether they name itself,
 * and a thread sees its own writes. */
#include "api/tools.h"

#include "api/api.h"
#include "base/compiler.h"

#include <gasnet.h>
#include <gasnet_tools.h>
#include <pthread.h>
#include <string.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(((gasnett_mutex_t *)NULL)->object), "room");
_Static_assert(sizeof(pthread_cond_t) <= sizeof(((gasnett_cond_t *)NULL)->object), "room");
_Static_assert(sizeof(pthread_rwlock_t) <= sizeof(((gasnett_rwlock_t *)NULL)->object), "room");

static pthread_mutex_t *system_mutex(gasnett_mutex_t *mutex)
{
    return (pthread_mutex_t *)(void *)mutex->object;
}

static pthread_cond_t *system_cond(gasnett_cond_t *cond)
{
    return (pthread_cond_t *)(void *)cond->object;
}

static pthread_rwlock_t *system_rwlock(gasnett_rwlock_t *lock)
{
    return (pthread_rwlock_t *)(void *)lock->object;
}

static uint64_t myself(void) { return (uint64_t)pthread_self(); }

static bool is_mine(const uint64_t *owner)
{
    return __atomic_load_n(owner, __ATOMIC_RELAXED) == myself();
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes there */
static void name_owner(uint64_t *owner, uint64_t who)
{
    __atomic_store_n(owner, who, __ATOMIC_RELAXED);
}

/* Reports an error of a system call that fails only by misuse. */
static void expect_success(int error, const char *call, const void *object)
{
    if (pen_unlikely(error != 0))
        pen_api_tools_fatal("%s(%p): %s; is the object initialised?", call, object,
                            strerror(error));
}

/* ---- mutex ----------------------------------------------------------------------------------- */

void pen_api_mutex_init(gasnett_mutex_t *mutex)
{
    memset(mutex, 0, sizeof *mutex);
    (void)pthread_mutex_init(system_mutex(mutex), NULL);
}

int pen_api_mutex_destroy(gasnett_mutex_t *mutex)
{
    return pthread_mutex_destroy(system_mutex(mutex));
}

void pen_api_mutex_lock(gasnett_mutex_t *mutex)
{
    if (pen_unlikely(is_mine(&mutex->owner)))
        pen_api_tools_fatal("gasnett_mutex_lock(%p): this thread holds it already", (void *)mutex);
    expect_success(pthread_mutex_lock(system_mutex(mutex)), "gasnett_mutex_lock", mutex);
    name_owner(&mutex->owner, myself());
}

int pen_api_mutex_trylock(gasnett_mutex_t *mutex)
{
    int error = pthread_mutex_trylock(system_mutex(mutex));
    if (error == 0)
        name_owner(&mutex->owner, myself());
    return error;
}

void pen_api_mutex_unlock(gasnett_mutex_t *mutex)
{
    if (pen_unlikely(!is_mine(&mutex->owner)))
        pen_api_tools_fatal("gasnett_mutex_unlock(%p): this thread does not hold it",
                            (void *)mutex);
    name_owner(&mutex->owner, 0);
    expect_success(pthread_mutex_unlock(system_mutex(mutex)), "gasnett_mutex_unlock", mutex);
}

void pen_api_mutex_assert(const gasnett_mutex_t *mutex, int held)
{
    if (pen_unlikely(is_mine(&mutex->owner) != (held != 0)))
        pen_api_tools_fatal("gasnett_mutex_assert%slocked(%p): this thread %s it",
                            held != 0 ? "" : "un", (const void *)mutex,
                            held != 0 ? "does not hold" : "holds");
}

/* ---- condition ------------------------------------------------------------------------------- */

void pen_api_cond_init(gasnett_cond_t *cond)
{
    memset(cond, 0, sizeof *cond);
    (void)pthread_cond_init(system_cond(cond), NULL);
}

void pen_api_cond_destroy(gasnett_cond_t *cond) { (void)pthread_cond_destroy(system_cond(cond)); }

void pen_api_cond_signal(gasnett_cond_t *cond) { (void)pthread_cond_signal(system_cond(cond)); }

void pen_api_cond_broadcast(gasnett_cond_t *cond)
{
    (void)pthread_cond_broadcast(system_cond(cond));
}

void pen_api_cond_wait(gasnett_cond_t *cond, gasnett_mutex_t *mutex)
{
    if (pen_unlikely(!is_mine(&mutex->owner)))
        pen_api_tools_fatal("gasnett_cond_wait(%p, %p): this thread does not hold the mutex",
                            (void *)cond, (void *)mutex);
    name_owner(&mutex->owner, 0);
    expect_success(pthread_cond_wait(system_cond(cond), system_mutex(mutex)), "gasnett_cond_wait",
                   cond);
    name_owner(&mutex->owner, myself());
}

/* ---- many readers or one writer -------------------------------------------------------------- */

void pen_api_rwlock_init(gasnett_rwlock_t *lock)
{
    memset(lock, 0, sizeof *lock);
    (void)pthread_rwlock_init(system_rwlock(lock), NULL);
}

void pen_api_rwlock_destroy(gasnett_rwlock_t *lock)
{
    (void)pthread_rwlock_destroy(system_rwlock(lock));
}

static void count_reader(gasnett_rwlock_t *lock)
{
    (void)__atomic_add_fetch(&lock->readers, 1, __ATOMIC_RELAXED);
}

void pen_api_rwlock_rdlock(gasnett_rwlock_t *lock)
{
    pen_api_rwlock_assert(lock, 0, 0);
    expect_success(pthread_rwlock_rdlock(system_rwlock(lock)), "gasnett_rwlock_rdlock", lock);
    count_reader(lock);
}

void pen_api_rwlock_wrlock(gasnett_rwlock_t *lock)
{
    pen_api_rwlock_assert(lock, 0, 0);
    expect_success(pthread_rwlock_wrlock(system_rwlock(lock)), "gasnett_rwlock_wrlock", lock);
    name_owner(&lock->owner, myself());
}

int pen_api_rwlock_tryrdlock(gasnett_rwlock_t *lock)
{
    int error = pthread_rwlock_tryrdlock(system_rwlock(lock));
    if (error == 0)
        count_reader(lock);
    return error;
}

int pen_api_rwlock_trywrlock(gasnett_rwlock_t *lock)
{
    int error = pthread_rwlock_trywrlock(system_rwlock(lock));
    if (error == 0)
        name_owner(&lock->owner, myself());
    return error;
}

void pen_api_rwlock_unlock(gasnett_rwlock_t *lock)
{
    if (is_mine(&lock->owner))
        name_owner(&lock->owner, 0);
    else if (__atomic_load_n(&lock->readers, __ATOMIC_RELAXED) != 0)
        (void)__atomic_sub_fetch(&lock->readers, 1, __ATOMIC_RELAXED);
    else
        pen_api_tools_fatal("gasnett_rwlock_unlock(%p): this thread does not hold it",
                            (void *)lock);
    expect_success(pthread_rwlock_unlock(system_rwlock(lock)), "gasnett_rwlock_unlock", lock);
}

void pen_api_rwlock_assert(const gasnett_rwlock_t *lock, int readers, int writer)
{
    bool writes = is_mine(&lock->owner);
    bool reads = !writes && __atomic_load_n(&lock->readers, __ATOMIC_RELAXED) != 0;
    if (readers == 0 && writer == 0) {
        if (pen_unlikely(writes))
            pen_api_tools_fatal("the gasnett_rwlock_t at %p: this thread holds it for writing",
                                (const void *)lock);
    } else if (pen_unlikely(!((readers != 0 && reads) || (writer != 0 && writes)))) {
        pen_api_tools_fatal("the gasnett_rwlock_t at %p: not held for %s", (const void *)lock,
                            readers == 0  ? "writing by this thread"
                            : writer == 0 ? "reading"
                                          : "reading, or writing by this thread");
    }
}

/* ---- barrier --------------------------------------------------------------------------------- */

int pen_thread_barrier_wait(pen_thread_barrier *barrier)
{
    int last = 0;
    pen_api_mutex_lock(&barrier->mutex);
    if (++barrier->arrived == barrier->count) {
        barrier->arrived = 0;
        barrier->round++;
        last = 1;
        pen_api_cond_broadcast(&barrier->cond);
    } else {
        uint64_t round = barrier->round;
        while (barrier->round == round)
            pen_api_cond_wait(&barrier->cond, &barrier->mutex);
    }
    pen_api_mutex_unlock(&barrier->mutex);
    return last;
}
