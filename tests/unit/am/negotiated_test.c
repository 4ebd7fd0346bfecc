/* SPDX-License-Identifier: BSD-3-Clause */
/* negotiated_test.c: messages that are prepared and committed: whose buffer it is, how long, what a
 * refusal and a cancellation leave behind. */
#include "pair.h"

enum { SEGMENT_LEN = 65536, HANDLER = 130, ASK = 131 };

static char segment[SEGMENT_LEN], buffer[SEGMENT_LEN], expected[SEGMENT_LEN];
static unsigned calls;
static void *seen;
static size_t seen_len;
static bool was_there;

static void on_payload(pen_token *token, void *payload, size_t len)
{
    (void)token;
    calls++;
    seen = payload;
    seen_len = len;
    was_there = len == 0 || memcmp(payload, expected, len) == 0;
}

static int open_rig(void **state)
{
    pair *p = pair_open();
    calls = 0;
    seen = NULL;
    memset(segment, 0, sizeof segment);
    for (size_t i = 0; i < sizeof expected; i++)
        buffer[i] = expected[i] = (char)(i * 7 + i / 251);
    pair_register(p, HANDLER, on_payload);
    p->ends[0].base.zcopy = p->ends[1].base.zcopy = &pair_zcopy;
    *state = p;
    return 0;
}

static int close_rig(void **state)
{
    pair_close(*state);
    return 0;
}

static pen_source_desc *prepare(pair *p, pen_am_category category, const void *client, size_t least,
                                size_t most, uint32_t flags)
{
    pen_am_terms terms = { category, client, least, most, NULL, flags };
    return pen_am_prepare_request(&p->jobs[0].first_thread, &p->jobs[0].world, 1, &terms);
}

static int commit_for(pen_source_desc *desc, size_t len, void *dest, uint32_t flags, pen_op *op)
{
    uint64_t words[PEN_AM_WORDS_MAX];
    pen_am_commit_terms terms = { HANDLER, len, dest, op, flags, 0 };
    return pen_am_commit(desc, &terms, words);
}

static int commit(pen_source_desc *desc, size_t len, void *dest, uint32_t flags)
{
    return commit_for(desc, len, dest, flags, NULL);
}

static void check_arrived(pair *p, size_t len)
{
    pair_settle(p);
    assert_int_equal(calls, 1);
    assert_int_equal(seen_len, len);
    assert_true(was_there);
    assert_int_equal(p->jobs[1].counters.frame_dropped, 0);
    assert_int_equal(p->jobs[0].counters.am_sent_shm, 1);
    calls = 0;
    p->jobs[0].counters.am_sent_shm = 0;
}

static void the_librarys_buffer_is_the_body_of_a_frame(void **state)
{
    pair *p = *state;
    static const size_t lens[] = { 3000, 1000, 1, 0 };
    for (unsigned i = 0; i < 4; i++) {
        pen_source_desc *desc = prepare(p, PEN_AM_MEDIUM, NULL, 10, 3000, 0);
        assert_ptr_equal(desc->address, p->ends[0].place);
        assert_int_equal(desc->size, 3000);
        memcpy(desc->address, expected, 3000);
        assert_int_equal(p->ends[0].posts, i);
        assert_int_equal(commit(desc, lens[i], NULL, 0), 0);
        check_arrived(p, lens[i]);
        assert_false(p->ends[0].reserved);
    }
}

static void a_buffer_is_as_long_as_the_most_a_frame_holds(void **state)
{
    pair *p = *state;
    pen_source_desc *desc = prepare(p, PEN_AM_MEDIUM, NULL, 0, SIZE_MAX, 0);
    assert_int_equal(desc->size, PAIR_FRAME_MAX);
    pen_am_cancel(desc);
    desc = prepare(p, PEN_AM_LONG, NULL, 1, SIZE_MAX, 0);
    assert_int_equal(desc->size, PAIR_FRAME_MAX);
    pen_am_cancel(desc);
    desc = prepare(p, PEN_AM_MEDIUM, NULL, 0, 0, 0);
    assert_int_equal(desc->size, 0);
    assert_int_equal(commit(desc, 0, NULL, 0), 0);
    check_arrived(p, 0);
}

