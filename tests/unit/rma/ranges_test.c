/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges_test.c: the tree of ranges against a plain list. */
#include "rma/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { RANGES = 300, SPACE = 2000, ROUNDS = 20000 };

typedef struct plain {
    pen_range ranges[RANGES];
    bool in[RANGES];
} plain;

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static bool overlaps(const pen_range *range, uintptr_t first, uintptr_t last)
{
    return range->first <= last && first <= range->last;
}

static bool list_has(const plain *list, uintptr_t first, uintptr_t last, bool only_writes)
{
    for (unsigned i = 0; i < RANGES; i++)
        if (list->in[i] && (list->ranges[i].writes || !only_writes) &&
            overlaps(&list->ranges[i], first, last))
            return true;
    return false;
}

static void compare(const pen_ranges *tree, const plain *list, uint32_t *seed)
{
    uintptr_t first = 1 + next(seed) % SPACE, last = first + next(seed) % 40;
    bool only_writes = next(seed) % 2;
    const pen_range *found = pen_ranges_find(tree, first, last, only_writes);
    assert_int_equal(found != NULL, list_has(list, first, last, only_writes));
    if (found != NULL) {
        assert_true(overlaps(found, first, last));
        assert_true(found->writes || !only_writes);
    }
}

static void a_range_is_found_when_a_list_finds_one(void **state)
{
    (void)state;
    static plain list;
    pen_ranges tree = { NULL, 1 };
    uint32_t seed = 7;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = next(&seed) % RANGES;
        pen_range *range = &list.ranges[i];
        if (list.in[i]) {
            pen_ranges_remove(&tree, range);
        } else {
            range->first = 1 + next(&seed) % SPACE;
            range->last = range->first + next(&seed) % (round % 2 == 0 ? 3 : 100);
            range->writes = next(&seed) % 4 == 0;
            pen_ranges_add(&tree, range);
        }
        list.in[i] = !list.in[i];
        compare(&tree, &list, &seed);
    }
}

static unsigned depth_of(const pen_range *range)
{
    if (range == NULL)
        return 0;
    unsigned before = depth_of(range->before), after = depth_of(range->after);
    return 1 + (before > after ? before : after);
}

static void ascending_addresses_make_no_list_of_the_tree(void **state)
{
    (void)state;
    enum { MANY = 1 << 16 };
    pen_range *ranges = calloc(MANY, sizeof *ranges);
    assert_non_null(ranges);
    pen_ranges tree = { NULL, 0 };
    for (uintptr_t i = 0; i < MANY; i++) {
        ranges[i] = (pen_range){ .first = 1 + 8 * i, .last = 8 + 8 * i, .writes = true };
        pen_ranges_add(&tree, &ranges[i]);
    }
    assert_in_range(depth_of(tree.top), 17, 64);
    for (uintptr_t i = 0; i < MANY; i++) {
        assert_ptr_equal(pen_ranges_find(&tree, 3 + 8 * i, 4 + 8 * i, true), &ranges[i]);
        pen_ranges_remove(&tree, &ranges[i]);
    }
    assert_null(tree.top);
    free(ranges);
}

static void the_last_byte_of_the_address_space_can_be_in_use(void **state)
{
    (void)state;
    pen_ranges tree = { NULL, 0 };
    pen_range range = { .first = UINTPTR_MAX - 7, .last = UINTPTR_MAX, .writes = false };
    pen_ranges_add(&tree, &range);
    assert_ptr_equal(pen_ranges_find(&tree, UINTPTR_MAX, UINTPTR_MAX, false), &range);
    assert_null(pen_ranges_find(&tree, UINTPTR_MAX, UINTPTR_MAX, true));
    assert_null(pen_ranges_find(&tree, 1, UINTPTR_MAX - 8, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_is_found_when_a_list_finds_one),
        cmocka_unit_test(ascending_addresses_make_no_list_of_the_tree),
        cmocka_unit_test(the_last_byte_of_the_address_space_can_be_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
