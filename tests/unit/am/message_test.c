/* SPDX-License-Identifier: BSD-3-Clause */
/* message_test.c: requests and replies between two ranks: what arrives, what happens without room,
 * and what ends the job. */
#include "pair.h"

typedef struct seen { /* arguments that the last handler saw */
    unsigned calls, arg_count;
    int32_t args[PEN_AM_ARGS_MAX];
    pen_peer from;
    bool is_request, is_long;
    const pen_am_entry *entry;
    void *payload;
    size_t len;
    char copy[PAIR_FRAME_MAX];
} seen;

static seen last;

static int open_rig(void **state)
{
    memset(&last, 0, sizeof last);
    *state = pair_open();
    return 0;
}

static int close_rig(void **state)
{
    pair_close(*state);
    return 0;
}

static void see(const pen_token *token, unsigned arg_count, const int32_t *args)
{
    last.calls++;
    last.arg_count = arg_count;
    last.from = token->from;
    last.is_request = token->is_request;
    last.is_long = token->is_long;
    last.entry = pen_am_token_entry(token);
    if (arg_count != 0)
        memcpy(last.args, args, arg_count * sizeof *args);
}

static void see_payload(void *payload, size_t len)
{
    last.payload = payload;
    last.len = len;
    if (len != 0 && len <= sizeof last.copy)
        memcpy(last.copy, payload, len);
}

/* Every arity once, by hand: what the generated calls are to be compared with. */
static void on_0(pen_token *t) { see(t, 0, NULL); }

static void on_1(pen_token *t, int32_t a) { see(t, 1, &a); }

static void on_4(pen_token *t, int32_t a, int32_t b, int32_t c, int32_t d)
{
    see(t, 4, (int32_t[]){ a, b, c, d });
}

static void on_7(pen_token *t, int32_t a, int32_t b, int32_t c, int32_t d, int32_t e, int32_t f,
                 int32_t g)
{
    see(t, 7, (int32_t[]){ a, b, c, d, e, f, g });
}

static void on_16(pen_token *t, int32_t a, int32_t b, int32_t c, int32_t d, int32_t e, int32_t f,
                  int32_t g, int32_t h, int32_t i, int32_t j, int32_t k, int32_t l, int32_t m,
                  int32_t n, int32_t o, int32_t p)
{
    see(t, 16, (int32_t[]){ a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p });
}

static void on_medium_2(pen_token *t, void *payload, size_t len, int32_t a, int32_t b)
{
    see(t, 2, (int32_t[]){ a, b });
    see_payload(payload, len);
}

static void on_medium_16(pen_token *t, void *payload, size_t len, int32_t a, int32_t b, int32_t c,
                         int32_t d, int32_t e, int32_t f, int32_t g, int32_t h, int32_t i,
                         int32_t j, int32_t k, int32_t l, int32_t m, int32_t n, int32_t o,
                         int32_t p)
{
    see(t, 16, (int32_t[]){ a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p });
    see_payload(payload, len);
}

static void on_payload(pen_token *t, void *payload, size_t len)
{
    see(t, 0, NULL);
    see_payload(payload, len);
}

enum { ECHO = 150, ECHO_MEDIUM, SHORT_REPLY, MEDIUM_REPLY, TWICE, BACK, NONE = 199 };

static void on_echo(pen_token *t, int32_t a)
{
    uint64_t words[2] = { 0, (uint32_t)a };
    (void)pen_am_reply_short(t, SHORT_REPLY, 0, 1, words);
}

static void on_echo_medium(pen_token *t, void *payload, size_t len)
{
    uint64_t words[1];
    for (size_t i = 0; i < len; i++)
        ((char *)payload)[i]++; /* the payload is the handler's to write, and a source of replies */
    (void)pen_am_reply_medium(t, MEDIUM_REPLY, payload, len, 0, 0, words);
}

static pen_team *from_0(pair *p) { return &p->jobs[0].world; }

