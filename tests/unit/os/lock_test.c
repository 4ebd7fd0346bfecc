/* SPDX-License-Identifier: BSD-3-Clause */
/* lock_test.c: exclusion when shared, nothing at all when alone. */
#include "os/lock.h"
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 20000 };

typedef struct shelf {
    pen_lock lock;
    uint64_t count; /* guarded by lock */
} shelf;

static void *add_many(void *at)
{
    shelf *mine = at;
    for (int i = 0; i < ROUNDS; i++) {
        pen_lock_take(&mine->lock);
        uint64_t before = mine->count;
        if (i % 32 == 0)
            sched_yield(); /* the other threads have every chance to come in */
        mine->count = before + 1;
        pen_lock_drop(&mine->lock);
    }
    return NULL;
}

static void threads_take_turns(void **state)
{
    (void)state;
    shelf mine = { .count = 0 };
    pthread_t threads[THREADS];
    pen_lock_init(&mine.lock, PEN_CONCURRENT);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &mine), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(mine.count, THREADS * ROUNDS);
    assert_int_equal(atomic_load(&mine.lock.sleepers), 0);
}

static void a_held_lock_is_not_taken_again(void **state)
{
    (void)state;
    pen_lock lock;
    pen_lock_init(&lock, PEN_HELPED);
    assert_true(pen_lock_try(&lock));
    assert_false(pen_lock_try(&lock));
    pen_lock_drop(&lock);
    assert_true(pen_lock_try(&lock));
    pen_lock_drop(&lock);
}

static void *take_once(void *at)
{
    shelf *mine = at;
    pen_lock_take(&mine->lock);
    mine->count++;
    pen_lock_drop(&mine->lock);
    return NULL;
}

static void whoever_waits_long_sleeps_and_is_woken(void **state)
{
    (void)state;
    shelf mine = { .count = 0 };
    pthread_t thread;
    pen_lock_init(&mine.lock, PEN_CONCURRENT);
    pen_lock_take(&mine.lock);
    assert_int_equal(pthread_create(&thread, NULL, take_once, &mine), 0);
    uint64_t until = pen_now_ns() + 10000000000u;
    while (atomic_load(&mine.lock.sleepers) == 0 && pen_now_ns() < until)
        usleep(100);
    assert_int_equal(atomic_load(&mine.lock.sleepers), 1);
    usleep(5000); /* several naps */
    assert_int_equal(mine.count, 0);
    pen_lock_drop(&mine.lock);
    pthread_join(thread, NULL);
    assert_int_equal(mine.count, 1);
}

static void alone_a_lock_is_never_touched(void **state)
{
    (void)state;
    pen_lock lock;
    pen_lock_init(&lock, PEN_ALONE);
    pen_lock_take(&lock);
    pen_lock_take(&lock);
    assert_true(pen_lock_try(&lock));
    assert_int_equal(atomic_load(&lock.word), 0);
    pen_lock_drop(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_take_turns),
        cmocka_unit_test(a_held_lock_is_not_taken_again),
        cmocka_unit_test(whoever_waits_long_sleeps_and_is_woken),
        cmocka_unit_test(alone_a_lock_is_never_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
