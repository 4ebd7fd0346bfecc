/* SPDX-License-Identifier: BSD-3-Clause */
/* members_test.c: the members of a team and their order: by color and key, and the checks of lists.
 */
#include "team/team_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- by color and key ----------------------------------------------------------------------- */

static void those_who_join_with_the_color_are_taken_by_key_then_by_rank(void **state)
{
    (void)state;
    enum { RANKS = 300 };
    team_offer offers[RANKS];
    team_place places[RANKS];
    srand(3);
    for (unsigned round = 0; round < 50; round++) {
        uint32_t wanted = 0;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            offers[rank] = (team_offer){ .joins = rand() % 5 != 0,
                                         .color = rand() % 3,
                                         .key = rand() % (int)(round + 1) - (int)round / 2 };
            wanted += offers[rank].joins && offers[rank].color == 1;
        }
        assert_int_equal(pen_team_order(offers, RANKS, 1, places), wanted);
        for (uint32_t i = 0; i < wanted; i++) {
            const team_offer *offer = &offers[places[i].rank];
            assert_true(offer->joins && offer->color == 1 && offer->key == places[i].key);
            if (i != 0 && places[i - 1].key == places[i].key)
                assert_true(places[i - 1].rank < places[i].rank);
            else if (i != 0)
                assert_true(places[i - 1].key < places[i].key);
        }
    }
}

static void the_smallest_and_largest_keys_are_compared_without_overflow(void **state)
{
    (void)state;
    team_offer offers[3] = { { 1, 0, INT32_MAX, 1, { 0 } },
                             { 1, 0, INT32_MIN, 1, { 0 } },
                             { 1, 0, 0, 1, { 0 } } };
    team_place places[3];
    assert_int_equal(pen_team_order(offers, 3, 0, places), 3);
    assert_int_equal(places[0].rank, 1);
    assert_int_equal(places[1].rank, 2);
    assert_int_equal(places[2].rank, 0);
}

static void who_does_not_join_is_in_no_team_whatever_its_color(void **state)
{
    (void)state;
    team_offer offers[2] = { { 0, 0, 0, 1, { 0 } }, { 1, 0, 0, 1, { 0 } } };
    team_place places[2];
    assert_int_equal(pen_team_order(offers, 2, 0, places), 1);
    assert_int_equal(places[0].rank, 1);
    assert_int_equal(pen_team_order(offers, 2, 7, places), 0);
}

/* ---- lists ---------------------------------------------------------------------------------- */

static void lists_that_differ_have_different_digests(void **state)
{
    (void)state;
    const gex_EP_Location_t lists[][3] = {
        { { 1, 0 }, { 2, 0 }, { 3, 0 } }, { { 2, 0 }, { 1, 0 }, { 3, 0 } },
        { { 1, 0 }, { 3, 0 }, { 2, 0 } }, { { 1, 1 }, { 2, 0 }, { 3, 0 } },
        { { 1, 0 }, { 2, 0 }, { 3, 1 } }, { { 0, 0 }, { 0, 0 }, { 0, 0 } },
        { { 1, 0 }, { 2, 0 }, { 4, 0 } }, { { 257, 0 }, { 2, 0 }, { 3, 0 } },
    };
    enum { LISTS = sizeof lists / sizeof *lists };
    for (unsigned i = 0; i < LISTS; i++) {
        for (unsigned other = 0; other < i; other++)
            assert_int_not_equal(pen_team_digest(lists[i], 3), pen_team_digest(lists[other], 3));
        assert_int_not_equal(pen_team_digest(lists[i], 3), pen_team_digest(lists[i], 2));
    }
}

static void the_digest_does_not_see_what_lies_between_fields(void **state)
{
    (void)state;
    gex_EP_Location_t one[2], other[2];
    memset(one, 0, sizeof one);
    memset(other, 0xff, sizeof other);
    for (uint32_t i = 0; i < 2; i++) {
        one[i].gex_rank = other[i].gex_rank = 40 + i;
        one[i].gex_ep_index = other[i].gex_ep_index = (uint16_t)i;
    }
    assert_int_equal(pen_team_digest(one, 2), pen_team_digest(other, 2));
}

static void only_equal_steps_are_a_rule(void **state)
{
    (void)state;
    uint32_t first = 77, stride = 77;
    const gex_EP_Location_t down[] = { { 9, 0 }, { 6, 0 }, { 3, 1 }, { 0, 0 } };
    assert_true(pen_team_rule(down, 4, &first, &stride));
    assert_int_equal(first, 9);
    assert_int_equal((int32_t)stride, -3);
    const gex_EP_Location_t crooked[] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 4, 0 } };
    assert_false(pen_team_rule(crooked, 4, &first, &stride));
    assert_true(pen_team_rule(crooked, 3, &first, &stride));
    assert_true(pen_team_rule(crooked + 3, 1, &first, &stride));
    assert_int_equal(first, 4);
    assert_int_equal(stride, 1);
}

static void members_named_twice_are_found_and_endpoints_of_one_rank_told_apart(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    gex_EP_Location_t members[COUNT];
    uint32_t order[COUNT], second = 0;
    for (uint32_t i = 0; i < COUNT; i++) /* 50 ranks with 4 endpoints each, mixed up */
        members[i] = (gex_EP_Location_t){ i * 7 % COUNT / 4, (uint16_t)(i * 7 % COUNT % 4 * 21) };
    pen_team_sort(members, COUNT, order);
    for (uint32_t i = 1; i < COUNT; i++)
        assert_true(members[order[i - 1]].gex_rank < members[order[i]].gex_rank ||
                    (members[order[i - 1]].gex_rank == members[order[i]].gex_rank &&
                     order[i - 1] < order[i]));
    assert_false(pen_team_twice(members, COUNT, order, &second));
    members[150] = members[20];
    pen_team_sort(members, COUNT, order);
    assert_true(pen_team_twice(members, COUNT, order, &second));
    assert_int_equal(second, 150);
}

static void ids_are_one_for_each_rank_and_number(void **state)
{
    (void)state;
    assert_true(pen_team_id(1, 2) != pen_team_id(2, 1));
    assert_true(pen_team_id(0, 1) != 0 && pen_team_id(UINT32_MAX, 1) != pen_team_id(0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_who_join_with_the_color_are_taken_by_key_then_by_rank),
        cmocka_unit_test(the_smallest_and_largest_keys_are_compared_without_overflow),
        cmocka_unit_test(who_does_not_join_is_in_no_team_whatever_its_color),
        cmocka_unit_test(lists_that_differ_have_different_digests),
        cmocka_unit_test(the_digest_does_not_see_what_lies_between_fields),
        cmocka_unit_test(only_equal_steps_are_a_rule),
        cmocka_unit_test(members_named_twice_are_found_and_endpoints_of_one_rank_told_apart),
        cmocka_unit_test(ids_are_one_for_each_rank_and_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
