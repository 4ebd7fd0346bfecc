/* SPDX-License-Identifier: BSD-3-Clause */
/* long_test.c: every path that the payload of a Long can take, and invalid destinations. */
#include "pair.h"

enum { SEGMENT_LEN = 65536, HANDLER = 130, REQUEST_LONG = 131 };

static char segment[SEGMENT_LEN], source[SEGMENT_LEN], expected[SEGMENT_LEN];
static unsigned calls;
static void *seen_dest;
static size_t seen_len;
static bool was_there; /* the payload, when the handler ran */

static void on_long(pen_token *token, void *dest, size_t len)
{
    assert_true(token->is_long);
    calls++;
    seen_dest = dest;
    seen_len = len;
    was_there = len == 0 || memcmp(dest, expected, len) == 0;
}

static int open_rig(void **state)
{
    pair *p = pair_open();
    calls = 0;
    memset(segment, 0, sizeof segment);
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = expected[i] = (char)(i * 7 + i / 251);
    pair_register(p, HANDLER, on_long);
    p->ends[0].segment_of_peer = segment;
    *state = p;
    return 0;
}

static int close_rig(void **state)
{
    pair_close(*state);
    return 0;
}

static int send(pair *p, size_t offset, size_t len, uint32_t flags)
{
    uint64_t words[1];
    return pen_am_request_long(&p->jobs[0].world, 1, HANDLER, source, len, segment + offset, flags,
                               0, words);
}

static void check_arrived_from(pair *p, size_t offset, size_t len)
{
    pair_settle(p);
    assert_int_equal(calls, 1);
    assert_ptr_equal(seen_dest, segment + offset);
    assert_int_equal(seen_len, len);
    assert_true(was_there);
    assert_int_equal(p->jobs[1].counters.frame_dropped, 0);
    assert_int_equal(p->jobs[0].counters.am_sent_shm + p->jobs[0].counters.am_self +
                         p->jobs[1].counters.am_self,
                     1);
}

static void check_arrived(pair *p, size_t offset, size_t len)
{
    memset(source, 0, sizeof source); /* the source may change on return */
    check_arrived_from(p, offset, len);
}

static void to_mapped_memory_it_is_stored_and_announced(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, true);
    assert_int_equal(send(p, 1, 50000, 0), 0);
    assert_memory_equal(segment + 1, source, 50000);
    assert_int_equal(p->ends[0].posts, 1);
    check_arrived(p, 1, 50000);
}

static void an_immediate_one_takes_its_place_before_it_stores(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, true);
    p->ends[0].base.zcopy = &pair_zcopy;
    p->ends[1].room[PEN_LANE_REQUEST] = 0;
    assert_int_not_equal(send(p, 0, 50000, PEN_AM_IMMEDIATE), 0);
    assert_int_equal(segment[1], 0);
    p->ends[1].room[PEN_LANE_REQUEST] = 1;
    assert_int_equal(send(p, 0, 50000, PEN_AM_IMMEDIATE), 0);
    assert_false(p->ends[0].reserved);
    assert_memory_equal(segment, source, 50000); /* by store, at once */
    check_arrived(p, 0, 50000);
}

static void an_immediate_one_without_reservations_goes_in_the_frame(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, true);
    p->ends[1].room[PEN_LANE_REQUEST] = 0;
    assert_int_not_equal(send(p, 0, 100, PEN_AM_IMMEDIATE), 0);
    assert_int_equal(segment[1], 0);
    p->ends[1].room[PEN_LANE_REQUEST] = 1;
    assert_int_equal(send(p, 0, 100, PEN_AM_IMMEDIATE), 0);
    check_arrived(p, 0, 100);
}

static void to_memory_that_is_not_mapped_it_goes_in_the_frame(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, false);
    assert_int_equal(send(p, 77, PAIR_FRAME_MAX, 0), 0);
    assert_int_equal(p->ends[0].posts, 1);
    check_arrived(p, 77, PAIR_FRAME_MAX);
}

