/* SPDX-License-Identifier: BSD-3-Clause */
/* copies_test.c: the table of copies follows from measured times: memcpy unless a way wins
 * everywhere. Measuring takes little time, leaves no process behind and keeps the affinity mask. A
 * variable overrides it. */
#include "boot/copies.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

enum { USUAL = 1000 };

/* All ways take the same time, the way past the caches, too. */
static pen_copies_times alike(void)
{
    pen_copies_times times = { .points = PEN_COPIES_POINTS_MAX };
    for (unsigned point = 0; point < PEN_COPIES_POINTS_MAX; point++) {
        times.ticks[point] = 2 * USUAL;
        for (unsigned place = 0; place < PEN_COPIES_PLACES; place++)
            for (unsigned way = 0; way < PEN_COPIES_WAYS; way++)
                times.ns[point][place][way] = USUAL;
    }
    return times;
}

static void set(pen_copies_times *times, unsigned way, uint64_t ns)
{
    for (unsigned point = 0; point < PEN_COPIES_POINTS_MAX; point++)
        for (unsigned place = 0; place < PEN_COPIES_PLACES; place++)
            times->ns[point][place][way] = ns;
}

static void way_that_wins_by_too_little_is_not_taken(void **state)
{
    (void)state;
    pen_copies_times times = alike();
    pen_copy_table table;
    memset(&table, 0xff, sizeof table);
    set(&times, PEN_COPY_MOVES_32, USUAL * 98 / 100);
    pen_copies_judge_own(&times, &table);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++) {
        assert_int_equal(table.own[class], PEN_COPY_LIBC);
        assert_int_equal(table.other[class], PEN_COPY_LIBC);
    }
}

static void best_way_that_wins_is_taken(void **state)
{
    (void)state;
    pen_copies_times times = alike();
    pen_copy_table table = { 0 };
    set(&times, PEN_COPY_MOVES_32, USUAL * 9 / 10);
    set(&times, PEN_COPY_MOVES_64, USUAL * 8 / 10);
    pen_copies_judge_own(&times, &table);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++) {
        assert_int_equal(table.own[class], PEN_COPY_MOVES_64);
        assert_int_equal(table.other[class], PEN_COPY_MOVES_64); /* nothing else is known */
    }
    set(&times, PEN_COPY_MOVES_64, 0); /* not measured */
    pen_copies_judge_own(&times, &table);
    assert_int_equal(table.own[0], PEN_COPY_MOVES_32);
}

static void way_that_loses_at_one_place_is_not_taken(void **state)
{
    (void)state;
    pen_copies_times times = alike();
    pen_copy_table table = { 0 };
    set(&times, PEN_COPY_STRING, USUAL / 2);
    times.ns[1][1][PEN_COPY_STRING] = USUAL * 104 / 100;
    pen_copies_judge_own(&times, &table);
    assert_int_equal(table.own[0], PEN_COPY_LIBC); /* the class ends where it loses */
    assert_int_equal(table.own[1], PEN_COPY_LIBC);
    assert_int_equal(table.own[2], PEN_COPY_STRING);
}

static void way_that_halves_the_time_may_lose_a_little_at_one_place(void **state)
{
    (void)state;
    pen_copies_times times = alike();
    pen_copy_table table = { 0 };
    set(&times, PEN_COPY_MOVES_32, 2 * USUAL);
    set(&times, PEN_COPY_MOVES_64, 2 * USUAL);
    for (unsigned point = 0; point < 5; point++) { /* memcpy is slow at the second place */
        times.ns[point][1][PEN_COPY_LIBC] = 10 * USUAL;
        times.ns[point][0][PEN_COPY_STRING] = USUAL * 109 / 100;
    }
    pen_copies_judge_own(&times, &table);
    assert_int_equal(table.own[0], PEN_COPY_STRING);
    times.ns[1][0][PEN_COPY_STRING] = USUAL * 111 / 100;
    pen_copies_judge_own(&times, &table);
    assert_int_equal(table.own[0], PEN_COPY_LIBC);
    assert_int_equal(table.own[2], PEN_COPY_STRING);
}

/* Longer copies are measured at one place only, where all ways are alike. */
static void way_that_wins_at_shorter_lengths_is_taken_for_long_ones(void **state)
{
    (void)state;
    pen_copies_times times = alike();
    pen_copy_table table = { 0 };
    for (unsigned point = 0; point < 5; point++)
        times.ns[point][1][PEN_COPY_MOVES_32] = USUAL / 10;
    pen_copies_judge_own(&times, &table);
    assert_int_equal(table.own[PEN_COPY_CLASSES - 1], PEN_COPY_MOVES_32);
    times.ns[PEN_COPY_CLASSES - 1][0][PEN_COPY_MOVES_32] = USUAL * 111 / 100;
    pen_copies_judge_own(&times, &table);
    assert_int_equal(table.own[PEN_COPY_CLASSES - 1], PEN_COPY_LIBC);
}

/* Times of what is not repeated vary. */
static void way_that_another_halves_is_not_taken(void **state)
{
    (void)state;
    pen_copies_times times = alike();
    pen_copy_table table = { 0 };
    set(&times, PEN_COPY_STRING, USUAL * 9 / 10);
    for (unsigned point = 0; point < PEN_COPIES_POINTS_MAX; point++)
        times.ns[point][1][PEN_COPY_MOVES_64] = USUAL / 10;
    set(&times, PEN_COPY_LIBC, USUAL);
    pen_copies_judge_own(&times, &table);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++)
        assert_int_equal(table.own[class], PEN_COPY_MOVES_64);
    for (unsigned point = 0; point < PEN_COPIES_POINTS_MAX; point++)
        times.ns[point][0][PEN_COPY_MOVES_64] = USUAL * 2; /* it loses elsewhere */
    pen_copies_judge_own(&times, &table);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++)
        assert_int_equal(table.own[class], PEN_COPY_LIBC);
}