static void check_arity(pair *p, unsigned count, void (*function)(void))
{
    int32_t args[PEN_AM_ARGS_MAX];
    uint64_t words[PEN_AM_WORDS_MAX];
    for (unsigned i = 0; i < PEN_AM_ARGS_MAX; i++)
        args[i] = (int32_t)(0x80000001u + i * 0x01010101u);
    pair_words(words, count, args);
    pair_register_as(p, (uint8_t)(160 + count), function, 0);
    assert_int_equal(pen_am_request_short(from_0(p), 1, (uint8_t)(160 + count), 0, count, words),
                     0);
    pair_settle(p);
    assert_int_equal(last.arg_count, count);
    assert_memory_equal(last.args, args, count * sizeof *args);
    assert_int_equal(last.from, 0);
    assert_true(last.is_request && !last.is_long);
    assert_ptr_equal(last.entry, &p->jobs[1].am->entries[160 + count]);
}

static void arguments_arrive_bit_for_bit(void **state)
{
    pair *p = *state;
    check_arity(p, 0, (void (*)(void))on_0);
    check_arity(p, 1, (void (*)(void))on_1);
    check_arity(p, 4, (void (*)(void))on_4);
    check_arity(p, 7, (void (*)(void))on_7);
    check_arity(p, 16, (void (*)(void))on_16);
    assert_int_equal(last.calls, 5);
    assert_int_equal(p->jobs[1].counters.am_handled, 5);
    assert_int_equal(p->jobs[0].counters.am_sent_shm, 5);
    assert_int_equal(p->jobs[1].counters.frame_dropped, 0);
}

static void a_medium_arrives_with_payload_and_arguments(void **state)
{
    pair *p = *state;
    uint64_t words[PEN_AM_WORDS_MAX];
    pair_register(p, 130, on_medium_2);
    pair_register(p, 131, on_medium_16);
    pair_words(words, 2, (int32_t[]){ -1, 2 });
    assert_int_equal(pen_am_request_medium(from_0(p), 1, 130, "payload", 7, 0, 2, words), 0);
    pair_settle(p);
    assert_int_equal(last.len, 7);
    assert_memory_equal(last.copy, "payload", 7);
    assert_int_equal((uintptr_t)last.payload % 16, 0);
    assert_int_equal(last.args[0], -1);
    int32_t args[16];
    for (int32_t i = 0; i < 16; i++)
        args[i] = i * i;
    pair_words(words, 16, args);
    assert_int_equal(pen_am_request_medium(from_0(p), 1, 131, NULL, 0, 0, 16, words), 0);
    pair_settle(p);
    assert_int_equal(last.len, 0);
    assert_memory_equal(last.args, args, sizeof args);
}

static void a_message_to_oneself_works(void **state)
{
    pair *p = *state;
    uint64_t words[2] = { 0, 5 };
    pair_register(p, ECHO, on_echo);
    pair_register(p, SHORT_REPLY, on_1);
    assert_int_equal(pen_am_request_short(from_0(p), 0, ECHO, 0, 1, words), 0);
    pair_settle(p);
    assert_int_equal(last.args[0], 5);
    assert_false(last.is_request);
}

static void a_handler_replies_from_the_payload_it_changed(void **state)
{
    pair *p = *state;
    uint64_t words[1];
    pair_register(p, ECHO_MEDIUM, on_echo_medium);
    pair_register(p, MEDIUM_REPLY, on_payload);
    assert_int_equal(pen_am_request_medium(from_0(p), 1, ECHO_MEDIUM, "HAL", 3, 0, 0, words), 0);
    pair_settle(p);
    assert_memory_equal(last.copy, "IBM", 3);
    assert_int_equal(last.from, 1);
    assert_int_equal(p->jobs[1].counters.am_sent_shm, 1);
}

