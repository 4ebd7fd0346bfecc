/* SPDX-License-Identifier: BSD-3-Clause */
/* register_test.c: the handler table: fixed indices, chosen ones, and tables that are refused
 * whole. */
#include "pair.h"

static int open_rig(void **state)
{
    *state = pair_open();
    return 0;
}

static int close_rig(void **state)
{
    pair_close(*state);
    return 0;
}

static void handler(void) {}

static void free_indices_are_given_from_255_down_after_the_fixed_ones(void **state)
{
    pen_job *job = &((pair *)*state)->jobs[0];
    pen_am_entry table[] = {
        { .index = 0, .function = handler },
        { .index = 254, .function = handler },
        { .index = 0, .function = handler },
        { .index = 255, .function = handler },
    };
    assert_int_equal(pen_am_register(job, &job->log, table, 4), PEN_OK);
    assert_int_equal(table[0].index, 253);
    assert_int_equal(table[1].index, 254);
    assert_int_equal(table[2].index, 252);
    assert_int_equal(table[3].index, 255);
    pen_am_entry later = { .index = 0, .function = handler };
    assert_int_equal(pen_am_register(job, &job->log, &later, 1), PEN_OK);
    assert_int_equal(later.index, 251);
}

static void what_was_registered_is_found_under_its_index(void **state)
{
    pen_job *job = &((pair *)*state)->jobs[0];
    pen_am_entry entry = { 200, handler, PEN_AM_PROMISE_SHORT, 3, job, "name" };
    assert_int_equal(pen_am_register(job, &job->log, &entry, 1), PEN_OK);
    const pen_am_entry *found = &job->am->entries[200];
    assert_true(found->function == handler && found->cdata == job);
    assert_int_equal(found->index, 200);
    assert_int_equal(found->flags, PEN_AM_PROMISE_SHORT);
    assert_int_equal(found->arg_count, 3);
    assert_string_equal(found->name, "name");
}

static void a_table_with_one_bad_row_registers_nothing(void **state)
{
    pen_job *job = &((pair *)*state)->jobs[0];
    pen_am_entry low[] = { { .function = handler }, { .index = 127, .function = handler } };
    assert_int_equal(pen_am_register(job, &job->log, low, 2), PEN_ERR_ARGUMENT);
    assert_int_equal(low[0].index, 0);
    pen_am_entry twice[] = { { .index = 130, .function = handler },
                             { .index = 130, .function = handler } };
    assert_int_equal(pen_am_register(job, &job->log, twice, 2), PEN_ERR_ARGUMENT);
    pen_am_entry empty[] = { { .index = 131, .function = handler }, { .index = 132 } };
    assert_int_equal(pen_am_register(job, &job->log, empty, 2), PEN_ERR_ARGUMENT);
    for (unsigned index = 0; index < PEN_AM_HANDLERS; index++)
        assert_null(job->am->entries[index].function);
}

static void an_index_that_is_taken_is_refused(void **state)
{
    pen_job *job = &((pair *)*state)->jobs[0];
    pen_am_entry entry = { .index = 140, .function = handler };
    assert_int_equal(pen_am_register(job, &job->log, &entry, 1), PEN_OK);
    assert_int_equal(pen_am_register(job, &job->log, &entry, 1), PEN_ERR_ARGUMENT);
}

static void when_all_indices_are_taken_it_says_so(void **state)
{
    pen_job *job = &((pair *)*state)->jobs[0];
    pen_am_entry table[129];
    for (unsigned row = 0; row < 129; row++)
        table[row] = (pen_am_entry){ .function = handler };
    assert_int_equal(pen_am_register(job, &job->log, table, 129), PEN_ERR_RESOURCE);
    assert_int_equal(pen_am_register(job, &job->log, table, 128), PEN_OK);
    assert_int_equal(table[127].index, 128);
    assert_int_equal(pen_am_register(job, &job->log, &table[128], 1), PEN_ERR_RESOURCE);
    assert_int_equal(table[128].index, 0);
}

static void limits_are_the_same_for_every_argument_count_and_large_enough(void **state)
{
    pen_job *job = &((pair *)*state)->jobs[0];
    for (unsigned count = 0; count <= PEN_AM_ARGS_MAX; count++) {
        assert_int_equal(pen_am_max_medium(job, count), PEN_AM_MEDIUM_LONG);
        assert_int_equal(pen_am_max_long_request(job, count), PEN_AM_LONG_MAX);
        assert_int_equal(pen_am_max_long_reply(job, count), PEN_AM_LONG_MAX);
    }
}

static void a_link_with_tiny_frames_is_refused(void **state)
{
    pen_job *job = &((pair *)*state)->jobs[0];
    pen_am_close(job);
    job->frame_max = 511;
    assert_int_equal(pen_am_open(job), PEN_ERR_UNUSABLE);
    job->frame_max = 512;
    job->routes[1].same_host = false;
    assert_int_equal(pen_am_open(job), PEN_OK);
    assert_int_equal(pen_am_max_long_request(job, 0), PEN_AM_LONG_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(free_indices_are_given_from_255_down_after_the_fixed_ones,
                                        open_rig, close_rig),
        cmocka_unit_test_setup_teardown(what_was_registered_is_found_under_its_index, open_rig,
                                        close_rig),
        cmocka_unit_test_setup_teardown(a_table_with_one_bad_row_registers_nothing, open_rig,
                                        close_rig),
        cmocka_unit_test_setup_teardown(an_index_that_is_taken_is_refused, open_rig, close_rig),
        cmocka_unit_test_setup_teardown(when_all_indices_are_taken_it_says_so, open_rig, close_rig),
        cmocka_unit_test_setup_teardown(
            limits_are_the_same_for_every_argument_count_and_large_enough, open_rig, close_rig),
        cmocka_unit_test_setup_teardown(a_link_with_tiny_frames_is_refused, open_rig, close_rig),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