static void where_the_most_has_no_room_the_least_may_have(void **state)
{
    pair *p = *state;
    p->ends[0].place_max = 1000;
    pen_source_desc *desc = prepare(p, PEN_AM_MEDIUM, NULL, 900, 3000, PEN_AM_IMMEDIATE);
    assert_int_equal(desc->size, 900);
    pen_am_cancel(desc);
    desc = prepare(p, PEN_AM_MEDIUM, NULL, 1, 3000, PEN_AM_IMMEDIATE);
    assert_int_equal(desc->size, PEN_AM_MEDIUM_LEAST);
    pen_am_cancel(desc);
    assert_null(prepare(p, PEN_AM_MEDIUM, NULL, 1001, 3000, PEN_AM_IMMEDIATE));
}

static void a_request_waits_for_a_buffer_unless_it_is_immediate(void **state)
{
    pair *p = *state;
    uint64_t words[1];
    p->ends[1].room[PEN_LANE_REQUEST] = 1;
    assert_int_equal(pen_am_request_medium(&p->jobs[0].world, 1, HANDLER, buffer, 5, 0, 0, words),
                     0);
    assert_null(prepare(p, PEN_AM_MEDIUM, NULL, 10, 100, PEN_AM_IMMEDIATE));
    assert_int_equal(calls, 0);
    p->ends[0].serves_peer = true;
    pen_source_desc *desc = prepare(p, PEN_AM_MEDIUM, NULL, 10, 100, 0);
    assert_int_equal(calls, 1);
    assert_int_equal(desc->size, 100);
    pen_am_cancel(desc);
}

static void what_is_cancelled_leaves_nothing(void **state)
{
    pair *p = *state;
    pen_source_desc *desc = prepare(p, PEN_AM_MEDIUM, NULL, 10, 100, 0);
    pen_am_cancel(desc);
    assert_false(p->ends[0].reserved);
    pair_settle(p);
    assert_int_equal(p->ends[0].posts, 0);
    desc = prepare(p, PEN_AM_MEDIUM, buffer, 10, 100, 0); /* another may be prepared */
    pen_am_cancel(desc);
}

static void without_reservations_it_is_memory_of_ours_and_kept(void **state)
{
    pair *p = *state;
    p->ends[0].base.zcopy = NULL;
    pen_source_desc *desc = prepare(p, PEN_AM_MEDIUM, NULL, 10, 3000, PEN_AM_IMMEDIATE);
    void *address = desc->address;
    memcpy(address, expected, 3000);
    p->ends[1].room[PEN_LANE_REQUEST] = 0;
    assert_int_not_equal(commit(desc, 2000, NULL, PEN_AM_IMMEDIATE), 0);
    assert_true(desc->live && desc->address == address && desc->size == 3000);
    p->ends[1].room[PEN_LANE_REQUEST] = 1;
    assert_int_equal(commit(desc, 2000, NULL, PEN_AM_IMMEDIATE), 0);
    assert_false(desc->live);
    check_arrived(p, 2000);
    desc = prepare(p, PEN_AM_MEDIUM, NULL, 10, 100, 0);
    assert_ptr_equal(desc->address, address);
    pen_am_cancel(desc);
}

static void a_clients_buffer_is_sent_from_where_it_is(void **state)
{
    pair *p = *state;
    pen_op op = { 0 };
    for (uint32_t rank = 0; rank < 2; rank++)
        p->ends[rank].base.caps.frame_copy_max = 100;
    pen_source_desc *desc = prepare(p, PEN_AM_MEDIUM, buffer, 10, 3000, 0);
    assert_ptr_equal(desc->address, buffer);
    assert_int_equal(desc->size, 3000);
    assert_false(p->ends[0].reserved);
    p->ends[1].room[PEN_LANE_REQUEST] = 0;
    assert_int_not_equal(commit_for(desc, 2500, NULL, PEN_AM_IMMEDIATE, &op), 0);
    assert_int_equal(op.source_busy + op.incomplete, 0);
    assert_true(desc->live);
    p->ends[1].room[PEN_LANE_REQUEST] = 1;
    assert_int_equal(commit_for(desc, 2500, NULL, PEN_AM_IMMEDIATE, &op), 0);
    assert_int_equal(op.source_busy, 1); /* the link reads it */
    check_arrived(p, 2500);
    assert_int_equal(op.source_busy + op.incomplete, 0);
}

