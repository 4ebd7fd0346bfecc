/* SPDX-License-Identifier: BSD-3-Clause */
/* core_test.c: a waiting rank that finds another thread on its core tells its owner, if the host
 * has a core for every polling thread. */
#include "fake_link.h"

#include "os/os.h"
#include "progress/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <sched.h>
#include <cmocka.h>

static _Atomic bool goes_on;

static void *spin(void *arg)
{
    (void)arg;
    while (atomic_load(&goes_on))
        sched_yield();
    return NULL;
}

static unsigned times_told;

static void count(void *ctx)
{
    (void)ctx;
    times_told++;
}

/* Waits until the rank has told, or has yielded often. Returns how often it told. */
static unsigned wait_until_told(uint32_t polling, uint32_t cores)
{
    enum { YIELDS = 2000 };
    static const pen_progress_config config = { 0, 1e-3, false };
    static _Atomic uint32_t sleeping, wake, polling_total;
    static pen_progress progress;
    pen_counters counters = { 0 };
    fake_link link;
    const pen_sleeper sleeper = {
        .sleeping = &sleeping, .wake = &wake, .polling_total = &polling_total, .cores = cores
    };
    atomic_store(&polling_total, polling - 1);
    fake_open(&link, 0);
    pen_progress_init(&progress, PEN_ALONE, &config, &sleeper, &pen_machine_clock, &counters);
    pen_progress_add(&progress, &link.base);
    progress.on_shared = count;
    atomic_store(&progress.core_shared, polling > cores); /* then it looks at each probe */
    times_told = 0;
    pen_waiter waiter = pen_waiter_of(&progress, false);
    while (times_told == 0 && counters.wait_yield < YIELDS)
        pen_wait_step(&waiter);
    pen_progress_close(&progress);
    return times_told;
}

static void who_finds_a_thread_on_its_core_tells_unless_ranks_outnumber_cores(void **state)
{
    (void)state;
    cpu_set_t before, one;
    pthread_t thread;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0); /* the thread inherits it */
    atomic_store(&goes_on, true);
    assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
    assert_int_equal(wait_until_told(2, 2), 1);
    assert_int_equal(wait_until_told(3, 2), 0);
    atomic_store(&goes_on, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_finds_a_thread_on_its_core_tells_unless_ranks_outnumber_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
