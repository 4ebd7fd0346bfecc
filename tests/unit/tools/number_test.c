/* SPDX-License-Identifier: BSD-3-Clause */
/* number_test.c: numbers as people write them. Valid numbers are tested through the API; this
 * program tries invalid ones, and the bounds. */
#include "tools/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void text_that_is_no_integer_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = { "", " ", "x", "-", "1x", "1 2", "0x", "1.5", "4K" };
    int64_t value = 99;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(pen_tools_parse_int(wrong[i], 0, &value));
    assert_false(pen_tools_parse_int(NULL, 0, &value));
    assert_int_equal(value, 99);
}

static void text_that_is_no_size_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = { "", "K", "1Q", "1KK", "1 K B", "nan", "4Kx", "1i" };
    int64_t value = 99;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(pen_tools_parse_int(wrong[i], 1, &value));
    assert_int_equal(value, 99);
}

static void numbers_out_of_range_become_the_nearest(void **state)
{
    (void)state;
    int64_t value;
    assert_true(pen_tools_parse_int("99999999999999999999", 0, &value));
    assert_true(value == INT64_MAX);
    assert_true(pen_tools_parse_int("-99999999999999999999", 0, &value));
    assert_true(value == INT64_MIN);
    assert_true(pen_tools_parse_int("9E", 1024, &value));
    assert_true(value == INT64_MAX);
    assert_true(pen_tools_parse_int("-9000P", 1024, &value));
    assert_true(value == INT64_MIN);
    assert_true(pen_tools_parse_int("9223372036854775807", 1, &value));
    assert_true(value == INT64_MAX); /* exact: not by way of a double */
}

static void real_numbers_may_be_fractions(void **state)
{
    (void)state;
    double value = 9;
    assert_true(pen_tools_parse_real(" 1 / 8 ", &value));
    assert_true(value == 0.125);
    assert_true(pen_tools_parse_real("-1e-1", &value));
    assert_true(value == -0.1);
    static const char *const wrong[] = { "", "/2", "1/", "1/0", "1/2/3", "one", "1 2" };
    value = 9;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(pen_tools_parse_real(wrong[i], &value));
    assert_false(pen_tools_parse_real(NULL, &value));
    assert_true(value == 9);
}

static void sizes_are_written_in_the_largest_unit_that_divides_them(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {
        { 0, "0 B" },
        { 1023, "1023 B" },
        { 1024, "1 KB" },
        { 1536, "1536 B" },
        { -2048, "-2 KB" },
        { INT64_C(5) << 30, "5 GB" },
        { INT64_C(1) << 60, "1048576 TB" },
    };
    char text[32];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pen_tools_format_number(rows[i].value, text, sizeof text, true);
        assert_string_equal(text, rows[i].text);
    }
    pen_tools_format_number(123456, text, 4, false);
    assert_string_equal(text, "123");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_is_no_integer_is_refused),
        cmocka_unit_test(text_that_is_no_size_is_refused),
        cmocka_unit_test(numbers_out_of_range_become_the_nearest),
        cmocka_unit_test(real_numbers_may_be_fractions),
        cmocka_unit_test(sizes_are_written_in_the_largest_unit_that_divides_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