static void a_copy_may_be_asked_for(void **state)
{
    pair *p = *state;
    pen_op op = { 0 };
    p->ends[0].base.caps.frame_copy_max = 100;
    pen_source_desc *desc = prepare(p, PEN_AM_MEDIUM, buffer, 10, 3000, 0);
    assert_int_equal(commit_for(desc, 2500, NULL, PEN_AM_COPY, &op), 0);
    assert_int_equal(op.source_busy, 0);
    memset(buffer, 0, sizeof buffer);
    check_arrived(p, 2500);
}

static void nothing_is_at_a_longs_destination_before_the_commit(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, true);
    pen_source_desc *desc = prepare(p, PEN_AM_LONG, NULL, 10, 3000, 0);
    assert_ptr_equal(desc->address, p->ends[0].place);
    memcpy(desc->address, expected, 3000);
    pair_settle(p);
    assert_int_equal(segment[101], 0);
    assert_int_equal(commit(desc, 2000, segment + 100, 0), 0);
    check_arrived(p, 2000);
    assert_ptr_equal(seen, segment + 100);
    assert_memory_equal(segment + 100, expected, 2000);
    assert_int_equal(segment[2100], 0); /* no more than was committed */
    desc = prepare(p, PEN_AM_LONG, NULL, 10, 3000, 0);
    assert_int_equal(commit(desc, 0, (void *)0x123, 0), 0);
    check_arrived(p, 0);
    assert_ptr_equal(seen, (void *)0x123);
}

static void a_long_of_which_the_least_fits_no_frame_gets_memory_of_ours(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, true);
    pen_source_desc *desc = prepare(p, PEN_AM_LONG, NULL, 50000, 60000, 0);
    assert_int_equal(desc->size, 50000);
    memcpy(desc->address, expected, 50000);
    assert_int_equal(segment[1], 0);
    assert_int_equal(commit(desc, 50000, segment, 0), 0);
    check_arrived(p, 50000);
    assert_null(desc->own); /* too much to keep */
}

static pen_source_desc *reply_desc;
static const void *reply_buffer;
static bool reply_cancels, reply_refused;

static void on_ask(pen_token *token)
{
    pen_am_terms terms = { PEN_AM_MEDIUM, reply_buffer, 10,
                           3000,          NULL,         reply_refused ? PEN_AM_IMMEDIATE : 0 };
    uint64_t words[1];
    pen_source_desc *desc = pen_am_prepare_reply(&token->job->first_thread, token, &terms);
    if (reply_refused) {
        assert_null(desc);
        assert_false(token->replied);
        assert_int_equal(pen_am_reply_medium(token, HANDLER, expected, 3000, 0, 0, words), 0);
        return;
    }
    assert_true(token->replied);
    memcpy(desc->address, expected, 3000);
    if (reply_cancels) {
        pen_am_cancel(desc);
        assert_false(token->replied);
        assert_int_equal(pen_am_reply_medium(token, HANDLER, expected, 3000, 0, 0, words), 0);
    } else {
        assert_int_equal(commit(desc, 3000, NULL, 0), 0);
    }
    reply_desc = desc;
    assert_true(token->replied);
}

static void ask(pair *p)
{
    uint64_t words[1];
    pair_register(p, ASK, on_ask);
    assert_int_equal(pen_am_request_short(&p->jobs[1].world, 0, ASK, 0, 0, words), 0);
    pair_settle(p);
    assert_int_equal(calls, 1);
    assert_int_equal(seen_len, 3000);
    assert_true(was_there);
}

