/* SPDX-License-Identifier: BSD-3-Clause */
/* turns_test.c: numbers leave the queue in the order in which they came, each at most once. */
#include "link/turns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void *take_memory(void *ctx, size_t len, size_t align)
{
    int *left = (int *)ctx;
    return (*left)-- > 0 ? aligned_alloc(align, len) : NULL;
}

static void give_memory(void *ctx, void *block)
{
    (void)ctx;
    free(block);
}

static void numbers_wait_once_and_in_order(void **state)
{
    (void)state;
    int blocks = 2;
    const pen_host host = { .ctx = &blocks, .alloc = take_memory, .release = give_memory };
    pen_turns turns;
    assert_true(pen_turns_open(&turns, &host, 3));
    for (unsigned lap = 0; lap < 5; lap++) { /* the ring's end is passed at each place */
        assert_int_equal(turns.count, 0);
        assert_true(pen_turns_add(&turns, 2));
        assert_true(pen_turns_add(&turns, 0));
        assert_false(pen_turns_add(&turns, 2));
        assert_int_equal(turns.count, 2);
        assert_int_equal(pen_turns_at(&turns, 1), 0);
        assert_int_equal(pen_turns_take(&turns), 2);
        assert_true(pen_turns_add(&turns, 1));
        assert_true(pen_turns_add(&turns, 2)); /* once more, behind those that waited */
        assert_int_equal(turns.count, 3);
        assert_int_equal(pen_turns_take(&turns), 0);
        assert_int_equal(pen_turns_take(&turns), 1);
        assert_int_equal(pen_turns_take(&turns), 2);
        assert_true(pen_turns_add(&turns, 1));
        assert_int_equal(pen_turns_take(&turns), 1);
    }
    pen_turns_close(&turns, &host);
}

static void no_memory_is_reported(void **state)
{
    (void)state;
    for (int blocks = 0; blocks < 2; blocks++) {
        int left = blocks;
        const pen_host host = { .ctx = &left, .alloc = take_memory, .release = give_memory };
        pen_turns turns;
        assert_false(pen_turns_open(&turns, &host, 3));
        pen_turns_close(&turns, &host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_wait_once_and_in_order),
        cmocka_unit_test(no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
