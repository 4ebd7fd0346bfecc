/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h: code that all conformance programs share. A program includes <gasnet.h> or <gasnetex.h>,
 * then this. A check names the rule it holds the library to, with the document and chapter:
 *
 *     CHECK(gasnet_AMMaxMedium() >= 512, "GASNet-1 Core, AM sizes: Medium carries 512 bytes");
 *
 * "GASNet-1" is the specification 1.8, "GASNet-EX" the API description 0.19; the word after it is
 * the chapter. The first failure prints file, line, rank, expression and rule, and fails the job.
 */
#ifndef PEN_TESTS_CONFORMANCE_CHECK_H
#define PEN_TESTS_CONFORMANCE_CHECK_H

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MAYBE_UNUSED __attribute__((unused))

/* Rank and size for messages; -1 until the program says that the job has begun. */
static int check_rank CHECK_MAYBE_UNUSED = -1;
static int check_size CHECK_MAYBE_UNUSED = -1;

/* To be called once the library is initialised. */
CHECK_MAYBE_UNUSED static void check_begin(void)
{
    check_rank = (int)gasnet_mynode();
    check_size = (int)gasnet_nodes();
}

/* Fails the job with status 1; legal everywhere, in handlers and with a lock held too. */
CHECK_MAYBE_UNUSED static void check_fail(const char *file, int line, const char *what,
                                          const char *rule)
{
    fprintf(stderr, "%s:%d: rank %d of %d: %s: %s\n", file, line, check_rank, check_size, what,
            rule);
    fflush(stderr);
    if (check_rank < 0)
        _Exit(1);
    gasnet_exit(1);
}

/* See CHECK_EQ. */
CHECK_MAYBE_UNUSED static void check_equal(const char *file, int line, const char *what,
                                           intmax_t got, intmax_t wanted, const char *rule)
{
    char text[256];
    if (got == wanted)
        return;
    snprintf(text, sizeof(text), "%s is %jd, not %jd", what, got, wanted);
    check_fail(file, line, text, rule);
}

#define CHECK(condition, rule)                                \
    do {                                                      \
        if (!(condition))                                     \
            check_fail(__FILE__, __LINE__, #condition, rule); \
    } while (0)

/* Two integers that must be equal; prints both. */
#define CHECK_EQ(got, wanted, rule) \
    check_equal(__FILE__, __LINE__, #got, (intmax_t)(got), (intmax_t)(wanted), rule)

/* Every rank meets here; also the way from one part of a program to the next. */
CHECK_MAYBE_UNUSED static void check_barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    const int status = gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    CHECK_EQ(status, GASNET_OK, "GASNet-1 Extended, barriers: an anonymous barrier matches");
}

/* The last statement of main: all ranks have passed their checks. */
CHECK_MAYBE_UNUSED static int check_end(void)
{
    check_barrier();
    if (check_rank == 0)
        printf("all checks passed on %d ranks\n", check_size);
    return 0;
}

/* ---- neighbours ---------------------------------------------------------------------------- */

CHECK_MAYBE_UNUSED static unsigned check_next(unsigned step)
{
    const unsigned size = check_size > 0 ? (unsigned)check_size : 1;
    return ((unsigned)check_rank + step) % size;
}

CHECK_MAYBE_UNUSED static unsigned check_previous(unsigned step)
{
    const unsigned size = check_size > 0 ? (unsigned)check_size : 1;
    return ((unsigned)check_rank + size - step % size) % size;
}

/* ---- data that tells where it came from ------------------------------------------------------ */

CHECK_MAYBE_UNUSED static unsigned char check_byte(unsigned seed, size_t byte_i)
{
    return (unsigned char)(seed * 131u + byte_i * 7u + (byte_i >> 8) * 13u + 1u);
}

CHECK_MAYBE_UNUSED static void check_fill(void *memory, size_t len, unsigned seed)
{
    unsigned char *bytes = (unsigned char *)memory;
    for (size_t byte_i = 0; byte_i < len; byte_i++)
        bytes[byte_i] = check_byte(seed, byte_i);
}

CHECK_MAYBE_UNUSED static int check_filled(const void *memory, size_t len, unsigned seed)
{
    const unsigned char *bytes = (const unsigned char *)memory;
    for (size_t byte_i = 0; byte_i < len; byte_i++)
        if (bytes[byte_i] != check_byte(seed, byte_i))
            return 0;
    return 1;
}

/* All of len bytes have this value. */
CHECK_MAYBE_UNUSED static int check_all(const void *memory, size_t len, int value)
{
    const unsigned char *bytes = (const unsigned char *)memory;
    for (size_t byte_i = 0; byte_i < len; byte_i++)
        if (bytes[byte_i] != (unsigned char)value)
            return 0;
    return 1;
}

/* ---- threads ----------------------------------------------------------------------------------
 * PAR: real threads, all calling at once. PARSYNC: threads one after another, since the client has
 * to keep them apart. SEQ: the only thread. */

#if defined(GASNET_PAR)
enum { CHECK_THREADS = 4 };
#elif defined(GASNET_PARSYNC)
enum { CHECK_THREADS = 2 };
#else
enum { CHECK_THREADS = 1 };
#endif

typedef void (*check_thread_fn)(unsigned thread_i);

typedef struct check_thread {
    pthread_t id;
    check_thread_fn run;
    unsigned thread_i;
} check_thread;

CHECK_MAYBE_UNUSED static void *check_thread_main(void *argument)
{
    const check_thread *thread = (const check_thread *)argument;
    thread->run(thread->thread_i);
    return NULL;
}

/* Runs the function CHECK_THREADS times, with 0 and up; returns when all have ended. */
CHECK_MAYBE_UNUSED static void check_on_threads(check_thread_fn run)
{
#if defined(GASNET_SEQ)
    run(0);
#else
    static check_thread threads[CHECK_THREADS];
    for (unsigned i = 0; i < CHECK_THREADS; i++) {
        threads[i].run = run;
        threads[i].thread_i = i;
        if (pthread_create(&threads[i].id, NULL, check_thread_main, &threads[i]) != 0)
            check_fail(__FILE__, __LINE__, "pthread_create", "the system gives us threads");
#    if defined(GASNET_PARSYNC)
        pthread_join(threads[i].id, NULL);
#    endif
    }
#    if defined(GASNET_PAR)
    for (unsigned i = 0; i < CHECK_THREADS; i++)
        pthread_join(threads[i].id, NULL);
#    endif
#endif
}

/* ---- waiting for handlers -------------------------------------------------------------------- */

typedef atomic_uint check_count;

CHECK_MAYBE_UNUSED static unsigned check_counted(check_count *count)
{
    return atomic_load_explicit(count, memory_order_acquire); /* pairs with check_add */
}

CHECK_MAYBE_UNUSED static void check_add(check_count *count, unsigned add)
{
    atomic_fetch_add_explicit(count, add, memory_order_release); /* pairs with check_counted */
}

/* `wanted` is evaluated once, the condition as often as GASNET_BLOCKUNTIL likes. */
#define CHECK_WAIT(count, wanted)                                    \
    do {                                                             \
        const unsigned check_wanted_ = (unsigned)(wanted);           \
        GASNET_BLOCKUNTIL(check_counted(&(count)) >= check_wanted_); \
    } while (0)

#endif