static void a_longer_one_goes_by_the_links_own_put(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, false);
    p->jobs[0].mem.remote[0][1].has_key = true;
    p->jobs[0].mem.remote[0][1].key = 77;
    p->ends[0].base.rma = &pair_rma;
    assert_int_equal(send(p, 3, 20000, 0), 0);
    check_arrived(p, 3, 20000);
    assert_int_equal(p->ends[0].posts, 1); /* the frame; the pieces were put */
}

static void a_longer_one_goes_in_acknowledged_pieces_where_nothing_else_does(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, false);
    p->ends[0].serves_peer = true;
    p->ends[1].room[PEN_LANE_REQUEST] = 2;
    assert_int_equal(send(p, 0, SEGMENT_LEN, 0), 0);
    check_arrived(p, 0, SEGMENT_LEN);
    assert_int_equal(p->ends[0].posts, SEGMENT_LEN / PAIR_FRAME_MAX + 1);
    assert_int_equal(p->jobs[0].am->flight_count, 0);
}

static void on_ask(pen_token *token)
{
    uint64_t words[1];
    assert_int_equal(pen_am_reply_long(token, HANDLER, source, SEGMENT_LEN, segment, 0, 0, words),
                     0);
    memset(source, 0, sizeof source);
}

static void a_reply_in_pieces_does_not_wait(void **state)
{
    pair *p = *state;
    uint64_t words[1];
    pair_register(p, REQUEST_LONG, on_ask);
    pair_publish(p, segment, sizeof segment, false);
    p->ends[0].segment_of_peer = NULL;
    /* Rank 0 asks itself of rank 1's memory the other way round: rank 1 asks, rank 0 replies. */
    p->ends[1].room[PEN_LANE_REPLY] = 3;
    assert_int_equal(pen_am_request_short(&p->jobs[1].world, 0, REQUEST_LONG, 0, 0, words), 0);
    pair_settle(p);
    assert_int_equal(calls, 1);
    assert_true(was_there);
    assert_int_equal(seen_len, SEGMENT_LEN);
    assert_true(p->jobs[0].counters.again_backlog > 0);
    assert_int_equal(p->jobs[0].am->flight_count, 0);
}

static int send_for(pair *p, size_t len, uint32_t flags, pen_op *op)
{
    uint64_t words[1];
    pen_am_payload payload = { source, len, segment, op };
    return pen_am_request_payload(&p->jobs[0].world, 1, PEN_AM_LONG, HANDLER, &payload, flags, 0,
                                  words);
}

static void with_an_op_pieces_go_on_after_the_call(void **state)
{
    pair *p = *state;
    pen_op op = { 0 };
    pair_publish(p, segment, sizeof segment, false);
    p->ends[1].room[PEN_LANE_REQUEST] = 2;
    assert_int_equal(send_for(p, SEGMENT_LEN, 0, &op), 0);
    assert_int_equal(p->ends[0].posts, 2);
    assert_int_equal(op.source_busy, 1);
    assert_int_equal(op.incomplete, 1);
    for (unsigned polls = 0; op.source_busy != 0; polls++) {
        assert_true(polls < 100);
        assert_int_equal(calls, 0);
        (void)pen_progress_poll(&p->jobs[1].progress);
        (void)pen_progress_poll(&p->jobs[0].progress);
    }
    assert_int_equal(op.incomplete, 0);
    check_arrived(p, 0, SEGMENT_LEN);
    assert_int_equal(p->jobs[0].am->flight_count, 0);
    assert_int_equal(p->jobs[0].progress.source_work, 0);
}

static void a_frame_that_the_link_reads_keeps_its_source_busy(void **state)
{
    pair *p = *state;
    pen_op op = { 0 };
    pair_publish(p, segment, sizeof segment, false);
    p->ends[0].base.caps.frame_copy_max = 100;
    assert_int_equal(send_for(p, 3000, 0, &op), 0);
    assert_int_equal(op.source_busy, 1);
    check_arrived_from(p, 0, 3000);
    assert_int_equal(op.source_busy + op.incomplete, 0);
}