static void without_room_an_immediate_request_leaves_no_trace(void **state)
{
    pair *p = *state;
    uint64_t words[2] = { 0, 1 };
    static char segment[64];
    pair_publish(p, segment, sizeof segment, true);
    p->ends[1].room[PEN_LANE_REQUEST] = 0;
    p->ends[0].base.zcopy = &pair_zcopy;
    pen_team *team = from_0(p);
    assert_int_not_equal(pen_am_request_short(team, 1, 130, PEN_AM_IMMEDIATE, 1, words), 0);
    assert_int_not_equal(pen_am_request_medium(team, 1, 130, "x", 1, PEN_AM_IMMEDIATE, 1, words),
                         0);
    assert_int_not_equal(
        pen_am_request_long(team, 1, 130, "x", 1, segment, PEN_AM_IMMEDIATE, 1, words), 0);
    assert_int_equal(segment[0], 0);
    assert_int_equal(p->ends[0].posts, 0);
    assert_int_equal(p->jobs[0].counters.am_sent_shm, 0);
    assert_int_equal(p->jobs[0].counters.again_room, 0);
}

static void without_room_a_request_polls_until_there_is_some(void **state)
{
    pair *p = *state;
    uint64_t words[2] = { 0, 3 };
    pair_register(p, 130, on_1);
    p->ends[1].room[PEN_LANE_REQUEST] = 2;
    p->ends[0].serves_peer = true;
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(pen_am_request_short(from_0(p), 1, 130, 0, 1, words), 0);
    assert_true(p->jobs[0].counters.again_room > 0);
    pair_settle(p);
    assert_int_equal(last.calls, 20);
    assert_int_equal(p->jobs[0].counters.am_sent_shm, 20);
}

static void a_reply_without_room_waits_in_the_backlog(void **state)
{
    pair *p = *state;
    uint64_t words[2] = { 0, 9 };
    pair_register(p, ECHO, on_echo);
    pair_register(p, SHORT_REPLY, on_1);
    p->ends[0].room[PEN_LANE_REPLY] = 0;
    assert_int_equal(pen_am_request_short(from_0(p), 1, ECHO, 0, 1, words), 0);
    (void)pen_progress_poll(&p->jobs[1].progress);
    assert_int_equal(p->jobs[1].counters.again_backlog, 1);
    assert_int_equal(last.calls, 0);
    p->ends[0].room[PEN_LANE_REPLY] = PAIR_QUEUE;
    pair_settle(p);
    assert_int_equal(last.args[0], 9);
}

static void on_echo_immediate(pen_token *t)
{
    uint64_t words[1];
    see(t, 0, NULL);
    last.args[0] = pen_am_reply_short(t, SHORT_REPLY, PEN_AM_IMMEDIATE, 0, words);
    last.args[1] = pen_am_reply_medium(t, SHORT_REPLY, "x", 1, PEN_AM_IMMEDIATE, 0, words);
    last.args[2] = pen_am_reply_short(t, SHORT_REPLY, 0, 0, words);
}

static void a_refused_immediate_reply_may_be_tried_again(void **state)
{
    pair *p = *state;
    uint64_t words[1];
    pair_register(p, BACK, on_echo_immediate);
    pair_register(p, SHORT_REPLY, on_0);
    p->ends[0].room[PEN_LANE_REPLY] = 0;
    assert_int_equal(pen_am_request_short(from_0(p), 1, BACK, 0, 0, words), 0);
    (void)pen_progress_poll(&p->jobs[1].progress);
    assert_int_not_equal(last.args[0], 0);
    assert_int_not_equal(last.args[1], 0);
    assert_int_equal(last.args[2], 0);
    p->ends[0].room[PEN_LANE_REPLY] = 1;
    pair_settle(p);
    assert_int_equal(last.calls, 2);
}

