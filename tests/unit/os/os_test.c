/* SPDX-License-Identifier: BSD-3-Clause */
/* os_test.c: the thin calls: clock, cores, random bytes, stack. */
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sched.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void time_passes_and_never_runs_backwards(void **state)
{
    (void)state;
    uint64_t before = pen_now_ns();
    usleep(2000);
    uint64_t after = pen_now_ns();
    assert_true(after - before >= 2000000);
    assert_true(after - before < 10000000000u);
}

static void a_bound_process_may_use_one_core(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(pen_cores_allowed("/nonexistent"), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(pen_cores_allowed("/nonexistent"), CPU_COUNT(&all));
}

static void forced_switches_only_grow(void **state)
{
    (void)state;
    uint64_t before = pen_switches_forced();
    for (int i = 0; i < 100; i++)
        sched_yield();
    assert_true(pen_switches_forced() >= before);
}

static void random_bytes_differ_and_stay_in_bounds(void **state)
{
    (void)state;
    unsigned char a[34] = { 0 }, b[34] = { 0 };
    pen_random(a + 1, 32);
    pen_random(b + 1, 32);
    assert_memory_not_equal(a + 1, b + 1, 32);
    assert_int_equal(a[0] | a[33], 0);
    pen_random(NULL, 0);
}

static void a_page_is_a_power_of_two(void **state)
{
    (void)state;
    size_t len = pen_page_len();
    assert_true(len >= 4096 && (len & (len - 1)) == 0);
}

static void a_backtrace_names_a_frame_a_line(void **state)
{
    (void)state;
    int ends[2];
    char text[8192];
    assert_int_equal(pipe(ends), 0);
    assert_true(pen_backtrace(ends[1]));
    close(ends[1]);
    ssize_t len = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    assert_true(len > 0);
    text[len] = '\0';
    assert_non_null(strchr(text, '\n'));
    assert_null(strstr(text, "pen_backtrace"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_passes_and_never_runs_backwards),
        cmocka_unit_test(a_bound_process_may_use_one_core),
        cmocka_unit_test(forced_switches_only_grow),
        cmocka_unit_test(random_bytes_differ_and_stay_in_bounds),
        cmocka_unit_test(a_page_is_a_power_of_two),
        cmocka_unit_test(a_backtrace_names_a_frame_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
