/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_threads.c: GASNet tools, threads: mutexes, conditions, locks for readers and writers,
 * variables of threads, the barrier of threads, and the tools' checks of themselves.
 *
 * TESTS: gasnett_mutex_init gasnett_mutex_destroy gasnett_mutex_destroy_ignoreerr
 * TESTS: gasnett_mutex_lock gasnett_mutex_trylock gasnett_mutex_unlock gasnett_mutex_assertlocked
 * TESTS: gasnett_mutex_assertunlocked gasnett_cond_init gasnett_cond_destroy gasnett_cond_signal
 * TESTS: gasnett_cond_broadcast gasnett_cond_wait gasnett_rwlock_init gasnett_rwlock_destroy
 * TESTS: gasnett_rwlock_rdlock gasnett_rwlock_wrlock gasnett_rwlock_tryrdlock
 * TESTS: gasnett_rwlock_trywrlock gasnett_rwlock_unlock gasnett_rwlock_assertlocked
 * TESTS: gasnett_rwlock_assertrdlocked gasnett_rwlock_assertwrlocked gasnett_rwlock_assertunlocked
 * TESTS: GASNETT_THREADKEY_DEFINE GASNETT_THREADKEY_DECLARE gasnett_threadkey_init
 * TESTS: gasnett_threadkey_get gasnett_threadkey_set gasnett_threadkey_get_noinit
 * TESTS: gasnett_threadkey_set_noinit pen_thread_barrier_wait gasnett_run_diagnostics
 * TESTS: gasnett_diagnostic_gethandlers
 */
/* PEN_RANKS: 1 3 */
#define GASNETT_USE_TRUE_MUTEXES 1
#include <gasnet.h>

#include "conformance/check.h"

#include <errno.h>

enum { ROUNDS = 2000, THREADS = 4 };

GASNETT_THREADKEY_DECLARE(mine);
GASNETT_THREADKEY_DEFINE(mine);

static gasnett_mutex_t mutex = GASNETT_MUTEX_INITIALIZER;
static gasnett_cond_t cond = GASNETT_COND_INITIALIZER;
static gasnett_rwlock_t rwlock = GASNETT_RWLOCK_INITIALIZER;
static pen_thread_barrier barrier = PEN_THREAD_BARRIER_INITIALIZER(THREADS);
static unsigned long guarded, shared, turn, sum;
static gasnett_strongatomic_t lasts = gasnett_strongatomic_init(0);
static unsigned arrived[THREADS];

static void use_mutex(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == 0)
            gasnett_mutex_lock(&mutex);
        else
            while (gasnett_mutex_trylock(&mutex) != 0)
                gasnett_sched_yield();
        gasnett_mutex_assertlocked(&mutex);
        guarded++;
        gasnett_mutex_unlock(&mutex);
        gasnett_mutex_assertunlocked(&mutex);
    }
}

static void use_rwlock(void)
{
    for (int i = 0; i < ROUNDS / 4; i++) {
        if (i % 2 == 0)
            gasnett_rwlock_wrlock(&rwlock);
        else
            while (gasnett_rwlock_trywrlock(&rwlock) != 0)
                gasnett_sched_yield();
        gasnett_rwlock_assertwrlocked(&rwlock);
        shared++;
        gasnett_rwlock_unlock(&rwlock);
        gasnett_rwlock_assertunlocked(&rwlock);
        gasnett_rwlock_rdlock(&rwlock);
        gasnett_rwlock_assertrdlocked(&rwlock);
        gasnett_rwlock_assertlocked(&rwlock);
        CHECK(shared >= 1, "GASNet tools, threads: a reader sees what it wrote before");
        gasnett_rwlock_unlock(&rwlock);
    }
}

/* The threads take turns. */
static void use_cond(size_t me)
{
    for (unsigned long i = 0; i < ROUNDS / 20; i++) {
        gasnett_mutex_lock(&mutex);
        while (turn != i * THREADS + me)
            gasnett_cond_wait(&cond, &mutex);
        gasnett_mutex_assertlocked(&mutex);
        turn++;
        gasnett_cond_broadcast(&cond);
        gasnett_mutex_unlock(&mutex);
    }
}

static void use_barrier(size_t me)
{
    for (unsigned i = 1; i <= ROUNDS / 20; i++) {
        arrived[me] = i;
        if (pen_thread_barrier_wait(&barrier) != 0)
            gasnett_strongatomic_increment(&lasts, GASNETT_ATOMIC_NONE);
        for (size_t other = 0; other < THREADS; other++)
            CHECK_EQ(arrived[other], i, "a barrier of threads: nobody leaves before all are there");
        (void)pen_thread_barrier_wait(&barrier);
    }
}

