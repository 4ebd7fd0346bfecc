/* SPDX-License-Identifier: BSD-3-Clause */
/* translate_test.c: ranks to job ranks and back, of teams whose job ranks follow a rule and of
 * teams that list them, held against a search through all members. */
#include "team/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { JOB_SIZE = 5000 };

static uint32_t search(const pen_team *team, uint32_t jobrank)
{
    for (uint32_t rank = 0; rank < team->view.size; rank++)
        if (pen_team_jobrank(team, rank) == jobrank)
            return rank;
    return PEN_TEAM_RANK_NONE;
}

static void hold_to_search(const pen_team *team)
{
    for (uint32_t jobrank = 0; jobrank < JOB_SIZE + 10; jobrank++)
        assert_int_equal(pen_team_rank_of(team, jobrank), search(team, jobrank));
    assert_int_equal(pen_team_rank_of(team, UINT32_MAX), PEN_TEAM_RANK_NONE);
}

static void a_rule_is_undone_whatever_its_stride(void **state)
{
    (void)state;
    static const struct {
        uint32_t first, size;
        int32_t stride;
    } rows[] = { { 0, 700, 1 },    { 17, 700, 1 }, { 3, 700, 7 }, { 4999, 700, -1 },
                 { 4999, 12, -3 }, { 5, 1, 1 },    { 5, 2, 0 },   { 700, 101, -7 } };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        pen_team team = { .view = { .size = rows[i].size },
                          .first = rows[i].first,
                          .stride = (uint32_t)rows[i].stride };
        assert_int_equal(pen_team_jobrank(&team, rows[i].size - 1),
                         (int64_t)rows[i].first + (int64_t)(rows[i].size - 1) * rows[i].stride);
        hold_to_search(&team);
    }
}

static const uint32_t *sorted_by; /* values that qsort's function compares */

static int by_jobrank(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (sorted_by[a] != sorted_by[b])
        return sorted_by[a] < sorted_by[b] ? -1 : 1;
    return a < b ? -1 : 1;
}

static void a_list_is_searched_and_the_lowest_rank_of_a_process_is_found(void **state)
{
    (void)state;
    enum { SIZE = 1000 };
    uint32_t jobranks[SIZE], order[SIZE];
    srand(1);
    for (uint32_t size = 1; size <= SIZE; size += 333) {
        for (uint32_t i = 0; i < size; i++) {
            jobranks[i] = (uint32_t)rand() % (JOB_SIZE / 4); /* some twice: several endpoints */
            order[i] = i;
        }
        sorted_by = jobranks;
        qsort(order, size, sizeof *order, by_jobrank);
        pen_team team = { .view = { .size = size }, .jobranks = jobranks, .by_jobrank = order };
        hold_to_search(&team);
    }
}

static void in_a_pair_ranks_are_job_ranks(void **state)
{
    (void)state;
    pen_job job = { .size = 12 };
    pen_team pair = { .is_pair = true, .job = &job, .stride = 1 };
    assert_int_equal(pen_team_rank_of(&pair, 11), 11);
    assert_int_equal(pen_team_rank_of(&pair, 12), PEN_TEAM_RANK_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_is_undone_whatever_its_stride),
        cmocka_unit_test(a_list_is_searched_and_the_lowest_rank_of_a_process_is_found),
        cmocka_unit_test(in_a_pair_ranks_are_job_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
