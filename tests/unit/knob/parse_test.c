/* SPDX-License-Identifier: BSD-3-Clause */
/* parse_test.c: values that each type accepts, and its refusal of all other values. */
#include "knob/knob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>
#include <cmocka.h>

static void bools_are_words_in_any_case(void **state)
{
    (void)state;
    static const char *const yes[] = { "1", "y", "YES", "t", "True", " on " };
    static const char *const no[] = { "0", "N", "no", "F", "false", "Off" };
    bool value;
    for (size_t i = 0; i < 6; i++) {
        value = false;
        assert_true(pen_knob_parse(PEN_KNOB_BOOL, yes[i], &value) && value);
        value = true;
        assert_true(pen_knob_parse(PEN_KNOB_BOOL, no[i], &value) && !value);
    }
    assert_false(pen_knob_parse(PEN_KNOB_BOOL, "", &value));
    assert_false(pen_knob_parse(PEN_KNOB_BOOL, "2", &value));
    assert_false(pen_knob_parse(PEN_KNOB_BOOL, "ye", &value));
    assert_false(pen_knob_parse(PEN_KNOB_BOOL, "yes no", &value));
}

static bool is_int(const char *text, int64_t expected)
{
    int64_t value = ~expected;
    return pen_knob_parse(PEN_KNOB_INT, text, &value) && value == expected;
}