static void a_body_that_the_link_keeps_may_be_overwritten_at_once(void **state)
{
    pair *p = *state;
    uint64_t words[1];
    char source[300];
    memset(source, 'a', sizeof source);
    pair_register(p, ECHO_MEDIUM, on_echo_medium);
    pair_register(p, MEDIUM_REPLY, on_payload);
    p->ends[0].base.caps.frame_copy_max = p->ends[1].base.caps.frame_copy_max = 64;
    assert_int_equal(
        pen_am_request_medium(from_0(p), 1, ECHO_MEDIUM, source, sizeof source, 0, 0, words), 0);
    assert_int_equal(p->ends[0].op_count, 1);
    memset(source, 'z', sizeof source);
    pair_settle(p);
    assert_int_equal(last.len, sizeof source);
    assert_int_equal(last.copy[299], 'b');
    assert_int_equal(p->jobs[0].counters.am_sent_shm, 1);
    assert_int_equal(p->ends[0].op_count + p->ends[1].op_count, 0);
}

static unsigned internal_calls;

static void on_internal(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                        uint32_t body_len)
{
    internal_calls++;
    assert_int_equal(arg_count, 3);
    assert_int_equal(args[2], -3);
    assert_int_equal(token->from, 0);
    assert_int_equal(body_len, 4);
    assert_memory_equal(body, "body", 4);
}

static void internal_messages_use_every_lane(void **state)
{
    pair *p = *state;
    pen_am_register_internal(&p->jobs[1], PEN_AM_INT_PUT, on_internal);
    internal_calls = 0;
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++)
        assert_int_equal(pen_am_send_internal(&p->jobs[0], 1, lane, PEN_AM_INT_PUT, 3,
                                              (int32_t[]){ 1, 2, -3 }, "body", 4),
                         0);
    pair_settle(p);
    assert_int_equal(internal_calls, 3);
    assert_int_equal(p->jobs[1].counters.frame_dropped, 0);
}

static void an_internal_request_without_room_is_the_callers_to_repeat(void **state)
{
    pair *p = *state;
    pen_am_register_internal(&p->jobs[1], PEN_AM_INT_PUT, on_internal);
    internal_calls = 0;
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++)
        p->ends[1].room[lane] = 0;
    int32_t args[] = { 1, 2, -3 };
    assert_int_not_equal(
        pen_am_send_internal(&p->jobs[0], 1, PEN_LANE_REQUEST, PEN_AM_INT_PUT, 3, args, "body", 4),
        0);
    assert_int_equal(
        pen_am_send_internal(&p->jobs[0], 1, PEN_LANE_CONTROL, PEN_AM_INT_PUT, 3, args, "body", 4),
        0);
    p->ends[1].room[PEN_LANE_CONTROL] = 1;
    pair_settle(p);
    assert_int_equal(internal_calls, 1);
}

/* ---- what ends the job ----------------------------------------------------------------------- */

static void send_unregistered(pair *p)
{
    uint64_t words[1];
    (void)pen_am_request_short(from_0(p), 1, NONE, 0, 0, words);
    pair_settle(p);
}

static void send_unregistered_medium(pair *p)
{
    uint64_t words[1];
    (void)pen_am_request_medium(from_0(p), 1, NONE, "x", 1, 0, 0, words);
    pair_settle(p);
}

static void send_low(pair *p)
{
    uint64_t words[1];
    (void)pen_am_request_short(from_0(p), 1, 127, 0, 0, words);
}

static void send_too_much(pair *p)
{
    static char source[PEN_AM_MEDIUM_LONG + 1];
    uint64_t words[1];
    (void)pen_am_request_medium(from_0(p), 1, 130, source, sizeof source, 0, 0, words);
}

static void on_twice(pen_token *t)
{
    uint64_t words[1];
    (void)pen_am_reply_short(t, SHORT_REPLY, 0, 0, words);
    (void)pen_am_reply_medium(t, SHORT_REPLY, NULL, 0, 0, 0, words);
}

static void reply_twice(pair *p)
{
    uint64_t words[1];
    (void)pen_am_request_short(from_0(p), 1, TWICE, 0, 0, words);
    pair_settle(p);
}