static void to_mapped_memory_no_op_is_needed(void **state)
{
    pair *p = *state;
    pen_op op = { 0 };
    pair_publish(p, segment, sizeof segment, true);
    assert_int_equal(send_for(p, 50000, 0, &op), 0);
    assert_int_equal(op.source_busy + op.incomplete, 0);
    check_arrived(p, 0, 50000);
}

static void with_an_op_puts_go_on_after_the_call(void **state)
{
    pair *p = *state;
    pen_op op = { 0 };
    pair_publish(p, segment, sizeof segment, false);
    p->jobs[0].mem.remote[0][1].has_key = true;
    p->jobs[0].mem.remote[0][1].key = 77;
    p->ends[0].base.rma = &pair_rma;
    assert_int_equal(send_for(p, SEGMENT_LEN, 0, &op), 0);
    assert_int_equal(op.source_busy, 1);
    assert_int_equal(p->ends[0].op_count, PAIR_OPS); /* the rest has no room yet */
    assert_int_equal(p->jobs[0].progress.room_waits, 1);
    check_arrived_from(p, 0, SEGMENT_LEN);
    assert_int_equal(op.source_busy + op.incomplete, 0);
    assert_int_equal(p->ends[0].posts, 1);
    assert_int_equal(p->jobs[0].am->flight_count, 0);
    assert_int_equal(p->jobs[0].progress.source_work, 0);
}

static void an_asynchronous_one_returns_at_once(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, false);
    p->ends[1].room[PEN_LANE_REQUEST] = 0;
    assert_int_equal(send_for(p, SEGMENT_LEN, PEN_AM_ASYNC, NULL), 0);
    assert_int_equal(p->ends[0].posts, 0);
    assert_int_equal(p->jobs[0].progress.room_waits, 1); /* keeps every rank awake meanwhile */
    p->ends[1].room[PEN_LANE_REQUEST] = 1;
    check_arrived_from(p, 0, SEGMENT_LEN);
    assert_int_equal(p->jobs[0].progress.room_waits, 0);
    assert_int_equal(p->jobs[0].progress.source_work, 0);
}

static void many_may_be_in_flight(void **state)
{
    enum { MANY = 100 };
    pair *p = *state;
    pen_op op = { 0 };
    pair_publish(p, segment, sizeof segment, false);
    p->ends[1].room[PEN_LANE_REQUEST] = 3;
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(send_for(p, PAIR_FRAME_MAX + 1 + i, 0, &op), 0);
    assert_int_equal(op.incomplete, MANY - 1); /* two pieces each: the first is all posted */
    pair_settle(p);
    assert_int_equal(calls, MANY);
    assert_true(was_there);
    assert_int_equal(op.source_busy + op.incomplete, 0);
    assert_int_equal(p->jobs[0].am->flight_count, 0);
}

static void an_immediate_one_in_pieces_is_refused_whole_or_taken_whole(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, false);
    p->ends[1].room[PEN_LANE_REQUEST] = 0;
    assert_int_not_equal(send(p, 0, SEGMENT_LEN, PEN_AM_IMMEDIATE), 0);
    assert_int_equal(p->jobs[0].am->flight_count, 0);
    assert_int_equal(p->jobs[0].progress.source_work, 0);
    p->ends[1].room[PEN_LANE_REQUEST] = 1;
    pair_settle(p);
    assert_int_equal(p->ends[0].posts, 0);
    assert_int_equal(segment[1], 0);
    assert_int_equal(send(p, 0, SEGMENT_LEN, PEN_AM_IMMEDIATE), 0); /* no rank serves the peer */
    assert_int_equal(p->ends[0].posts, 1);
    check_arrived(p, 0, SEGMENT_LEN); /* with the source overwritten */
}

static void an_immediate_one_to_mapped_memory_without_places_goes_in_pieces(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, true);
    p->ends[1].room[PEN_LANE_REQUEST] = 0;
    assert_int_not_equal(send(p, 0, SEGMENT_LEN, PEN_AM_IMMEDIATE), 0);
    assert_int_equal(segment[1], 0);
    p->ends[1].room[PEN_LANE_REQUEST] = 2;
    assert_int_equal(send(p, 0, SEGMENT_LEN, PEN_AM_IMMEDIATE), 0);
    check_arrived(p, 0, SEGMENT_LEN);
}

