/* SPDX-License-Identifier: BSD-3-Clause */
/* window_test.c: the window of sequence numbers, and the ranges by which it is described, against a
 * list of what has arrived. */
#include "reliable/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { ROUNDS = 2000, RANGES = 14 };

typedef struct model {
    bool has[PEN_REL_WINDOW]; /* by number minus `start`, where the window's base is at first */
    uint32_t start;
} model;

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 7;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % below;
}

/* Every range has arrived as a whole, and neither of its neighbours has. */
static void check_ranges(const model *all, const pen_rel_window *window,
                         const pen_rel_range *ranges, uint32_t count)
{
    uint32_t behind = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t first = ranges[i].first + window->base - all->start;
        assert_true(first > 0 && first + ranges[i].count <= PEN_REL_WINDOW);
        assert_true(ranges[i].count > 0);
        assert_true(i == 0 || ranges[i].first > behind);
        assert_false(all->has[first - 1]);
        for (uint32_t j = 0; j < ranges[i].count; j++)
            assert_true(all->has[first + j]);
        behind = (uint32_t)ranges[i].first + ranges[i].count;
        assert_false(behind + window->base - all->start < PEN_REL_WINDOW &&
                     all->has[behind + window->base - all->start]);
    }
}

static bool is_described(const pen_rel_window *window, const pen_rel_range *ranges, uint32_t count,
                         uint32_t sequence)
{
    const uint32_t ahead = sequence - window->base;
    for (uint32_t i = 0; i < count; i++)
        if (ahead >= ranges[i].first && ahead < (uint32_t)ranges[i].first + ranges[i].count)
            return true;
    return false;
}

static uint32_t count_ranges(const model *all, uint32_t from, uint32_t *lowest, uint32_t *highest)
{
    uint32_t count = 0;
    for (uint32_t i = from + 1; i < PEN_REL_WINDOW; i++) {
        if (all->has[i])
            *highest = i;
        if (all->has[i] && !all->has[i - 1]) {
            *lowest = count == 0 ? i : *lowest;
            count++;
        }
    }
    return count;
}

/* The ranges are true, in whatever order frames arrive. All are there if there is room. If not, the
 * lowest, the highest and the one that was heard last are among them. */
static void ranges_describe_what_arrived(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint32_t start = draw(2) == 0 ? UINT32_MAX - draw(PEN_REL_WINDOW) : draw(1000);
        model all = { .start = start };
        pen_rel_window window = { .base = start, .high = start };
        const uint32_t arrivals = 1 + draw(400), span = 2 + draw(PEN_REL_WINDOW - 2);
        uint32_t heard = start;
        for (uint32_t i = 0; i < arrivals; i++) {
            const uint32_t at = 1 + draw(span - 1);
            heard = start + at;
            assert_int_equal(pen_rel_window_look(&window, heard),
                             all.has[at] ? PEN_REL_SEEN : PEN_REL_NEW);
            if (!all.has[at])
                pen_rel_window_add(&window, heard);
            all.has[at] = true;
        }
        assert_true(window.base == start); /* number `start` never arrives */
        const uint32_t max = draw(RANGES + 1);
        pen_rel_range ranges[RANGES];
        uint32_t lowest = 0, highest = 0;
        const uint32_t total = count_ranges(&all, 0, &lowest, &highest);
        const uint32_t count = pen_rel_window_ranges(&window, heard, ranges, max);
        assert_int_equal(count, total < max ? total : max);
        check_ranges(&all, &window, ranges, count);
        if (max >= 3) {
            assert_true(is_described(&window, ranges, count, start + lowest));
            assert_true(is_described(&window, ranges, count, start + highest));
        }
        if (max >= 1)
            assert_true(is_described(&window, ranges, count, heard));
    }
}

static void nothing_is_described_without_a_gap(void **state)
{
    (void)state;
    pen_rel_window window = { .base = UINT32_MAX - 2, .high = UINT32_MAX - 2 };
    pen_rel_range ranges[RANGES];
    for (uint32_t i = 0; i < 6; i++)
        pen_rel_window_add(&window, UINT32_MAX - 2 + i);
    assert_int_equal(window.base, 3);
    assert_int_equal(pen_rel_window_ranges(&window, 2, ranges, RANGES), 0);
    pen_rel_window_add(&window, 4);
    assert_int_equal(pen_rel_window_ranges(&window, 77, ranges, RANGES), 1);
    assert_int_equal(ranges[0].first, 1);
    assert_int_equal(ranges[0].count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_describe_what_arrived),
        cmocka_unit_test(nothing_is_described_without_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
