/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_diagnostics.c: checks of the tools on the client's machine, for faults that a new compiler,
 * kernel or processor could bring. */
#include "api/tools.h"

#include "api/api.h"
#include "diag/log.h"

#include <gasnet.h>
#include <gasnet_tools.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 256, TEXT_LEN = 64 };

typedef struct trial {
    int rounds, threads;
    gasnett_strongatomic64_t wide, taken, failures;
    gasnett_strongatomic32_t narrow;
    gasnett_mutex_t mutex;
    gasnett_rwlock_t rwlock;
    uint64_t guarded, shared;
    pen_thread_barrier barrier;
} trial;

static void expect(trial *t, bool good, const char *what)
{
    if (good)
        return;
    gasnett_strongatomic64_increment(&t->failures, GASNETT_ATOMIC_NONE);
    pen_log_error(pen_api_tools_log(), "gasnett_run_diagnostics: %s: this check failed", what);
}

/* ---- A: atomics ------------------------------------------------------------------------------ */

static void change_atomics(trial *t)
{
    for (int i = 0; i < t->rounds; i++) {
        (void)gasnett_strongatomic64_add(&t->wide, 3, GASNETT_ATOMIC_NONE);
        gasnett_strongatomic64_decrement(&t->wide, GASNETT_ATOMIC_NONE);
        (void)gasnett_strongatomic32_subtract(&t->narrow, 1, GASNETT_ATOMIC_NONE);
        uint64_t old;
        do
            old = gasnett_strongatomic64_read(&t->taken, GASNETT_ATOMIC_NONE);
        while (gasnett_strongatomic64_compare_and_swap(&t->taken, old, old + 1,
                                                       GASNETT_ATOMIC_ACQ_IF_TRUE) == 0);
    }
}

static void judge_atomics(trial *t)
{
    uint64_t changes = (uint64_t)t->rounds * (uint64_t)t->threads;
    expect(t, gasnett_strongatomic64_read(&t->wide, GASNETT_ATOMIC_ACQ) == 2 * changes,
           "no addition is lost");
    expect(t, gasnett_strongatomic32_read(&t->narrow, GASNETT_ATOMIC_ACQ) == 0u - (uint32_t)changes,
           "no subtraction is lost, and 32 bits wrap around");
    expect(t, gasnett_strongatomic64_read(&t->taken, GASNETT_ATOMIC_ACQ) == changes,
           "one thread wins a compare_and_swap");
}

/* ---- B: locks -------------------------------------------------------------------------------- */

static void change_locked(trial *t)
{
    for (int i = 0; i < t->rounds; i++) {
        gasnett_mutex_lock(&t->mutex);
        t->guarded++;
        gasnett_mutex_unlock(&t->mutex);
        gasnett_rwlock_wrlock(&t->rwlock);
        t->shared++;
        gasnett_rwlock_unlock(&t->rwlock);
        gasnett_rwlock_rdlock(&t->rwlock);
        bool grew = t->shared > 0;
        gasnett_rwlock_unlock(&t->rwlock);
        expect(t, grew, "a reader sees what writers wrote");
    }
}

static void judge_locked(trial *t)
{
    uint64_t changes = (uint64_t)t->rounds * (uint64_t)t->threads;
    expect(t, t->guarded == changes, "one thread holds a mutex");
    expect(t, t->shared == changes, "one thread holds a lock for writing");
}

/* ---- C: time --------------------------------------------------------------------------------- */

static void read_ticks(trial *t)
{
    gasnett_tick_t last = gasnett_ticks_now();
    bool forward = true;
    for (int i = 0; i < t->rounds; i++) {
        gasnett_tick_t now = gasnett_ticks_now();
        forward = forward && now >= last;
        last = now;
    }
    expect(t, forward, "ticks do not go back");
}

static void judge_ticks(trial *t)
{
    const uint64_t sleep_us = 2000, ns_per_us = 1000;
    gasnett_tick_t start = gasnett_ticks_now();
    uint64_t start_us = gasnett_gettimeofday_us();
    while (gasnett_gettimeofday_us() - start_us < sleep_us)
        (void)gasnett_nsleep(sleep_us * ns_per_us);
    expect(t, gasnett_ticks_to_us(gasnett_ticks_now() - start) >= sleep_us / 2,
           "ticks pass as fast as time does");
}

/* ---- D: numbers ------------------------------------------------------------------------------ */

static void read_numbers(trial *t)
{
    char text[TEXT_LEN];
    for (int i = 0; i < t->rounds && i < TEXT_LEN; i++) {
        int64_t number = INT64_C(1) << (i % 60);
        (void)gasnett_format_number(number, text, sizeof text, 1);
        expect(t, gasnett_parse_int(text, 1) == number, "a size is read as it was written");
    }
    expect(t, gasnett_count0s_uint64_t(UINT64_C(0x0100ff0000800001)) == 4,
           "the bytes that are zero are counted");
}

static void judge_nothing(trial *t) { (void)t; }

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct section {
    void (*run)(trial *t);   /* called by all threads */
    void (*judge)(trial *t); /* called by one thread when all are done */
} section;

static const section sections[] = { { change_atomics, judge_atomics },
                                    { change_locked, judge_locked },
                                    { read_ticks, judge_ticks },
                                    { read_numbers, judge_nothing } };

typedef struct work {
    trial *t;
    const char *wanted;
    pthread_t thread;
} work;

static void *run_sections(void *argument)
{
    work *w = argument;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (w->wanted != NULL && *w->wanted != '\0' && strchr(w->wanted, 'A' + (int)i) == NULL)
            continue;
        (void)pen_thread_barrier_wait(&w->t->barrier);
        sections[i].run(w->t);
        if (pen_thread_barrier_wait(&w->t->barrier) != 0)
            sections[i].judge(w->t);
    }
    return NULL;
}

/* Ends the process with a message if a thread does not start, because the started threads would
 * wait for it. */
static void run_on_threads(trial *t, const char *wanted)
{
    static const char what[] = "gasnett_run_diagnostics: cannot start a thread";
    work *all = calloc((size_t)t->threads, sizeof *all);
    if (all == NULL)
        pen_api_tools_fatal("%s: out of memory; ask for fewer", what);
    for (int i = 0; i < t->threads; i++) {
        all[i] = (work){ .t = t, .wanted = wanted };
        int error = i == 0 ? 0 : pthread_create(&all[i].thread, NULL, run_sections, &all[i]);
        if (error != 0)
            pen_api_tools_fatal("%s: %s; ask for fewer", what, strerror(error));
    }
    (void)run_sections(&all[0]);
    for (int i = 1; i < t->threads; i++)
        (void)pthread_join(all[i].thread, NULL);
    free(all);
}

int gasnett_run_diagnostics(int rounds, int threads, const char *wanted, ...)
{
    threads = threads < 1 ? 1 : threads;
    threads = threads > THREADS_MAX ? THREADS_MAX : threads;
    trial t = { .rounds = rounds < 1 ? 1 : rounds,
                .threads = threads,
                .barrier = PEN_THREAD_BARRIER_INITIALIZER((uint64_t)threads) };
    run_on_threads(&t, wanted);
    return (int)gasnett_strongatomic64_read(&t.failures, GASNETT_ATOMIC_ACQ);
}
