/* SPDX-License-Identifier: BSD-3-Clause */
/* counter_test.c: whether the time-stamp counter is used, which rate is taken, and its arithmetic.
 */
#include "tools/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MEASURED_HZ 2.0e9

/* A file with this text, to be unlinked. */
static char *write_file(const char *text)
{
    char *path = strdup("/tmp/pen_counter_XXXXXX");
    assert_non_null(path);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

static double rate_within(double bound, const char *wanted, const char *cpuinfo, uint64_t *lines)
{
    pen_log log;
    pen_log_init(&log, "test");
    log.fd = -1;
    pen_tools_config config;
    assert_int_equal(pen_knob_read(&log, pen_tools_knobs, &config, NULL, NULL), PEN_OK);
    config.tsc_rate = wanted;
    log.line_count = 0;
    const pen_tools_rate measured = { MEASURED_HZ, bound };
    double hz = pen_tools_counter_hz(&config, measured, cpuinfo, &log);
    *lines = log.line_count;
    return hz;
}

static double rate(const char *wanted, const char *cpuinfo, uint64_t *lines)
{
    return rate_within(0, wanted, cpuinfo, lines);
}

static void a_clock_that_the_kernel_fled_to_rules_the_counter_out(void **state)
{
    (void)state;
    static const char *const names[] = { "hpet\n", "acpi_pm\n", "jiffies\n" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = write_file(names[i]);
        assert_false(pen_tools_counter_usable(path));
        unlink(path);
        free(path);
    }
}

static void the_kernel_s_trust_leaves_it_to_the_processor(void **state)
{
    (void)state;
    char *path = write_file("tsc\n");
    assert_int_equal(pen_tools_counter_usable(path), pen_tools_counter_usable("/nowhere"));
    unlink(path);
    free(path);
}

static void by_default_the_rate_is_what_was_measured(void **state)
{
    (void)state;
    uint64_t lines;
    assert_true(rate("walltime", NULL, &lines) == MEASURED_HZ);
    assert_int_equal(lines, 0);
    assert_true(rate(NULL, NULL, &lines) == MEASURED_HZ);
}

static void a_rate_in_hz_is_taken_if_it_is_near_the_truth(void **state)
{
    (void)state;
    uint64_t lines;
    assert_true(rate("2000000100", NULL, &lines) == 2000000100.0);
    assert_int_equal(lines, 0);
    assert_true(rate("2004000000", NULL, &lines) == 2004000000.0);
    assert_int_equal(lines, 1); /* a warning */
    assert_true(rate("2100000000", NULL, &lines) == MEASURED_HZ);
    assert_int_equal(lines, 1);
    assert_true(rate("soon", NULL, &lines) == MEASURED_HZ);
    assert_int_equal(lines, 1);
    assert_true(rate("-5", NULL, &lines) == MEASURED_HZ);
    assert_int_equal(lines, 1);
}

static void an_uncertain_measurement_judges_no_rate_within_its_error(void **state)
{
    (void)state;
    uint64_t lines;
    assert_true(rate_within(0.01, "2004000000", NULL, &lines) == 2004000000.0);
    assert_int_equal(lines, 0);
    assert_true(rate_within(0.01, "2100000000", NULL, &lines) == MEASURED_HZ);
    assert_int_equal(lines, 1);
}

static void a_stated_rate_is_believed_if_the_measurement_allows_it(void **state)
{
    (void)state;
    const pen_tools_rate rough = { MEASURED_HZ, 0.01 }, fine = { MEASURED_HZ, 1e-4 };
    assert_true(pen_tools_rate_choose(rough, 2.01e9).hz == 2.01e9);
    assert_true(pen_tools_rate_choose(rough, 2.01e9).bound == PEN_TOOLS_STATED_BOUND);
    assert_true(pen_tools_rate_choose(rough, 2.1e9).hz == MEASURED_HZ);   /* it cannot be true */
    assert_true(pen_tools_rate_choose(rough, 0).hz == MEASURED_HZ);       /* no source states a
                                                                           * rate */
    assert_true(pen_tools_rate_choose(fine, 2.0001e9).hz == MEASURED_HZ); /* measured better */
}

static void cpuinfo_gives_the_nominal_rate_before_the_present_one(void **state)
{
    (void)state;
    uint64_t lines;
    char *path = write_file("processor\t: 0\nmodel name\t: Some(R) CPU @ 2.00GHz\n"
                            "cpu MHz\t\t: 2001.000\n");
    assert_true(rate("cpuinfo", path, &lines) == 2.0e9);
    unlink(path);
    free(path);
    path = write_file("processor\t: 0\nmodel name\t: Other CPU\ncpu MHz\t\t: 2000.500\n");
    assert_true(rate("cpuinfo", path, &lines) == 2000.5e6);
    unlink(path);
    free(path);
    assert_true(rate("cpuinfo", "/nowhere", &lines) == MEASURED_HZ);
    assert_int_equal(lines, 1);
}

static void ticks_convert_to_nanoseconds_without_overflow(void **state)
{
    (void)state;
    static const double rates[] = { 24e6, 1e9, 2.2e9, 3.999e9 };
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        uint64_t factor = pen_tools_tick_factor(rates[i]);
        for (uint64_t ticks = 1; ticks < UINT64_C(1) << 56; ticks = ticks * 3 + 1) {
            long double exact = (long double)ticks * 1e9L / rates[i];
            if (exact > 1.8e19L)
                break;
            long double off = (long double)pen_tools_ticks_to_ns(ticks, factor) - exact;
            assert_true(off <= 1 + exact * 1e-9L && off >= -1 - exact * 1e-9L);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_the_kernel_fled_to_rules_the_counter_out),
        cmocka_unit_test(the_kernel_s_trust_leaves_it_to_the_processor),
        cmocka_unit_test(by_default_the_rate_is_what_was_measured),
        cmocka_unit_test(a_rate_in_hz_is_taken_if_it_is_near_the_truth),
        cmocka_unit_test(an_uncertain_measurement_judges_no_rate_within_its_error),
        cmocka_unit_test(a_stated_rate_is_believed_if_the_measurement_allows_it),
        cmocka_unit_test(cpuinfo_gives_the_nominal_rate_before_the_present_one),
        cmocka_unit_test(ticks_convert_to_nanoseconds_without_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
