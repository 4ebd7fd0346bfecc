/* SPDX-License-Identifier: BSD-3-Clause */
/* peers_test.c: how a link of the extoll conduit handles packets, also those that no correct rank
 * sends: the test puts them into rank 0's mailbox one by one. */
#include "unit/extoll/extoll_job.h"

static void send_raw_from(job *j, pen_peer from, const void *bytes, size_t len, uint8_t tag,
                          uint8_t mtt)
{
    velo2_connection_t *to = &extoll_of(j->ranks[from].link)->to[0].velo;
    assert_int_equal(velo2_send(to, bytes, len, tag, mtt), VELO2_RET_SUCCESS);
}

static void send_raw(job *j, const void *bytes, size_t len, uint8_t tag, uint8_t mtt)
{
    send_raw_from(j, 1, bytes, len, tag, mtt);
}

/* Rank 0 is done with rank 1, says so once, and goes on with others. */
static void expect_loss(job *j, const char *why)
{
    rank *r = &j->ranks[0];
    poll_one(j, 0);
    if (r->lost != 1)
        fail_msg("not lost: %s", why);
    assert_int_equal(r->delivered, 0);
    assert_non_null(strstr(r->line, "cannot go on with rank 1 over extoll"));
    if (strstr(r->line, why) == NULL)
        fail_msg("'%s' does not say '%s'", r->line, why);
    send_raw(j, "12345678", 8, 0, EXTOLL_SHORT);
    poll_one(j, 0);
    assert_int_equal(r->lost, 1);
    assert_int_equal(r->lines, 1);
    assert_int_equal(r->delivered, 0);
    assert_int_equal(post(j, 0, 1, PEN_LANE_REQUEST, 1, 0), PEN_POST_FAILED);
    post_sure(j, 2, 0, PEN_LANE_REQUEST, 5, 0);
    await(j, 0, 1);
    assert_int_equal(r->head, 5);
}

static void packets_that_no_rank_sends_lose_their_sender(void **state)
{
    (void)state;
    const pen_credit_tag none = { 0 };
    const uint64_t long_frame = pen_piece_begin(8, 20, false),
                   bad_begin = pen_piece_begin(8, 9000, false), grant = UINT64_C(1) << 31;
    const struct {
        uint64_t words[3];
        size_t len;
        uint8_t tag, mtt;
        const char *why;
    } packets[] = {
        { { 1 }, 8, PEN_MAILBOX_ZERO, EXTOLL_SHORT, "a packet has no credit" },
        { { 1 }, 8, 3, EXTOLL_SHORT, "a packet has no credit" },
        { { 1 }, 4, pen_mailbox_tag(0, none, true), EXTOLL_SHORT, "a packet has no credit" },
        { { 3 }, 8, pen_mailbox_tag(0, none, true), EXTOLL_SHORT, "a packet has no credit" },
        { { grant }, 8, 0, EXTOLL_CREDIT, "a packet has no credit" },
        { { 0 }, 4, 0, EXTOLL_CREDIT, "a packet has no credit" },
        { { 0 }, 8, 1, EXTOLL_CREDIT, "a packet has no credit" },
        { { 2 }, 8, 0, EXTOLL_CREDIT, "a packet has no credit" },
        { { 1 }, 4, 0, EXTOLL_SHORT, "a head has an invalid length" },
        { { 1 }, 0, 0, EXTOLL_SHORT, "a head has an invalid length" },
        { { 1 }, 8, 0, EXTOLL_MORE, "a packet continues a frame that has not begun" },
        { { bad_begin }, 8, 0, EXTOLL_BEGIN, "a frame has a malformed begin" },
        { { 0 }, 4, 0, EXTOLL_BEGIN, "a frame has a malformed begin" },
        { { pen_piece_begin(8, 0, false) | 1 << 5 },
          16,
          0,
          EXTOLL_BEGIN,
          "a frame has a malformed begin" },
        { { pen_piece_begin(0, 8, false) }, 16, 0, EXTOLL_BEGIN, "a frame has a malformed begin" },
        { { pen_piece_begin(8, 1, false), 0, 0 }, 24, 0, EXTOLL_BEGIN, "longer than announced" },
        { { long_frame, 0, 0 }, 24, 0, EXTOLL_BEGIN, NULL }, /* a second one before its end */
    };
    for (size_t i = 0; i < sizeof packets / sizeof packets[0]; i++) {
        job j = { .size = 3, .settings = { "CREDIT_QUOTA=3" } };
        job_open(&j);
        send_raw(&j, packets[i].words, packets[i].len, packets[i].tag, packets[i].mtt);
        if (packets[i].why == NULL)
            send_raw(&j, packets[i].words, packets[i].len, packets[i].tag, packets[i].mtt);
        expect_loss(&j, packets[i].why != NULL ? packets[i].why : "a frame has a malformed begin");
        job_close(&j);
    }
}

static void packets_without_a_credit_lose_their_sender(void **state)
{
    (void)state;
    job j = { .size = 3, .settings = { "CREDIT_QUOTA=3" } };
    const uint64_t begin[2] = { pen_piece_begin(8, 8000, false) };
    job_open(&j);
    rank *r = &j.ranks[0];
    send_raw(&j, begin, 16, 0, EXTOLL_BEGIN);
    for (unsigned i = 0; i < 2; i++) /* three are its own; requests are not asked for */
        send_raw(&j, begin, 16, 0, EXTOLL_MORE);
    (void)r->link->ops->poll(r->link, PEN_LANES_ALL & ~PEN_LANE_BIT(PEN_LANE_REQUEST), 32);
    assert_int_equal(r->lost, 0);
    send_raw(&j, begin, 16, 0, EXTOLL_MORE);
    expect_loss(&j, "a packet has no credit");
    job_close(&j);
}

