/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_only.c: a program without a job, which uses the portable tools alone: timers, atomics,
 * fences, mutexes, conditions, thread keys, the environment and formats. */
#include <gasnet_tools.h>

#include <pthread.h>
#include <stdarg.h>

enum { THREADS = 4, STEPS = 20000 };

static gasnett_atomic_t counter = gasnett_atomic_init(5);
static gasnett_atomic32_t narrow = gasnett_atomic32_init(0);
static gasnett_atomic64_t wide = gasnett_atomic64_init(0);
static gasnett_strongatomic_t strong = gasnett_strongatomic_init(0);
static gasnett_mutex_t mutex = GASNETT_MUTEX_INITIALIZER;
static gasnett_cond_t cond = GASNETT_COND_INITIALIZER;
static gasnett_rwlock_t rwlock = GASNETT_RWLOCK_INITIALIZER;
GASNETT_THREADKEY_DEFINE(key);
static long guarded, waiting, message, message_ready, turn;

GASNETT_IDENT(tools_only_ident, "$ToolsOnly: yes $");

static void fail(const char *what, long long got) GASNETT_NORETURN;
GASNETT_FORMAT_PRINTF(say, 1, 2, static void say(const char *format, ...));

static void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    gasnett_flush_streams();
}

static void fail(const char *what, long long got)
{
    fprintf(stderr, "%s: %lld\n", what, got);
    exit(EXIT_FAILURE);
}

static void *work(void *number)
{
    gasnett_threadkey_set(key, number);
    for (int i = 0; i < STEPS; i++) {
        gasnett_atomic_increment(&counter, GASNETT_ATOMIC_NONE);
        gasnett_atomic32_add(&narrow, 3, GASNETT_ATOMIC_REL);
        gasnett_atomic64_subtract(&wide, 1, 0);
        while (!gasnett_strongatomic_compare_and_swap(&strong,
                                                      gasnett_strongatomic_read(&strong, 0),
                                                      gasnett_strongatomic_read(&strong, 0) + 0, 0))
            gasnett_spinloop_hint();
        gasnett_mutex_lock(&mutex);
        guarded++;
        gasnett_mutex_unlock(&mutex);
        if (i % 64 == 0) {
            gasnett_rwlock_rdlock(&rwlock);
            gasnett_rwlock_unlock(&rwlock);
        }
    }
    gasnett_mutex_lock(&mutex);
    waiting++;
    while (!message_ready)
        gasnett_cond_wait(&cond, &mutex);
    gasnett_mutex_unlock(&mutex);
    gasnett_local_rmb();
    if (message != 4711 || gasnett_threadkey_get(key) != number)
        fail("what a thread sees", message);
    return NULL;
}