static void use_key(void)
{
    static char values[2];
    CHECK(gasnett_threadkey_get(mine) == NULL, "GASNet tools, threads: a key's value is NULL");
    gasnett_threadkey_init(mine);
    char *value = (char *)malloc(1);
    gasnett_threadkey_set(mine, value);
    gasnett_sched_yield();
    CHECK(gasnett_threadkey_get(mine) == value,
          "GASNet tools, threads: each thread has its own value");
    gasnett_threadkey_set_noinit(mine, &values[1]);
    CHECK(gasnett_threadkey_get_noinit(mine) == &values[1],
          "GASNet tools, threads: the noinit forms work on the same value");
    free(value);
}

static void *run(void *which)
{
    size_t me = (size_t)which;
    use_mutex();
    use_rwlock();
    use_cond(me);
    use_barrier(me);
    use_key();
    gasnett_mutex_lock(&mutex);
    sum += me;
    gasnett_mutex_unlock(&mutex);
    return NULL;
}

/* These threads call the tools only, so the mode does not matter. */
static void check_together(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, run, (void *)i), 0, "threads can be made");
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(guarded, THREADS * ROUNDS, "GASNet tools, threads: one thread holds a mutex");
    CHECK_EQ(shared, THREADS * (ROUNDS / 4), "GASNet tools, threads: one writes");
    CHECK_EQ(turn, THREADS * (ROUNDS / 20), "GASNet tools, threads: all had their turns");
    CHECK_EQ(gasnett_strongatomic_read(&lasts, 0), ROUNDS / 20,
             "a barrier of threads: one thread of each round is told");
    CHECK_EQ(sum, THREADS * (THREADS - 1) / 2, "every thread came to its end");
}

static void *try_all(void *unused)
{
    (void)unused;
    CHECK_EQ(gasnett_mutex_trylock(&mutex), EBUSY, "GASNet tools, threads: a held mutex is busy");
    gasnett_mutex_assertunlocked(&mutex);
    CHECK_EQ(gasnett_rwlock_tryrdlock(&rwlock), 0, "GASNet tools, threads: readers share a lock");
    gasnett_rwlock_unlock(&rwlock);
    CHECK_EQ(gasnett_rwlock_trywrlock(&rwlock), EBUSY,
             "GASNet tools, threads: a writer shares with nobody");
    return NULL;
}

static void check_busy(void)
{
    pthread_t thread;
    gasnett_mutex_lock(&mutex);
    gasnett_rwlock_rdlock(&rwlock);
    CHECK_EQ(pthread_create(&thread, NULL, try_all, NULL), 0, "threads can be made");
    pthread_join(thread, NULL);
    gasnett_rwlock_unlock(&rwlock);
    gasnett_mutex_unlock(&mutex);
}

static void check_init(void)
{
    gasnett_mutex_t a;
    gasnett_cond_t b;
    gasnett_rwlock_t c;
    memset(&a, 0xa5, sizeof(a));
    memset(&b, 0xa5, sizeof(b));
    memset(&c, 0xa5, sizeof(c));
    gasnett_mutex_init(&a);
    gasnett_cond_init(&b);
    gasnett_rwlock_init(&c);
    gasnett_mutex_lock(&a);
    gasnett_cond_signal(&b);
    gasnett_mutex_unlock(&a);
    gasnett_rwlock_wrlock(&c);
    gasnett_rwlock_unlock(&c);
    gasnett_rwlock_destroy(&c);
    gasnett_cond_destroy(&b);
    gasnett_mutex_destroy(&a);
    gasnett_mutex_init(&a);
    (void)gasnett_mutex_destroy_ignoreerr(&a);
}

static void check_diagnostics(void)
{
    gex_AM_Entry_t *entries = NULL;
    int count = -1;
    gasnett_diagnostic_gethandlers(&entries, &count);
    CHECK_EQ(count, 0, "the checks of the tools need no handler");
    CHECK_EQ(gasnett_run_diagnostics(ROUNDS / 10, THREADS, NULL, NULL), 0, "the tools work here");
    CHECK_EQ(gasnett_run_diagnostics(1, 1, "AD"), 0, "some sections may be chosen");
}

int main(int argc, char **argv)
{
    CHECK_EQ(gasnet_init(&argc, &argv), GASNET_OK, "the job starts");
    check_begin();
    CHECK_EQ(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0), GASNET_OK, "the job starts");
    check_together();
    check_busy();
    check_init();
    check_diagnostics();
    return check_end();
}