static void head_without_a_credit_is_not_delivered(void **state)
{
    (void)state;
    job j = { .size = 3, .settings = { "CREDIT_QUOTA=3" } };
    job_open(&j);
    rank *r = &j.ranks[0];
    for (unsigned i = 0; i < 4; i++) /* three are its own */
        send_raw(&j, "12345678", 8, PEN_LANE_REPLY, EXTOLL_SHORT);
    poll_one(&j, 0);
    assert_int_equal(r->delivered, 3);
    assert_int_equal(r->lost, 1);
    assert_non_null(strstr(r->line, "a packet has no credit"));
    job_close(&j);
}

/* One poll of rank 0 delivers `count` whole frames; the last of them is frame `number`. */
static void expect_frames(job *j, unsigned count, uint64_t number)
{
    rank *r = &j->ranks[0];
    poll_one(j, 0);
    assert_int_equal(r->lost, 0);
    assert_int_equal(r->delivered, count);
    assert_int_equal(r->head, number);
    assert_false(r->wrong);
}

/* A frame of 150 bytes, which are in three packets, as far as one of them. */
static void send_part(job *j, pen_peer from, uint64_t number, unsigned part)
{
    enum { LEN = 150 };
    unsigned char frame[16 + LEN];
    const uint64_t lead[2] = { pen_piece_begin(8, LEN, false), number };
    memcpy(frame, lead, sizeof lead);
    fill(frame + sizeof lead, LEN, number);
    const size_t at = (size_t)part * VELO2_MAX_MSG_SIZE_64;
    const size_t len = part < 2 ? VELO2_MAX_MSG_SIZE_64 : sizeof frame - at;
    send_raw_from(j, from, frame + at, len, 0, part == 0 ? EXTOLL_BEGIN : EXTOLL_MORE);
}

static void bodies_that_come_in_turns_do_not_mix(void **state)
{
    (void)state;
    static const unsigned turns[][2] = {
        { 1, 0 }, { 2, 0 }, { 1, 1 }, { 2, 1 }, { 2, 2 }, { 1, 2 }
    };
    job j = { .size = 3 };
    job_open(&j);
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++)
        send_part(&j, turns[i][0], 70 + turns[i][0], turns[i][1]);
    expect_frames(&j, 2, 71);
    job_close(&j);
}

static void head_that_goes_on_is_no_body(void **state)
{
    (void)state;
    enum { HEAD_LEN = 64, LEN = 20 };
    job j = { .size = 3 };
    uint64_t frame[(8 + HEAD_LEN + LEN + 7) / 8] = { pen_piece_begin(HEAD_LEN, LEN, false), 9 };
    job_open(&j);
    fill((unsigned char *)frame + 8 + HEAD_LEN, LEN, 9);
    send_raw(&j, frame, VELO2_MAX_MSG_SIZE_64, 0, EXTOLL_BEGIN);
    send_raw(&j, (char *)frame + VELO2_MAX_MSG_SIZE_64, 8 + HEAD_LEN + LEN - VELO2_MAX_MSG_SIZE_64,
             0, EXTOLL_MORE);
    expect_frames(&j, 1, 9);
    job_close(&j);
}

/* Also where it could go straight. */
static void second_frame_before_the_end_of_the_first_loses_its_sender(void **state)
{
    (void)state;
    job j = { .size = 3, .settings = { "CREDIT_QUOTA=3" } };
    const uint64_t begin[7] = { pen_piece_begin(8, 8000, false) };
    job_open(&j);
    for (unsigned i = 0; i < 2; i++)
        send_raw(&j, begin, sizeof begin, 0, EXTOLL_BEGIN);
    expect_loss(&j, "a frame has a malformed begin");
    job_close(&j);
}

/* Bytes that go straight to their place are looked at no less. */
static void bodies_that_go_on_too_long_lose_their_sender(void **state)
{
    (void)state;
    static const unsigned char bytes[VELO2_MAX_MSG_SIZE_64];
    const struct {
        uint32_t body_len;
        size_t len;
        unsigned packets;
    } runs[] = { { 41, 2, 1 }, { 50, 56, 1 }, { 50, 0, 1 }, { 8000, 56, 3 } };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        job j = { .size = 3, .settings = { "CREDIT_QUOTA=3" } };
        job_open(&j);
        const uint64_t begin[7] = { pen_piece_begin(8, runs[i].body_len, false) };
        send_raw(&j, begin, sizeof begin, 0, EXTOLL_BEGIN);
        for (unsigned k = 0; k < runs[i].packets; k++)
            send_raw(&j, bytes, runs[i].len, 0, EXTOLL_MORE);
        expect_loss(&j, "a packet has no credit, or a frame is longer than announced");
        job_close(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_that_no_rank_sends_lose_their_sender),
        cmocka_unit_test(packets_without_a_credit_lose_their_sender),
        cmocka_unit_test(head_without_a_credit_is_not_delivered),
        cmocka_unit_test(bodies_that_come_in_turns_do_not_mix),
        cmocka_unit_test(head_that_goes_on_is_no_body),
        cmocka_unit_test(second_frame_before_the_end_of_the_first_loses_its_sender),
        cmocka_unit_test(bodies_that_go_on_too_long_lose_their_sender),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
