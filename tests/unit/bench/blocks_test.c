/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks_test.c: how a benchmark judges its blocks: disturbed ones do not count, one lucky block
 * condemns no other, and without enough blocks there is no result. */
#include "../../../bench/blocks.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PAIRS = 40, NEEDED = 10 };

/* 40 calm pairs: 120 to 139 ns for the library, 100 to 104 for the yardstick. */
static void calm_pairs(block_pair pairs[PAIRS])
{
    for (unsigned i = 0; i < PAIRS; i++)
        pairs[i] = (block_pair){ .ours_ns = 120 + i % 20, .raw_ns = 100 + i % 5 };
}

static void calm_pairs_all_count(void **state)
{
    (void)state;
    block_pair pairs[PAIRS];
    calm_pairs(pairs);
    const block_result result = block_judge(pairs, PAIRS, NEEDED);
    assert_int_equal(result.pairs, PAIRS);
    assert_int_equal(result.rejected, 0);
    assert_true(result.ratio > 1.2 && result.ratio < 1.35);
    assert_true(result.min <= result.quarter1 && result.quarter1 <= result.ratio);
    assert_true(result.ratio <= result.quarter3);
    assert_true(result.difference_ns > 20 && result.difference_ns < 35);
}

static void the_median_is_that_of_the_ratios_of_neighbours(void **state)
{
    (void)state;
    block_pair pairs[PAIRS];
    for (unsigned i = 0; i < PAIRS; i++) { /* both drift together: every pair says two */
        const double drift = 1 + 0.001 * i;
        pairs[i] = (block_pair){ .ours_ns = 200 * drift, .raw_ns = 100 * drift };
    }
    const block_result result = block_judge(pairs, PAIRS, NEEDED);
    assert_true(result.ratio > 1.9999 && result.ratio < 2.0001);
}

static void a_pair_that_lost_its_core_does_not_count(void **state)
{
    (void)state;
    block_pair pairs[PAIRS];
    calm_pairs(pairs);
    const block_result before = block_judge(pairs, PAIRS, NEEDED);
    for (unsigned i = 0; i < 15; i++) {
        pairs[2 * i].lost = 2 * BLOCK_LOST_MAX;
        pairs[2 * i].ours_ns = 100000;
    }
    const block_result result = block_judge(pairs, PAIRS, NEEDED);
    assert_int_equal(result.lost, 15);
    assert_int_equal(result.rejected, 15);
    assert_true(result.ratio < 1.1 * before.ratio);
}

static void a_short_switch_leaves_a_pair_in(void **state)
{
    (void)state;
    block_pair pairs[PAIRS];
    calm_pairs(pairs);
    for (unsigned i = 0; i < PAIRS; i++)
        pairs[i].lost = BLOCK_LOST_MAX / 2;
    assert_int_equal(block_judge(pairs, PAIRS, NEEDED).rejected, 0);
}

static void a_pair_during_which_the_hypervisor_was_elsewhere_does_not_count(void **state)
{
    (void)state;
    block_pair pairs[PAIRS];
    calm_pairs(pairs);
    pairs[7].stolen = pairs[8].stolen = true;
    const block_result result = block_judge(pairs, PAIRS, NEEDED);
    assert_int_equal(result.stolen, 2);
    assert_int_equal(result.rejected, 2);
}

static void a_slow_yardstick_does_not_flatter_the_library(void **state)
{
    (void)state;
    block_pair pairs[PAIRS];
    calm_pairs(pairs);
    for (unsigned i = 0; i < 20; i++)
        pairs[i].raw_ns = 400;
    const block_result result = block_judge(pairs, PAIRS, NEEDED);
    assert_int_equal(result.slow, 20);
    assert_true(result.ratio > 1.2);
    assert_true(result.raw_ns < 110);
}

static void one_lucky_block_condemns_nobody(void **state)
{
    (void)state;
    block_pair pairs[PAIRS];
    calm_pairs(pairs);
    pairs[3].raw_ns = 10;
    const block_result result = block_judge(pairs, PAIRS, NEEDED);
    assert_int_equal(result.rejected, 0);
}

static void a_disturbed_block_is_nobodys_best(void **state)
{
    (void)state;
    block_pair pairs[PAIRS];
    calm_pairs(pairs);
    for (unsigned i = 0; i < 20; i++) {
        pairs[i].raw_ns = 50;
        pairs[i].lost = 0.5;
    }
    const block_result result = block_judge(pairs, PAIRS, NEEDED);
    assert_int_equal(result.lost, 20);
    assert_int_equal(result.rejected, 20);
}

static void nothing_left_is_a_failure_and_never_a_pass(void **state)
{
    (void)state;
    block_pair pairs[PAIRS];
    calm_pairs(pairs);
    for (unsigned i = 0; i < PAIRS; i++)
        pairs[i].lost = 1;
    const block_result result = block_judge(pairs, PAIRS, 0);
    assert_int_equal(result.rejected, PAIRS);
    assert_true(result.ratio == 0);
    assert_false(block_passes(&result, 1000));
    assert_false(block_passes(&(block_result){ 0 }, 1000));
}

static void too_few_left_is_a_failure_too(void **state)
{
    (void)state;
    block_pair pairs[PAIRS];
    calm_pairs(pairs);
    for (unsigned i = 0; i < PAIRS - NEEDED + 1; i++)
        pairs[i].lost = 1;
    const block_result few = block_judge(pairs, PAIRS, NEEDED);
    assert_false(block_passes(&few, 1000));
    pairs[0].lost = 0;
    const block_result enough = block_judge(pairs, PAIRS, NEEDED);
    assert_int_equal(PAIRS - enough.rejected, NEEDED);
    assert_true(block_passes(&enough, 1.35));
    assert_false(block_passes(&enough, 1.1));
}

static void waiting_without_a_core_is_time_lost_and_computing_is_not(void **state)
{
    (void)state;
    const block_clock start = block_clock_start();
    const struct timespec nap = { .tv_nsec = 20000000 };
    clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    assert_true(block_clock_lost(block_clock_since(start)) > 0.9);

    /* On a crowded machine many a millisecond is lost, but not every one. */
    double least = 1;
    for (int try_i = 0; try_i < 2000 && least > BLOCK_LOST_MAX; try_i++) {
        const block_clock busy = block_clock_start();
        while (block_now_ns() - busy.wall_ns < 1e6)
            ;
        const double lost = block_clock_lost(block_clock_since(busy));
        least = lost < least ? lost : least;
    }
    assert_true(least <= BLOCK_LOST_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calm_pairs_all_count),
        cmocka_unit_test(the_median_is_that_of_the_ratios_of_neighbours),
        cmocka_unit_test(a_pair_that_lost_its_core_does_not_count),
        cmocka_unit_test(a_short_switch_leaves_a_pair_in),
        cmocka_unit_test(a_pair_during_which_the_hypervisor_was_elsewhere_does_not_count),
        cmocka_unit_test(a_slow_yardstick_does_not_flatter_the_library),
        cmocka_unit_test(one_lucky_block_condemns_nobody),
        cmocka_unit_test(a_disturbed_block_is_nobodys_best),
        cmocka_unit_test(nothing_left_is_a_failure_and_never_a_pass),
        cmocka_unit_test(too_few_left_is_a_failure_too),
        cmocka_unit_test(waiting_without_a_core_is_time_lost_and_computing_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