static void a_refused_one_leaves_its_op_alone(void **state)
{
    pair *p = *state;
    pen_op op = { 0 };
    pair_publish(p, segment, sizeof segment, false);
    p->ends[1].room[PEN_LANE_REQUEST] = 0;
    assert_int_not_equal(send_for(p, SEGMENT_LEN, PEN_AM_IMMEDIATE, &op), 0);
    assert_int_equal(op.source_busy + op.incomplete, 0);
}

static void a_copy_frees_the_source_at_once(void **state)
{
    pair *p = *state;
    pen_op op = { 0 };
    pair_publish(p, segment, sizeof segment, false);
    p->ends[1].room[PEN_LANE_REQUEST] = 1;
    assert_int_equal(send_for(p, SEGMENT_LEN, PEN_AM_COPY, &op), 0);
    assert_int_equal(op.source_busy + op.incomplete, 0);
    check_arrived(p, 0, SEGMENT_LEN);
}

static int immediate_reply;

static void on_ask_immediately(pen_token *token)
{
    uint64_t words[1];
    immediate_reply =
        pen_am_reply_long(token, HANDLER, source, SEGMENT_LEN, segment, PEN_AM_IMMEDIATE, 0, words);
    assert_int_equal(token->replied, immediate_reply == 0);
    memset(source, 0, sizeof source);
}

static void an_immediate_reply_in_pieces_is_refused_whole_or_taken_whole(void **state)
{
    pair *p = *state;
    uint64_t words[1];
    pair_register(p, REQUEST_LONG, on_ask_immediately);
    pair_publish(p, segment, sizeof segment, false);
    for (uint32_t room = 0; room < 2; room++) {
        memcpy(source, expected, sizeof source);
        p->ends[1].room[PEN_LANE_REPLY] = room;
        assert_int_equal(pen_am_request_short(&p->jobs[1].world, 0, REQUEST_LONG, 0, 0, words), 0);
        pair_settle(p);
        assert_int_equal(immediate_reply == 0, room);
        assert_int_equal(calls, room);
    }
    assert_true(was_there);
    assert_int_equal(p->jobs[0].am->flight_count, 0);
}

static void acknowledgements_nobody_waits_for_are_dropped(void **state)
{
    pair *p = *state;
    static const int32_t args[5] = { 1, 0, 1, 0, 0 };
    assert_int_equal(
        pen_am_send_internal(&p->jobs[0], 1, PEN_LANE_REPLY, PEN_AM_INT_LONG_ACK, 2, args, NULL, 0),
        0);
    assert_int_equal(
        pen_am_send_internal(&p->jobs[0], 1, PEN_LANE_REPLY, PEN_AM_INT_LONG_ACK, 1, args, NULL, 0),
        0);
    assert_int_equal(pen_am_send_internal(&p->jobs[0], 1, PEN_LANE_REQUEST, PEN_AM_INT_LONG_PIECE,
                                          5, args, "x", 1),
                     0);
    pair_settle(p);
    assert_int_equal(p->jobs[1].counters.frame_dropped, 3);
}

/* Rank 1 acknowledges more than it got, while rank 0 is still sending. */
static void on_piece_acknowledge_twice(pen_token *token, const int32_t *args, unsigned arg_count,
                                       void *body, uint32_t body_len)
{
    (void)arg_count, (void)body, (void)body_len;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pen_am_send_internal(token->job, token->from, PEN_LANE_REPLY,
                                              PEN_AM_INT_LONG_ACK, 2, args, NULL, 0),
                         0);
}

static void too_many_acknowledgements_end_nothing_early(void **state)
{
    pair *p = *state;
    pair_publish(p, segment, sizeof segment, false);
    pen_am_register_internal(&p->jobs[1], PEN_AM_INT_LONG_PIECE, on_piece_acknowledge_twice);
    p->ends[0].serves_peer = true;
    p->ends[1].room[PEN_LANE_REQUEST] = 1;
    assert_int_equal(send(p, 0, SEGMENT_LEN, 0), 0);
    pair_settle(p);
    assert_int_equal(calls, 1);
    assert_true(p->jobs[0].counters.frame_dropped > 0);
    assert_int_equal(p->jobs[0].am->flight_count, 0);
}