static void a_reply_is_prepared_and_committed(void **state)
{
    ask(*state);
    assert_int_equal(reply_desc->place, PEN_AM_PLACE_FRAME);
}

static void a_cancelled_reply_makes_way_for_another(void **state)
{
    reply_cancels = true;
    ask(*state);
    reply_cancels = false;
}

static void a_reply_that_finds_no_room_does_not_wait(void **state)
{
    pair *p = *state;
    p->ends[0].place_max = 0;
    ask(p);
    assert_int_equal(reply_desc->place, PEN_AM_PLACE_OWN);
}

static void an_immediate_reply_that_finds_no_room_is_no_reply(void **state)
{
    pair *p = *state;
    p->ends[0].place_max = 0;
    reply_refused = true;
    ask(p);
    reply_refused = false;
}

static void a_replys_buffer_may_be_the_clients(void **state)
{
    static char mine[3000];
    reply_buffer = mine;
    ask(*state);
    reply_buffer = NULL;
    assert_int_equal(reply_desc->place, PEN_AM_PLACE_CLIENT);
}

static void prepare_two(pair *p)
{
    (void)prepare(p, PEN_AM_MEDIUM, NULL, 1, 10, 0);
    (void)prepare(p, PEN_AM_MEDIUM, buffer, 1, 10, 0);
}

static void commit_too_much(pair *p)
{
    (void)commit(prepare(p, PEN_AM_MEDIUM, NULL, 1, 10, 0), 11, NULL, 0);
}

static void prepare_more_than_most(pair *p) { (void)prepare(p, PEN_AM_MEDIUM, buffer, 11, 10, 0); }

static void prepare_beyond_the_limit(pair *p)
{
    (void)prepare(p, PEN_AM_MEDIUM, NULL, PEN_AM_MEDIUM_LONG + 1, PEN_AM_MEDIUM_LONG + 1, 0);
}

static void commit_elsewhere(pair *p)
{
    pen_am_terms terms = { PEN_AM_LONG, NULL, 1, 10, segment, 0 };
    pair_publish(p, segment, sizeof segment, true);
    (void)commit(pen_am_prepare_request(&p->jobs[0].first_thread, &p->jobs[0].world, 1, &terms), 10,
                 segment + 1, 0);
}

static void misuse_ends_the_job(void **state)
{
    pair_expect_fatal(*state, prepare_two, "neither committed nor cancelled");
    pair_expect_fatal(*state, commit_too_much, "committed with 11 bytes: 10 were prepared");
    pair_expect_fatal(*state, prepare_more_than_most, "prepared for 11 to 10 bytes");
    pair_expect_fatal(*state, prepare_beyond_the_limit, "at most 65536");
    pair_expect_fatal(*state, commit_elsewhere, "was prepared for");
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(the_librarys_buffer_is_the_body_of_a_frame),
        RIGGED(a_buffer_is_as_long_as_the_most_a_frame_holds),
        RIGGED(where_the_most_has_no_room_the_least_may_have),
        RIGGED(a_request_waits_for_a_buffer_unless_it_is_immediate),
        RIGGED(what_is_cancelled_leaves_nothing),
        RIGGED(without_reservations_it_is_memory_of_ours_and_kept),
        RIGGED(a_clients_buffer_is_sent_from_where_it_is),
        RIGGED(a_copy_may_be_asked_for),
        RIGGED(nothing_is_at_a_longs_destination_before_the_commit),
        RIGGED(a_long_of_which_the_least_fits_no_frame_gets_memory_of_ours),
        RIGGED(a_reply_is_prepared_and_committed),
        RIGGED(a_cancelled_reply_makes_way_for_another),
        RIGGED(a_reply_that_finds_no_room_does_not_wait),
        RIGGED(an_immediate_reply_that_finds_no_room_is_no_reply),
        RIGGED(a_replys_buffer_may_be_the_clients),
        RIGGED(misuse_ends_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