/* As if time had been up. */
static void lengths_that_were_not_measured_follow_the_longest_that_were(void **state)
{
    (void)state;
    pen_copies_times times = alike();
    pen_copy_table table = { 0 };
    times.points = 3;
    set(&times, PEN_COPY_MOVES_32, USUAL / 2);
    memset(times.ns[3], 0, sizeof times.ns[3]);
    times.ns[4][0][PEN_COPY_LIBC] = times.ns[4][1][PEN_COPY_LIBC] = 1;
    pen_copies_judge_own(&times, &table);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++)
        assert_int_equal(table.own[class], PEN_COPY_MOVES_32);
}

/* Longer copies are measured at the first place only. */
static void way_that_loses_at_shorter_lengths_is_not_taken_for_long_ones(void **state)
{
    (void)state;
    pen_copies_times times = alike();
    pen_copy_table table = { 0 };
    set(&times, PEN_COPY_STRING, USUAL / 2);
    times.ns[4][1][PEN_COPY_STRING] = USUAL * 10;
    pen_copies_judge_own(&times, &table);
    assert_int_equal(table.own[PEN_COPY_CLASSES - 1], PEN_COPY_LIBC);
    assert_int_equal(table.own[0], PEN_COPY_STRING);
}

static void past_the_caches_only_if_it_wins_by_a_tenth(void **state)
{
    (void)state;
    pen_copies_times times = alike();
    pen_copy_table table = { 0 };
    times.points = 5;
    set(&times, PEN_COPIES_PAST, USUAL * 91 / 100);
    times.ns[2][0][PEN_COPIES_PAST] = times.ns[2][1][PEN_COPIES_PAST] = USUAL * 89 / 100;
    times.ns[4][0][PEN_COPIES_PAST] = times.ns[4][1][PEN_COPIES_PAST] = USUAL / 2;
    pen_copies_judge_other(&times, &table);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++)
        assert_int_equal(table.past[class], class == 2 || class >= 4);
    /* A faster way through the caches counts, not memcpy alone. */
    set(&times, PEN_COPY_MOVES_32, USUAL * 55 / 100);
    pen_copies_judge_other(&times, &table);
    assert_false(table.past[2]);
    assert_int_equal(table.other[2], PEN_COPY_MOVES_32);
    assert_int_equal(table.ticks[4], 2 * USUAL);
    assert_int_equal(table.ticks[6], 8 * USUAL); /* four times the length */
    pen_copies_times none = { .points = 5 };
    pen_copies_judge_other(&none, &table);
    assert_false(table.past[4]);
    assert_int_equal(table.other[4], PEN_COPY_LIBC);
}

/* The time that this process had a core: other programs may have the cores meanwhile. */
static uint64_t cpu_ns(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void measuring_is_short_and_leaves_nothing(void **state)
{
    (void)state;
    enum { TRIES = 200 };
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < TRIES && least > PEN_COPIES_LIMIT_NS; i++) {
        pen_copy_table table;
        uint64_t begun = cpu_ns();
        pen_copies_choose(PEN_COPIES_MEASURED, 2, &table);
        uint64_t took = cpu_ns() - begun;
        least = took < least ? took : least;
        for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++) {
            assert_true(pen_copy_usable((pen_copy_way)table.own[class]));
            assert_true(pen_copy_usable((pen_copy_way)table.other[class]));
        }
    }
    assert_true(least <= PEN_COPIES_LIMIT_NS);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    assert_int_equal(waitpid(-1, NULL, __WALL), -1);
    assert_int_equal(errno, ECHILD);
}

static void name_of_a_way_chooses_it_for_all_lengths(void **state)
{
    (void)state;
    for (unsigned way = 0; way < PEN_COPY_WAYS; way++) {
        pen_copy_table table;
        const char *word = pen_copies_word((pen_copy_way)way);
        assert_int_equal(pen_copies_known(word), pen_copy_usable((pen_copy_way)way));
        pen_copies_choose(word, 2, &table);
        for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++) {
            assert_int_equal(table.own[class], way);
            assert_int_equal(table.other[class], way);
            assert_int_equal(table.ticks[class], 0);
        }
    }
    assert_true(pen_copies_known(PEN_COPIES_MEASURED));
    assert_false(pen_copies_known("fastest"));
    assert_false(pen_copies_known(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(way_that_wins_by_too_little_is_not_taken),
        cmocka_unit_test(best_way_that_wins_is_taken),
        cmocka_unit_test(way_that_loses_at_one_place_is_not_taken),
        cmocka_unit_test(way_that_halves_the_time_may_lose_a_little_at_one_place),
        cmocka_unit_test(way_that_wins_at_shorter_lengths_is_taken_for_long_ones),
        cmocka_unit_test(way_that_another_halves_is_not_taken),
        cmocka_unit_test(lengths_that_were_not_measured_follow_the_longest_that_were),
        cmocka_unit_test(way_that_loses_at_shorter_lengths_is_not_taken_for_long_ones),
        cmocka_unit_test(past_the_caches_only_if_it_wins_by_a_tenth),
        cmocka_unit_test(measuring_is_short_and_leaves_nothing),
        cmocka_unit_test(name_of_a_way_chooses_it_for_all_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
