/* SPDX-License-Identifier: BSD-3-Clause */
/* window_test.c: the replay window, by hand and against a list of everything that was seen. */
#include "seal/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LEN = PEN_SEAL_WINDOW_LEN, NUMBERS = 20000 };

static void numbers_are_accepted_once_in_any_order(void **state)
{
    (void)state;
    pen_seal_window window = { 0 };
    assert_true(pen_seal_window_accept(&window, 1));
    assert_false(pen_seal_window_accept(&window, 1));
    assert_true(pen_seal_window_accept(&window, 5));
    assert_true(pen_seal_window_accept(&window, 3));
    assert_true(pen_seal_window_accept(&window, 2));
    assert_false(pen_seal_window_accept(&window, 3));
    assert_false(pen_seal_window_accept(&window, 5));
    assert_true(pen_seal_window_accept(&window, 4));
}

static void the_window_reaches_its_length_and_no_further(void **state)
{
    (void)state;
    pen_seal_window window = { 0 };
    assert_true(pen_seal_window_accept(&window, LEN + 1));
    assert_false(pen_seal_window_accept(&window, 1)); /* too old to know */
    assert_true(pen_seal_window_accept(&window, 2));
    assert_false(pen_seal_window_accept(&window, 2));
    assert_true(pen_seal_window_accept(&window, LEN + 3)); /* takes the place of 3 */
    assert_false(pen_seal_window_accept(&window, 3));
}

static void a_leap_forgets_what_is_behind_it(void **state)
{
    (void)state;
    pen_seal_window window = { 0 };
    assert_true(pen_seal_window_accept(&window, 7));
    assert_true(pen_seal_window_accept(&window, 7 + 10 * (uint64_t)LEN));
    assert_true(pen_seal_window_accept(&window, 7 + 10 * (uint64_t)LEN - LEN + 1));
    assert_true(pen_seal_window_accept(&window, 6 + 10 * (uint64_t)LEN));
    assert_false(pen_seal_window_accept(&window, 7));
    assert_true(pen_seal_window_accept(&window, UINT64_MAX - 1));
    assert_true(pen_seal_window_accept(&window, UINT64_MAX - 2));
}

static void numbers_that_no_sender_reaches_are_refused(void **state)
{
    (void)state;
    pen_seal_window window = { 0 };
    assert_false(pen_seal_window_accept(&window, 0));
    assert_false(pen_seal_window_accept(&window, UINT64_MAX));
    assert_true(pen_seal_window_accept(&window, 1)); /* and do not move the window */
}

static void it_agrees_with_a_list_of_all_that_was_seen(void **state)
{
    (void)state;
    static uint8_t seen[60 * NUMBERS];
    uint64_t random = 1, newest = 0, accepted = 0;
    pen_seal_window window = { 0 };
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < NUMBERS; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t number = 1 + newest + (random >> 33) % 1200; /* 50 ahead at most */
        number = number > 1150 ? number - 1150 : 1;
        bool is_new = newest < number || (newest - number < LEN && seen[number] == 0);
        assert_int_equal(pen_seal_window_accept(&window, number), is_new);
        seen[number] = 1;
        newest = number > newest ? number : newest;
        accepted += is_new;
    }
    assert_true(accepted > 100 && accepted < NUMBERS - 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_accepted_once_in_any_order),
        cmocka_unit_test(the_window_reaches_its_length_and_no_further),
        cmocka_unit_test(a_leap_forgets_what_is_behind_it),
        cmocka_unit_test(numbers_that_no_sender_reaches_are_refused),
        cmocka_unit_test(it_agrees_with_a_list_of_all_that_was_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
