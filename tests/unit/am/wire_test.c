/* SPDX-License-Identifier: BSD-3-Clause */
/* wire_test.c: the vectors of docs/design/wire.md, as sent. */
#include "pair.h"

typedef struct wire_rig {
    pair *p;
    uint64_t words[PEN_AM_WORDS_MAX];
} wire_rig;

static int open_rig(void **state)
{
    static const int32_t args[] = { 1, -2, 3, INT32_MIN };
    wire_rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig->p = pair_open();
    pair_words(rig->words, 4, args);
    *state = rig;
    return 0;
}

static int close_rig(void **state)
{
    wire_rig *rig = *state;
    pair_close(rig->p);
    free(rig);
    return 0;
}

static const pair_frame *sent(const wire_rig *rig, pen_lane lane)
{
    const pair_end *end = &rig->p->ends[1];
    assert_int_equal(end->count[lane], 1);
    return &end->queue[lane][end->first[lane] % PAIR_QUEUE];
}

static void a_short_without_arguments_is_one_word(void **state)
{
    wire_rig *rig = *state;
    assert_int_equal(pen_am_request_short(&rig->p->jobs[0].world, 1, 200, 0, 0, rig->words), 0);
    const pair_frame *frame = sent(rig, PEN_LANE_REQUEST);
    assert_int_equal(frame->head_len, 8);
    assert_int_equal(frame->body_len, 0);
    assert_int_equal(frame->head[0], 0x00000000000000c8);
}

static void a_short_packs_two_arguments_to_a_word(void **state)
{
    wire_rig *rig = *state;
    assert_int_equal(pen_am_request_short(&rig->p->jobs[0].world, 1, 128, 0, 3, rig->words), 0);
    const pair_frame *frame = sent(rig, PEN_LANE_REQUEST);
    assert_int_equal(frame->head_len, 24);
    assert_int_equal(frame->head[0], 0x0000000000000380);
    assert_int_equal(frame->head[1], 0xfffffffe00000001);
    assert_int_equal((uint32_t)frame->head[2], 3);
}

static void a_medium_says_its_length_and_has_it_as_body(void **state)
{
    wire_rig *rig = *state;
    assert_int_equal(
        pen_am_request_medium(&rig->p->jobs[0].world, 1, 255, "hello", 5, 0, 4, rig->words), 0);
    const pair_frame *frame = sent(rig, PEN_LANE_REQUEST);
    assert_int_equal(frame->head[0], 0x00000005000104ff);
    assert_int_equal(frame->head_len, 24);
    assert_int_equal(frame->head[2], 0x8000000000000003);
    assert_int_equal(frame->body_len, 5);
    assert_memory_equal(frame->body, "hello", 5);
}

static void a_long_ends_its_head_with_segment_and_offset(void **state)
{
    wire_rig *rig = *state;
    static char segment[64];
    pair_publish(rig->p, segment, sizeof segment, false);
    assert_int_equal(pen_am_request_long(&rig->p->jobs[0].world, 1, 130, "abc", 3, segment + 16, 0,
                                         1, rig->words),
                     0);
    const pair_frame *frame = sent(rig, PEN_LANE_REQUEST);
    assert_int_equal(frame->head_len, 32);
    assert_int_equal(frame->head[0], 0x0000000300020182);
    assert_int_equal(frame->head[2], 1);
    assert_int_equal(frame->head[3], 16);
    assert_int_equal(frame->body_len, 3);
}

static void a_long_that_is_there_already_says_so(void **state)
{
    wire_rig *rig = *state;
    static char segment[64];
    pair_publish(rig->p, segment, sizeof segment, true);
    assert_int_equal(pen_am_request_long(&rig->p->jobs[0].world, 1, 130, "abc", 3, segment + 16, 0,
                                         0, rig->words),
                     0);
    const pair_frame *frame = sent(rig, PEN_LANE_REQUEST);
    assert_int_equal(frame->head[0], 0x0000000300120082);
    assert_int_equal(frame->body_len, 0);
    assert_memory_equal(segment + 16, "abc", 3);
}

static void an_empty_long_carries_its_destination_as_it_was_given(void **state)
{
    wire_rig *rig = *state;
    void *anywhere = (void *)(uintptr_t)0xdeadbeefcafe;
    assert_int_equal(
        pen_am_request_long(&rig->p->jobs[0].world, 1, 131, NULL, 0, anywhere, 0, 0, rig->words),
        0);
    const pair_frame *frame = sent(rig, PEN_LANE_REQUEST);
    assert_int_equal(frame->head_len, 24);
    assert_int_equal(frame->head[0], 0x0000000000220083);
    assert_int_equal(frame->head[1], 0);
    assert_int_equal(frame->head[2], 0xdeadbeefcafe);
}

static void an_internal_message_names_its_lane(void **state)
{
    wire_rig *rig = *state;
    static const int32_t args[] = { 7 };
    assert_int_equal(pen_am_send_internal(&rig->p->jobs[0], 1, PEN_LANE_CONTROL, PEN_AM_INT_BARRIER,
                                          1, args, NULL, 0),
                     0);
    const pair_frame *frame = sent(rig, PEN_LANE_CONTROL);
    assert_int_equal(frame->head_len, 16);
    assert_int_equal(frame->head[0], 0x00000000000b0105);
    assert_int_equal(frame->head[1], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_short_without_arguments_is_one_word, open_rig, close_rig),
        cmocka_unit_test_setup_teardown(a_short_packs_two_arguments_to_a_word, open_rig, close_rig),
        cmocka_unit_test_setup_teardown(a_medium_says_its_length_and_has_it_as_body, open_rig,
                                        close_rig),
        cmocka_unit_test_setup_teardown(a_long_ends_its_head_with_segment_and_offset, open_rig,
                                        close_rig),
        cmocka_unit_test_setup_teardown(a_long_that_is_there_already_says_so, open_rig, close_rig),
        cmocka_unit_test_setup_teardown(an_empty_long_carries_its_destination_as_it_was_given,
                                        open_rig, close_rig),
        cmocka_unit_test_setup_teardown(an_internal_message_names_its_lane, open_rig, close_rig),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