static void threads(void)
{
    pthread_t id[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&id[i], NULL, work, (void *)(i + 1));
    for (long all = 0; all < THREADS; gasnett_sched_yield()) {
        gasnett_mutex_lock(&mutex);
        all = waiting;
        gasnett_mutex_unlock(&mutex);
    }
    message = 4711;
    gasnett_local_wmb();
    gasnett_mutex_lock(&mutex);
    message_ready = 1;
    gasnett_cond_broadcast(&cond);
    gasnett_mutex_unlock(&mutex);
    for (int i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
    if (gasnett_atomic_read(&counter, 0) != 5 + THREADS * STEPS)
        fail("gasnett_atomic_t", (long long)gasnett_atomic_read(&counter, 0));
    if (gasnett_atomic32_read(&narrow, 0) != 3 * THREADS * STEPS)
        fail("gasnett_atomic32_t", gasnett_atomic32_read(&narrow, 0));
    if ((int64_t)gasnett_atomic64_read(&wide, 0) != -THREADS * STEPS)
        fail("gasnett_atomic64_t", (long long)gasnett_atomic64_read(&wide, 0));
    if (guarded != THREADS * STEPS)
        fail("a mutex", guarded);
    (void)turn;
}

static void signed_atomics(void)
{
    gasnett_atomic_t a = gasnett_atomic_init(0);
    gasnett_atomic_decrement(&a, 0);
    if (gasnett_atomic_signed(gasnett_atomic_read(&a, 0)) != -1)
        fail("a signed reading", (long long)gasnett_atomic_signed(gasnett_atomic_read(&a, 0)));
    gasnett_atomic_set(&a, GASNETT_ATOMIC_MAX, 0);
    if (gasnett_atomic_read(&a, 0) != GASNETT_ATOMIC_MAX)
        fail("the largest value", (long long)gasnett_atomic_read(&a, 0));
    if (gasnett_atomic_add(&a, 1, GASNETT_ATOMIC_ACQ) != 0)
        fail("the value after the largest", (long long)gasnett_atomic_read(&a, 0));
    gasnett_atomic_set(&a, 1, 0);
    if (!gasnett_atomic_decrement_and_test(&a, GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST))
        fail("decrement and test", 0);
    if (gasnett_atomic_swap(&a, 9, 0) != 0 || gasnett_atomic_read(&a, 0) != 9)
        fail("swap", 0);
}

static void timers(void)
{
    uint64_t wall = gasnett_gettimeofday_us();
    gasnett_tick_t start = gasnett_ticks_now();
    uint64_t first = gasnett_ticks_to_ns(gasnett_ticks_now() - start);
    if (first > 5000000) /* the first conversion may not wait inside what is timed */
        fail("nanoseconds of the first conversion", (long long)first);
    if (gasnett_nsleep(20000000) != 0)
        fail("gasnett_nsleep", 0);
    uint64_t ticks_us = gasnett_ticks_to_us(gasnett_ticks_now() - start),
             wall_us = gasnett_gettimeofday_us() - wall;
    if (ticks_us < 19000 || ticks_us > wall_us + wall_us / 10 + 5000)
        fail("microseconds by ticks", (long long)ticks_us);
    if (!(gasnett_tick_granularityus() > 0 && gasnett_tick_overheadus() > 0 &&
          gasnett_tick_overheadus() < 1000))
        fail("the timer's overhead in ns", (long long)(gasnett_tick_overheadus() * 1000));
    if (start == GASNETT_TICK_MIN || start == GASNETT_TICK_MAX)
        fail("the range of ticks", 0);
}

static void environment_and_formats(void)
{
    char text[32];
    gasnett_setenv("TOOLS_ONLY", "2M");
    if (gasnett_getenv_int_withdefault("TOOLS_ONLY", 7, 1) != 2 << 20)
        fail("a size from the environment", gasnett_getenv_int_withdefault("TOOLS_ONLY", 7, 1));
    if (gasnett_getenv_int_withdefault("TOOLS_ONLY_NOT", 7, 0) != 7 ||
        gasnett_getenv("TOOLS_ONLY_NOT") != NULL)
        fail("a default", 0);
    if (!gasnett_getenv_yesno_withdefault("TOOLS_ONLY_NOT", 1))
        fail("yes by default", 0);
    if (gasnett_parse_int("3k", 1) != 3072)
        fail("3k", gasnett_parse_int("3k", 1));
    gasnett_format_number(5 << 20, text, sizeof(text), 1);
    if (gasnett_parse_int(text, 1) != 5 << 20)
        fail(text, gasnett_parse_int(text, 1));
    printf("%" PRIu64 " bytes\n", (uint64_t)sizeof(text));
}

static void machine(void)
{
    if (gasnett_cpu_count() < 1 || gasnett_getPhysMemSz(1) < 1 << 20 ||
        gasnett_gethostname()[0] == '\0')
        fail("what is known of the machine", gasnett_cpu_count());
    if (gasnett_count0s("a\0b\0", 4) != 2)
        fail("bytes that are 0", (long long)gasnett_count0s("a\0b\0", 4));
    if (!(GASNETT_PAGESIZE == 1 << GASNETT_PAGESHIFT) || GASNETT_CACHE_LINE_BYTES < 16)
        fail("constants of the machine", GASNETT_PAGESIZE);
    if (gasnett_release_version() < 2000 || strchr(gasnett_release_version_str(), '.') == NULL)
        fail("the release", (long long)gasnett_release_version());
}

int main(void)
{
    gasnett_maximize_rlimits();
    timers();
    signed_atomics();
    environment_and_formats();
    machine();
    threads();
    say("%s\n", "good");
    return EXIT_SUCCESS;
}