static void ints_have_a_sign_and_a_range(void **state)
{
    (void)state;
    int64_t value;
    assert_true(is_int("0", 0));
    assert_true(is_int(" +12 ", 12));
    assert_true(is_int("-7", -7));
    assert_true(is_int("9223372036854775807", INT64_MAX));
    assert_true(is_int("-9223372036854775808", INT64_MIN));
    static const char *const bad[] = { "",
                                       "-",
                                       "+",
                                       "1.",
                                       "1.5",
                                       "1K",
                                       "0x10",
                                       "--1",
                                       "- 1",
                                       "9223372036854775808",
                                       "-9223372036854775809",
                                       "18446744073709551616" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(pen_knob_parse(PEN_KNOB_INT, bad[i], &value));
}

static bool is_bytes(const char *text, uint64_t expected)
{
    uint64_t value = ~expected;
    return pen_knob_parse(PEN_KNOB_BYTES, text, &value) && value == expected;
}

static void bytes_have_a_suffix_and_a_fraction(void **state)
{
    (void)state;
    uint64_t value;
    assert_true(is_bytes("0", 0));
    assert_true(is_bytes("65536", 65536));
    assert_true(is_bytes("64K", 65536));
    assert_true(is_bytes("64 kB", 65536));
    assert_true(is_bytes("1MiB", 1u << 20));
    assert_true(is_bytes("1.5G", 3ull << 29));
    assert_true(is_bytes(".5k", 512));
    assert_true(is_bytes("2t", 2ull << 40));
    assert_true(is_bytes("100B", 100));
    assert_true(is_bytes("18446744073709551615", UINT64_MAX));
    assert_true(is_bytes("16777215.99T", (16777215ull << 40) + (uint64_t)(0.99 * (1ull << 40))));
    static const char *const bad[] = {
        "",  "K",   "-1",   "1X", "1KK",       "1.5.2",
        ".", "1/P", "1 K2", "1i", "16777216T", "18446744073709551616"
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(pen_knob_parse(PEN_KNOB_BYTES, bad[i], &value));
}

static bool is_real(const char *text, double expected)
{
    double value = -99;
    return pen_knob_parse(PEN_KNOB_REAL, text, &value) && value == expected;
}

static void reals_have_a_sign_a_fraction_and_an_exponent(void **state)
{
    (void)state;
    double value;
    assert_true(is_real("0", 0));
    assert_true(is_real(" 0.25 ", 0.25));
    assert_true(is_real("-.5", -0.5));
    assert_true(is_real("+3.", 3));
    assert_true(is_real("1e-5", 1e-5));
    assert_true(is_real("1E-22", 1e-22));
    assert_true(is_real("2.5e3", 2500));
    assert_true(is_real("1e+2", 100));
    assert_true(is_real("0e400", 0));
    assert_true(pen_knob_parse(PEN_KNOB_REAL, "1e-300", &value) && value > 0 && value < 1e-299);
    static const char *const bad[] = { "",    "-",     ".",     "e5",    "1e",
                                       "1e-", "1e5.0", "0x1",   "1 2",   "--1",
                                       "nan", "inf",   "1e309", "1e999", "1e99999999999",
                                       "- 1", "1us",   "-e1" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(pen_knob_parse(PEN_KNOB_REAL, bad[i], &value));
}

static bool is_seconds(const char *text, double expected)
{
    double value = -1;
    return pen_knob_parse(PEN_KNOB_SECONDS, text, &value) && value > expected * 0.999999 &&
           value < expected * 1.000001;
}

static void seconds_have_units(void **state)
{
    (void)state;
    double value;
    assert_true(is_seconds("2", 2));
    assert_true(is_seconds("0.25", 0.25));
    assert_true(is_seconds("50us", 50e-6));
    assert_true(is_seconds("1 ms", 1e-3));
    assert_true(is_seconds("1.5M", 90));
    assert_true(is_seconds("1h", 3600));
    assert_true(is_seconds("3s", 3));
    static const char *const bad[] = { "", "-1", "1e3", "5 minutes", "us", "1d", "nan", "1 s s" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(pen_knob_parse(PEN_KNOB_SECONDS, bad[i], &value));
}

static void memory_is_a_size_or_a_fraction_of_process_or_host(void **state)
{
    (void)state;
    pen_memory_limit limit;
    assert_true(pen_knob_parse(PEN_KNOB_MEMORY, "0.85/H", &limit));
    assert_true(limit.fraction > 0.849 && limit.fraction < 0.851 && limit.len == 0 &&
                limit.per_host);
    assert_true(pen_knob_parse(PEN_KNOB_MEMORY, "512MB/P", &limit));
    assert_true(limit.len == 512u << 20 && limit.fraction == 0 && !limit.per_host);
    assert_true(pen_knob_parse(PEN_KNOB_MEMORY, "1.5g / h", &limit));
    assert_true(limit.len == 3ull << 29 && limit.per_host);
    assert_true(pen_knob_parse(PEN_KNOB_MEMORY, "0.5K", &limit));
    assert_true(limit.len == 512 && limit.fraction == 0);
    assert_true(pen_knob_parse(PEN_KNOB_MEMORY, "1.0", &limit));
    assert_true(limit.len == 0 && limit.fraction == 1);
    assert_true(pen_knob_parse(PEN_KNOB_MEMORY, "4096", &limit));
    assert_true(limit.len == 4096 && !limit.per_host);
    static const char *const bad[] = { "", "/H", "1G/", "1G/X", "1G/HH", "1G/H/P", "-0.5", "x" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(pen_knob_parse(PEN_KNOB_MEMORY, bad[i], &limit));
}

static bool is_among(const char *text, uint64_t number)
{
    bool is_one = false;
    return pen_knob_parse_ranges(text, number, &is_one) && is_one;
}

static void ranges_hold_numbers_and_what_lies_between(void **state)
{
    (void)state;
    assert_true(is_among("3", 3) && !is_among("3", 2) && !is_among("3", 30));
    assert_true(is_among("0,4-7", 0) && is_among("0,4-7", 4) && is_among("0,4-7", 7));
    assert_true(!is_among("0,4-7", 3) && !is_among("0,4-7", 8));
    assert_true(is_among(" 1 , 2 - 9 , 3 ", 5) && is_among("5-5", 5));
    static const char *const bad[] = {
        "", ",", "1,", "-1", "2-", "3-2", "1.5", "a", "1 2", "1-2-3"
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bool is_one = true;
        assert_false(pen_knob_parse_ranges(bad[i], 1, &is_one));
        assert_true(is_one); /* written on success only */
    }
}

static void a_text_is_itself(void **state)
{
    (void)state;
    const char *text = "any thing", *value = NULL;
    assert_true(pen_knob_parse(PEN_KNOB_STRING, text, &value));
    assert_ptr_equal(value, text);
}

static void a_time_of_centuries_counts_as_thirty_years(void **state)
{
    (void)state;
    static const char *const texts[] = { "9223372036854775807", "18446744073709551615h", "1e9" };
    double seconds = 0;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(pen_knob_parse(PEN_KNOB_SECONDS, texts[i], &seconds));
        assert_true(seconds == PEN_KNOB_SECONDS_MAX);
    }
    assert_false(pen_knob_parse(PEN_KNOB_SECONDS, texts[2], &seconds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_of_centuries_counts_as_thirty_years),
        cmocka_unit_test(bools_are_words_in_any_case),
        cmocka_unit_test(ints_have_a_sign_and_a_range),
        cmocka_unit_test(bytes_have_a_suffix_and_a_fraction),
        cmocka_unit_test(seconds_have_units),
        cmocka_unit_test(reals_have_a_sign_a_fraction_and_an_exponent),
        cmocka_unit_test(memory_is_a_size_or_a_fraction_of_process_or_host),
        cmocka_unit_test(ranges_hold_numbers_and_what_lies_between),
        cmocka_unit_test(a_text_is_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