static void an_empty_one_hands_its_destination_through(void **state)
{
    pair *p = *state;
    uint64_t words[1];
    void *const dests[] = { NULL, (void *)UINTPTR_MAX, (void *)(uintptr_t)0x123456789abc };
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(
            pen_am_request_long(&p->jobs[0].world, 1, HANDLER, NULL, 0, dests[i], 0, 0, words), 0);
        pair_settle(p);
        assert_ptr_equal(seen_dest, dests[i]);
        assert_int_equal(seen_len, 0);
    }
    assert_int_equal(calls, 3);
}

static void everywhere_is_legal_in_an_everything_job(void **state)
{
    pair *p = *state;
    p->jobs[0].mem.everything = p->jobs[1].mem.everything = true;
    assert_int_equal(send(p, 9, 500, 0), 0);
    check_arrived(p, 9, 500);
}

static void own_memory_is_stored_to_in_an_everything_job(void **state)
{
    pair *p = *state;
    uint64_t words[1];
    p->jobs[0].mem.everything = true;
    assert_int_equal(
        pen_am_request_long(&p->jobs[0].world, 0, HANDLER, source, 50000, segment, 0, 0, words), 0);
    assert_memory_equal(segment, source, 50000);
    check_arrived(p, 0, 50000);
}

static void send_beyond(pair *p)
{
    pair_publish(p, segment, 100, true);
    (void)send(p, 90, 11, 0);
}

static void send_below(pair *p)
{
    pair_publish(p, segment + 10, 100, true);
    (void)send(p, 9, 1, 0);
}

static void send_nowhere(pair *p) { (void)send(p, 0, 1, 0); }

static void a_destination_outside_the_segment_ends_the_job(void **state)
{
    pair_expect_fatal(*state, send_beyond, "outside its segment of 100 bytes");
    pair_expect_fatal(*state, send_below, "outside its segment of 100 bytes");
    pair_expect_fatal(*state, send_nowhere, "has no segment");
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(to_mapped_memory_it_is_stored_and_announced),
        RIGGED(an_immediate_one_takes_its_place_before_it_stores),
        RIGGED(an_immediate_one_without_reservations_goes_in_the_frame),
        RIGGED(to_memory_that_is_not_mapped_it_goes_in_the_frame),
        RIGGED(a_longer_one_goes_by_the_links_own_put),
        RIGGED(a_longer_one_goes_in_acknowledged_pieces_where_nothing_else_does),
        RIGGED(a_reply_in_pieces_does_not_wait),
        RIGGED(with_an_op_pieces_go_on_after_the_call),
        RIGGED(a_frame_that_the_link_reads_keeps_its_source_busy),
        RIGGED(to_mapped_memory_no_op_is_needed),
        RIGGED(with_an_op_puts_go_on_after_the_call),
        RIGGED(an_asynchronous_one_returns_at_once),
        RIGGED(many_may_be_in_flight),
        RIGGED(an_immediate_one_in_pieces_is_refused_whole_or_taken_whole),
        RIGGED(an_immediate_one_to_mapped_memory_without_places_goes_in_pieces),
        RIGGED(a_refused_one_leaves_its_op_alone),
        RIGGED(a_copy_frees_the_source_at_once),
        RIGGED(an_immediate_reply_in_pieces_is_refused_whole_or_taken_whole),
        RIGGED(acknowledgements_nobody_waits_for_are_dropped),
        RIGGED(too_many_acknowledgements_end_nothing_early),
        RIGGED(an_empty_one_hands_its_destination_through),
        RIGGED(everywhere_is_legal_in_an_everything_job),
        RIGGED(own_memory_is_stored_to_in_an_everything_job),
        RIGGED(a_destination_outside_the_segment_ends_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
