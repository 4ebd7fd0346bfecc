/* SPDX-License-Identifier: BSD-3-Clause */
/* strided_test.c: a box's simplest form: which levels vanish, merge, or are walked from their other
 * end. That forms are right is shown by vis_test.c; here, that they are simple. */
#include "vis/vis_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static char dest_memory[1], source_memory[1]; /* never touched */

static bool box_of(vis_box *box, size_t elem_len, size_t levels, const size_t *counts,
                   const ptrdiff_t *dest, const ptrdiff_t *source)
{
    const pen_vis_call call = { .name = "test",
                                .shape = PEN_VIS_STRIDED,
                                .dest = { .base = dest_memory, .strides = dest },
                                .source = { .base = source_memory, .strides = source },
                                .elem_len = elem_len,
                                .counts = counts,
                                .levels = levels };
    return vis_box_of(&call, NULL, box);
}

static void contiguous_levels_become_one_run(void **state)
{
    (void)state;
    vis_box box;
    const size_t counts[] = { 4, 1, 5, 3 };
    const ptrdiff_t strides[] = { 8, 999, 32, 160 };
    assert_true(box_of(&box, 8, 4, counts, strides, strides));
    assert_int_equal(box.level_count, 0);
    assert_int_equal(box.run_len, 8 * 4 * 5 * 3);
}

static void levels_in_any_order_become_one_run(void **state)
{
    (void)state;
    vis_box box;
    const size_t counts[] = { 3, 4, 5 };
    const ptrdiff_t strides[] = { 160, 8, 32 };
    assert_true(box_of(&box, 8, 3, counts, strides, strides));
    assert_int_equal(box.level_count, 0);
    assert_int_equal(box.run_len, 480);
}

static void levels_walked_backwards_on_both_sides_are_contiguous(void **state)
{
    (void)state;
    vis_box box;
    const size_t counts[] = { 4, 5 };
    const ptrdiff_t strides[] = { -8, 32 };
    assert_true(box_of(&box, 8, 2, counts, strides, strides));
    assert_int_equal(box.level_count, 0);
    assert_int_equal(box.run_len, 160);
    assert_ptr_equal(box.dest, (char *)((uintptr_t)dest_memory - 24));
    assert_ptr_equal(box.source, (char *)((uintptr_t)source_memory - 24));
}

static void a_reversal_remains_a_level_of_elements(void **state)
{
    (void)state;
    vis_box box;
    const size_t counts[] = { 4 };
    const ptrdiff_t up[] = { 8 }, down[] = { -8 };
    assert_true(box_of(&box, 8, 1, counts, down, up));
    assert_int_equal(box.level_count, 1);
    assert_int_equal(box.run_len, 8);
    assert_int_equal(box.levels[0].dest, 8);
    assert_int_equal(box.levels[0].source, -8);
}

static void levels_that_continue_one_another_with_gaps_are_one(void **state)
{
    (void)state;
    vis_box box;
    const size_t counts[] = { 4, 6, 2 };
    const ptrdiff_t dest[] = { 10, 40, 300 }, source[] = { 8, 32, 192 };
    assert_true(box_of(&box, 8, 3, counts, dest, source));
    assert_int_equal(box.level_count, 2);
    assert_int_equal(box.levels[0].count, 24);
    assert_int_equal(box.levels[1].count, 2);
}

static void many_levels_of_one_index_are_dropped(void **state)
{
    (void)state;
    vis_box box;
    size_t counts[200];
    ptrdiff_t strides[200];
    for (size_t i = 0; i < 200; i++) {
        counts[i] = 1;
        strides[i] = (ptrdiff_t)(i * 1000);
    }
    assert_true(box_of(&box, 64, 200, counts, strides, strides));
    assert_int_equal(box.level_count, 0);
    assert_int_equal(box.run_len, 64);
}

static void a_box_without_elements_is_nothing(void **state)
{
    (void)state;
    vis_box box;
    const size_t counts[] = { (size_t)1 << 63, (size_t)1 << 63, 0 };
    const ptrdiff_t strides[] = { 1, 1, 1 };
    assert_false(box_of(&box, 8, 3, counts, strides, strides));
    assert_false(box_of(&box, 0, 0, NULL, NULL, NULL));
    assert_true(box_of(&box, 8, 0, NULL, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contiguous_levels_become_one_run),
        cmocka_unit_test(levels_in_any_order_become_one_run),
        cmocka_unit_test(levels_walked_backwards_on_both_sides_are_contiguous),
        cmocka_unit_test(a_reversal_remains_a_level_of_elements),
        cmocka_unit_test(levels_that_continue_one_another_with_gaps_are_one),
        cmocka_unit_test(many_levels_of_one_index_are_dropped),
        cmocka_unit_test(a_box_without_elements_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