static void on_reply_replies(pen_token *t)
{
    uint64_t words[1];
    (void)pen_am_reply_short(t, BACK, 0, 0, words);
}

static void reply_to_a_reply(pair *p)
{
    uint64_t words[1];
    (void)pen_am_request_short(from_0(p), 1, BACK, 0, 0, words);
    pair_settle(p);
}

static void misuse_ends_the_job_with_a_line_that_names_it(void **state)
{
    pair *p = *state;
    pair_register(p, SHORT_REPLY, on_0);
    pair_register(p, TWICE, on_twice);
    pair_register(p, BACK, on_reply_replies);
    pair_expect_fatal(p, send_unregistered, "rank 0 sent an active message for handler 199");
    pair_expect_fatal(p, send_unregistered_medium, "rank 0 sent an active message for handler 199");
    pair_expect_fatal(p, send_low, "names handler 127");
    pair_expect_fatal(p, send_too_much, "65537 bytes");
    pair_expect_fatal(p, reply_twice, "a second time");
    pair_expect_fatal(p, reply_to_a_reply, "to a reply");
}

static void send_broken_promises(pair *p, uint32_t flags, unsigned arg_count)
{
    uint64_t words[2] = { 0, 0 };
    pen_am_entry entry = { 140, (void (*)(void))on_0, flags, arg_count, NULL, "promise" };
    (void)pen_am_register(&p->jobs[1], &p->jobs[1].log, &entry, 1);
    (void)pen_am_request_short(from_0(p), 1, 140, 0, 0, words);
    pair_settle(p);
}

static void send_wrong_category(pair *p)
{
    send_broken_promises(p, PEN_AM_PROMISE_MEDIUM | PEN_AM_PROMISE_LONG, 0);
}

static void send_wrong_role(pair *p)
{
    send_broken_promises(p, PEN_AM_PROMISE_SHORT | PEN_AM_PROMISE_REPLY, 0);
}

static void send_wrong_count(pair *p) { send_broken_promises(p, 0, 1); }

static void checked_builds_hold_clients_to_what_they_registered(void **state)
{
    if (!PEN_CHECKED)
        skip();
    pair_expect_fatal(*state, send_wrong_category, "(promise) a Short message");
    pair_expect_fatal(*state, send_wrong_role, "(promise) a request");
    pair_expect_fatal(*state, send_wrong_count, "(promise) 0 arguments");
}

static uint32_t depth_seen;

static void on_depth(pen_token *t)
{
    depth_seen = t->job->first_thread.handler_depth * 2 + t->job->first_thread.handler_is_request;
}

static void checked_builds_know_that_a_handler_runs(void **state)
{
    pair *p = *state;
    uint64_t words[1];
    if (!PEN_CHECKED)
        skip();
    pair_register(p, 130, on_depth);
    (void)pen_am_request_short(from_0(p), 1, 130, 0, 0, words);
    pair_settle(p);
    assert_int_equal(depth_seen, 3);
    assert_int_equal(p->jobs[1].first_thread.handler_depth, 0);
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(arguments_arrive_bit_for_bit),
        RIGGED(a_medium_arrives_with_payload_and_arguments),
        RIGGED(a_message_to_oneself_works),
        RIGGED(a_handler_replies_from_the_payload_it_changed),
        RIGGED(without_room_an_immediate_request_leaves_no_trace),
        RIGGED(without_room_a_request_polls_until_there_is_some),
        RIGGED(a_reply_without_room_waits_in_the_backlog),
        RIGGED(a_refused_immediate_reply_may_be_tried_again),
        RIGGED(a_body_that_the_link_keeps_may_be_overwritten_at_once),
        RIGGED(internal_messages_use_every_lane),
        RIGGED(an_internal_request_without_room_is_the_callers_to_repeat),
        RIGGED(misuse_ends_the_job_with_a_line_that_names_it),
        RIGGED(checked_builds_hold_clients_to_what_they_registered),
        RIGGED(checked_builds_know_that_a_handler_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
