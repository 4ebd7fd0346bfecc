/* SPDX-License-Identifier: BSD-3-Clause */
/* link_test.c: links of the extoll conduit in one process: how large its mailboxes are, each fault
 * of the card under it, and packets that no rank of ours sends. That a fault has struck is seen in
 * the card's counters. */
#include "unit/extoll/extoll_job.h"

/* ---- mailboxes ------------------------------------------------------------------------------- */

static const char *plan_of(pen_peer peers, const char *quota, const char *control,
                           const char *mailbox, extoll_plan *plan)
{
    job j = { .settings = { quota, control, mailbox } };
    job_read(&j);
    return extoll_plan_make((const extoll_config *)(const void *)j.config, peers, plan);
}

/* (N - 1)(2n + 3) slots for messages, and 3(N - 1) for the end of the job. */
static void least_mailbox_is_as_small_as_promised(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 8; n++) {
        for (pen_peer ranks = 2; ranks < 40; ranks++) {
            char quota[40], control[40], mailbox[40];
            extoll_plan plan;
            const uint32_t slots = (ranks - 1) * (2 * n + 3) + 3 * (ranks - 1);
            (void)snprintf(quota, sizeof quota, "CREDIT_QUOTA=%u", n + 1);
            (void)snprintf(control, sizeof control, "CREDIT_CONTROL=%u", n);
            assert_null(plan_of(ranks, quota, control, NULL, &plan));
            assert_int_equal(plan.card.mailbox_slots, slots);
            (void)snprintf(mailbox, sizeof mailbox, "MAILBOX=%u", slots);
            assert_null(plan_of(ranks, quota, control, mailbox, &plan));
            (void)snprintf(mailbox, sizeof mailbox, "MAILBOX=%u", slots - 1);
            assert_non_null(plan_of(ranks, quota, control, mailbox, &plan));
            (void)snprintf(quota, sizeof quota, "CREDIT_QUOTA=%u", n);
            assert_non_null(plan_of(ranks, quota, control, NULL, &plan));
        }
    }
}

/* Nobody is ever told that a mailbox is full, however small it is: credits see to that. */
static void least_mailbox_never_overflows(void **state)
{
    (void)state;
    static const char *const policies[] = { "CREDIT_POLICY=static", "CREDIT_POLICY=activity",
                                            "CREDIT_POLICY=loan" };
    for (unsigned policy = 0; policy < 3; policy++) {
        job j = { .size = 3, .settings = { "CREDIT_QUOTA=3", policies[policy] } };
        job_open(&j);
        exchange(&j, 60);
        for (pen_peer self = 0; self < 3; self++)
            assert_int_equal(counts_of(&j, self).retries, 0);
        job_close(&j);
    }
}

static void mailbox_that_is_too_small_is_refused_in_a_line(void **state)
{
    (void)state;
    job j = { .size = 2, .settings = { "MAILBOX=10" } };
    job_read(&j);
    assert_int_equal(pen_conduit_extoll.shared_len(2, j.config), 0);
    assert_int_equal(rank_open(&j, 0), PEN_ERR_ARGUMENT);
    assert_non_null(
        strstr(j.ranks[0].line, "PENSTOCK_EXTOLL_MAILBOX is less than the credits need"));
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void frames_arrive_though_the_card_says_that_it_is_full(void **state)
{
    (void)state;
    job j = { .size = 3, .settings = { "CREDIT_QUOTA=3", "FAULT_FULL=2" } };
    job_open(&j);
    exchange(&j, 60);
    for (pen_peer self = 0; self < 3; self++)
        assert_true(counts_of(&j, self).retries > 100);
    job_close(&j);
}

/* Takes up what there is in rank 0's mailbox; false: it is rank 2's filling. */
static bool take_raw(job *j, uint8_t *mtt, uint8_t *tag)
{
    velo2_port_t *port = &extoll_of(j->ranks[0].link)->velo;
    uint32_t source = 0;
    assert_int_equal(velo2_check(port, &source, NULL, mtt, tag), VELO2_RET_SUCCESS);
    (void)velo2_recv_complete(port);
    (void)velo2_recv_commit(port);
    return VELO2_ADDRESS_NODE(source) == 1;
}

static unsigned fill_mailbox(job *j)
{
    velo2_connection_t *to = &extoll_of(j->ranks[2].link)->to[0].velo;
    unsigned count = 0;
    while (velo2_send(to, "filling", 8, 0, EXTOLL_SHORT) == VELO2_RET_SUCCESS)
        count++;
    assert_true(count > 2);
    return count;
}

static void poll_one(job *j, pen_peer self)
{
    (void)j->ranks[self].link->ops->poll(j->ranks[self].link, PEN_LANES_ALL, 32);
}

/* What packets say of credits makes sense in the order in which it was counted. */
static void what_the_card_refused_goes_first(void **state)
{
    (void)state;
    for (unsigned of_credits = 0; of_credits < 2; of_credits++) {
        job j = { .size = 3, .settings = { "CREDIT_QUOTA=3" } };
        uint8_t mtt = 0, tag = 0;
        job_open(&j);
        for (unsigned i = 0; of_credits && i < 2; i++) /* rank 1 will owe it credits */
            post_sure(&j, 0, 1, PEN_LANE_REQUEST, 1, 0);
        unsigned filling = fill_mailbox(&j);
        if (of_credits)
            poll_one(&j, 1);
        else
            assert_int_equal(post(&j, 1, 0, PEN_LANE_REQUEST, 1, 0), PEN_POST_DONE);
        assert_true(counts_of(&j, 1).retries > 0);
        assert_false(take_raw(&j, &mtt, &tag)); /* one slot is free */
        assert_int_equal(post(&j, 1, 0, PEN_LANE_REPLY, 2, 0), PEN_POST_DONE);
        for (unsigned i = 1; i < filling; i++)
            assert_false(take_raw(&j, &mtt, &tag));
        poll_one(&j, 1);
        poll_one(&j, 1);
        assert_true(take_raw(&j, &mtt, &tag));
        assert_int_equal(mtt, of_credits ? EXTOLL_CREDIT : EXTOLL_SHORT);
        assert_int_equal(extoll_tag_lane(tag), PEN_LANE_REQUEST);
        assert_true(take_raw(&j, &mtt, &tag));
        assert_int_equal(mtt, EXTOLL_SHORT);
        assert_int_equal(extoll_tag_lane(tag), PEN_LANE_REPLY);
        job_close(&j);
    }
}

static void post_until_full(job *j, unsigned done, uint64_t sent)
{
    for (unsigned i = 0; i < done; i++)
        assert_int_equal(post(j, 0, 1, PEN_LANE_REQUEST, 1, 0), PEN_POST_DONE);
    assert_int_equal(post(j, 0, 1, PEN_LANE_REQUEST, 1, 0), PEN_POST_AGAIN);
    assert_int_equal(counts_of(j, 0).packets_sent, sent);
}

/* Half of the credits, while more keep coming, for so many tries; one for good. */
static void requests_leave_credits_to_replies(void **state)
{
    (void)state;
    job j = { .size = 2, .settings = { "CREDIT_QUOTA=12", "CREDIT_POLICY=static" } };
    job_open(&j);
    post_until_full(&j, 11, 11); /* no credit has ever come */
    poll_one(&j, 1);
    poll_one(&j, 0);
    post_until_full(&j, 6, 17);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(post(&j, 0, 1, PEN_LANE_REPLY, 1, 0), PEN_POST_DONE);
    assert_int_equal(counts_of(&j, 0).packets_sent, 20);
    for (unsigned i = 1; i < EXTOLL_PATIENCE; i++)
        post_until_full(&j, 0, 20);
    post_until_full(&j, 2, 22);
    job_close(&j);
}

static void packets_that_come_late_keep_their_order(void **state)
{
    (void)state;
    job j = { .size = 2, .settings = { "FAULT_DELAY=2ms" } };
    unsigned late = 0;
    job_open(&j);
    for (unsigned i = 0; i < 30; i++) {
        post_sure(&j, 0, 1, PEN_LANE_REQUEST, i, i % 3 * 60);
        poll_all(&j);
        late += j.ranks[1].delivered == i;
        await(&j, 1, i + 1);
        assert_int_equal(j.ranks[1].head, i);
    }
    assert_false(j.ranks[1].wrong);
    assert_true(late > 20);
    job_close(&j);
}

static pen_rkey region_open(job *j, pen_peer of, pen_peer by)
{
    rank *r = &j->ranks[of];
    uint64_t blob = 0;
    pen_rkey key = 0;
    assert_int_equal(r->link->rma->register_region(r->link, r->memory, MEMORY_LEN, &r->region),
                     PEN_OK);
    assert_int_equal(r->link->rma->export_region(r->link, r->region, &blob), PEN_OK);
    pen_link *link = j->ranks[by].link;
    assert_int_equal(link->rma->import_region(link, of, &blob, &key), PEN_OK);
    return key;
}

static void put_sure(job *j, pen_rkey key, const void *from, size_t len, pen_op *op)
{
    pen_link *link = j->ranks[0].link;
    for (uint64_t until = deadline();;) {
        op->source_busy++;
        op->incomplete++;
        pen_post posted = link->rma->put(link, 1, 0, key, from, len, op);
        if (posted == PEN_POST_PENDING)
            return;
        op->source_busy--;
        op->incomplete--;
        if (posted == PEN_POST_DONE)
            return;
        assert_int_equal(posted, PEN_POST_AGAIN);
        poll_all(j);
        assert_true(pen_now_ns() < until);
    }
}

static void await_op(job *j, pen_op *op)
{
    for (uint64_t until = deadline(); op->incomplete != 0;) {
        poll_all(j);
        assert_true(pen_now_ns() < until);
    }
}

static void speak_of(job *j, uint64_t number, size_t len)
{
    pen_link *link = j->ranks[0].link;
    const uint64_t head[2] = { number, len };
    uint64_t until = deadline();
    while (link->behind->post(link, 1, PEN_LANE_REQUEST, head, sizeof head) != PEN_POST_DONE) {
        poll_all(j);
        assert_true(pen_now_ns() < until);
    }
    await(j, 1, j->ranks[1].delivered + 1);
    assert_int_equal(j->ranks[1].head, number);
}

/* Puts of all kinds, and frames behind them that say what must be there by then. Answers how many
 * were not there at once. */
static unsigned put_all(job *j)
{
    static const size_t lens[] = { 1, 8, 9, 4000, EXTOLL_BOUNCE_LEN };
    pen_rkey key = region_open(j, 1, 0);
    unsigned char *own = malloc(EXTOLL_BOUNCE_LEN);
    unsigned late = 0;
    assert_non_null(own);
    (void)region_open(j, 0, 1);
    for (unsigned i = 0; i < 60; i++) {
        const size_t len = lens[i % 5];
        unsigned char *from = i / 5 % 2 == 0 ? own : j->ranks[0].memory;
        pen_op op = { .local = i / 10 % 2 == 0 };
        fill(from, len, i);
        put_sure(j, key, from, len, &op);
        late += !is_filled(j->ranks[1].memory, len, i);
        if (op.local)
            speak_of(j, i, len);
        await_op(j, &op);
        assert_true(is_filled(j->ranks[1].memory, len, i));
    }
    assert_false(j->ranks[1].wrong);
    assert_int_equal(counts_of(j, 0).errors, 0);
    free(own);
    return late;
}

static void puts_arrive(void **state)
{
    (void)state;
    job j = { .size = 2 };
    job_open(&j);
    assert_int_equal(put_all(&j), 0);
    assert_int_equal(counts_of(&j, 0).queue_full, 0);
    job_close(&j);
}

static void puts_that_the_card_makes_late_arrive(void **state)
{
    (void)state;
    job j = { .size = 2, .settings = { "FAULT_LATE=2" } };
    job_open(&j);
    assert_in_range(put_all(&j), 15, 60);
    job_close(&j);
}

static void puts_arrive_though_queues_say_that_they_are_full(void **state)
{
    (void)state;
    job j = { .size = 2, .settings = { "FAULT_FULL=3", "FAULT_LATE=3" } };
    job_open(&j);
    (void)put_all(&j);
    assert_true(counts_of(&j, 0).queue_full > 20);
    job_close(&j);
}

static void puts_wait_for_room_in_a_short_queue(void **state)
{
    (void)state;
    job j = { .size = 2, .settings = { "NOTIFICATIONS=2" } };
    job_open(&j);
    (void)put_all(&j);
    unsigned char *memory = j.ranks[0].memory;
    pen_rkey key = 0;
    assert_int_equal(j.ranks[1].link->rma->export_region(j.ranks[1].link, j.ranks[1].region, &key),
                     PEN_OK);
    pen_op op = { 0 };
    fill(memory, 4000, 7);
    for (unsigned i = 0; i < 20; i++) /* each has a notification for us */
        put_sure(&j, key, memory, 4000, &op);
    assert_true(counts_of(&j, 0).queue_full > 0);
    await_op(&j, &op);
    assert_int_equal(op.source_busy, 0);
    assert_true(is_filled(j.ranks[1].memory, 4000, 7));
    job_close(&j);
}

/* What cannot be registered is refused with the reason, and messages are not touched by it. */
static void registration_that_fails_is_said_with_its_reason(void **state)
{
    (void)state;
    static const char *const reasons[] = { "with the card: out of memory;",
                                           "with the card: limit of locked memory;" };
    for (unsigned mlock = 0; mlock < 2; mlock++) {
        unsigned failed = 0;
        job j = { .size = 2,
                  .settings = { "FAULT_REGISTER=2",
                                mlock ? "FAULT_MLOCK=yes" : "FAULT_MLOCK=no" } };
        job_open(&j);
        rank *r = &j.ranks[0];
        for (unsigned i = 0; i < 40 && r->region == NULL; i++) {
            pen_status status =
                r->link->rma->register_region(r->link, r->memory, MEMORY_LEN, &r->region);
            if (status == PEN_OK) {
                r->link->rma->deregister_region(r->link, r->region);
                r->region = NULL;
                continue;
            }
            failed++;
            assert_int_equal(status, PEN_ERR_RESOURCE);
            assert_non_null(strstr(r->line, "cannot register a segment of 1048576 bytes"));
            assert_non_null(strstr(r->line, reasons[mlock]));
        }
        assert_in_range(failed, 5, 35);
        exchange(&j, 20);
        job_close(&j);
    }
}

static void rank_that_can_register_nothing_makes_all_use_messages(void **state)
{
    (void)state;
    job j = { .size = 2, .settings = { "FAULT_REGISTER=1" } };
    job_open(&j);
    rank *r = &j.ranks[0];
    assert_int_equal(r->link->rma->register_region(r->link, r->memory, MEMORY_LEN, &r->region),
                     PEN_ERR_RESOURCE);
    assert_non_null(strstr(r->line, "a rank could not register any"));
    exchange(&j, 20);
    job_close(&j);
}

/* ---- peers that make no sense ---------------------------------------------------------------- */

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
    (void)r->link->ops->poll(r->link, PEN_LANES_ALL, 32);
    if (r->lost != 1)
        fail_msg("not lost: %s", why);
    assert_int_equal(r->delivered, 0);
    assert_non_null(strstr(r->line, "cannot go on with rank 1 over extoll"));
    if (strstr(r->line, why) == NULL)
        fail_msg("'%s' does not say '%s'", r->line, why);
    send_raw(j, "12345678", 8, 0, EXTOLL_SHORT);
    (void)r->link->ops->poll(r->link, PEN_LANES_ALL, 32);
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
    const uint64_t long_frame = extoll_begin(8, 20, false),
                   bad_begin = extoll_begin(8, 9000, false), grant = UINT64_C(1) << 31;
    const struct {
        uint64_t words[3];
        size_t len;
        uint8_t tag, mtt;
        const char *why;
    } packets[] = {
        { { 1 }, 8, EXTOLL_TAG_ZERO, EXTOLL_SHORT, "a packet has no credit" },
        { { 1 }, 8, 3, EXTOLL_SHORT, "a packet has no credit" },
        { { 1 }, 4, extoll_tag(0, none, true), EXTOLL_SHORT, "a packet has no credit" },
        { { 3 }, 8, extoll_tag(0, none, true), EXTOLL_SHORT, "a packet has no credit" },
        { { grant }, 8, 0, EXTOLL_CREDIT, "a packet has no credit" },
        { { 0 }, 4, 0, EXTOLL_CREDIT, "a packet has no credit" },
        { { 0 }, 8, 1, EXTOLL_CREDIT, "a packet has no credit" },
        { { 2 }, 8, 0, EXTOLL_CREDIT, "a packet has no credit" },
        { { 1 }, 4, 0, EXTOLL_SHORT, "a head has a length that none has" },
        { { 1 }, 0, 0, EXTOLL_SHORT, "a head has a length that none has" },
        { { 1 }, 8, 0, EXTOLL_MORE, "a frame goes on that has not begun" },
        { { bad_begin }, 8, 0, EXTOLL_BEGIN, "a frame begins as none does" },
        { { 0 }, 4, 0, EXTOLL_BEGIN, "a frame begins as none does" },
        { { extoll_begin(8, 1, false), 0, 0 }, 24, 0, EXTOLL_BEGIN, "longer than it said" },
        { { long_frame, 0, 0 }, 24, 0, EXTOLL_BEGIN, NULL }, /* a second one before its end */
    };
    for (size_t i = 0; i < sizeof packets / sizeof packets[0]; i++) {
        job j = { .size = 3, .settings = { "CREDIT_QUOTA=3" } };
        job_open(&j);
        send_raw(&j, packets[i].words, packets[i].len, packets[i].tag, packets[i].mtt);
        if (packets[i].why == NULL)
            send_raw(&j, packets[i].words, packets[i].len, packets[i].tag, packets[i].mtt);
        expect_loss(&j, packets[i].why != NULL ? packets[i].why : "a frame begins as none does");
        job_close(&j);
    }
}

static void packets_without_a_credit_lose_their_sender(void **state)
{
    (void)state;
    job j = { .size = 3, .settings = { "CREDIT_QUOTA=3" } };
    const uint64_t begin[2] = { extoll_begin(8, 8000, false) };
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

/* In one poll of rank 0, whole, so many; the last of them this one. */
static void expect_frames(job *j, unsigned count, uint64_t number)
{
    rank *r = &j->ranks[0];
    (void)r->link->ops->poll(r->link, PEN_LANES_ALL, 32);
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
    const uint64_t lead[2] = { extoll_begin(8, LEN, false), number };
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
    uint64_t frame[(8 + HEAD_LEN + LEN + 7) / 8] = { extoll_begin(HEAD_LEN, LEN, false), 9 };
    job_open(&j);
    fill((unsigned char *)frame + 8 + HEAD_LEN, LEN, 9);
    send_raw(&j, frame, VELO2_MAX_MSG_SIZE_64, 0, EXTOLL_BEGIN);
    send_raw(&j, (char *)frame + VELO2_MAX_MSG_SIZE_64, 8 + HEAD_LEN + LEN - VELO2_MAX_MSG_SIZE_64,
             0, EXTOLL_MORE);
    expect_frames(&j, 1, 9);
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
        const uint64_t begin[7] = { extoll_begin(8, runs[i].body_len, false) };
        send_raw(&j, begin, sizeof begin, 0, EXTOLL_BEGIN);
        for (unsigned k = 0; k < runs[i].packets; k++)
            send_raw(&j, bytes, runs[i].len, 0, EXTOLL_MORE);
        expect_loss(&j, "a packet has no credit, or a frame is longer than it said");
        job_close(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_mailbox_is_as_small_as_promised),
        cmocka_unit_test(least_mailbox_never_overflows),
        cmocka_unit_test(mailbox_that_is_too_small_is_refused_in_a_line),
        cmocka_unit_test(frames_arrive_though_the_card_says_that_it_is_full),
        cmocka_unit_test(what_the_card_refused_goes_first),
        cmocka_unit_test(requests_leave_credits_to_replies),
        cmocka_unit_test(packets_that_come_late_keep_their_order),
        cmocka_unit_test(puts_arrive),
        cmocka_unit_test(puts_that_the_card_makes_late_arrive),
        cmocka_unit_test(puts_arrive_though_queues_say_that_they_are_full),
        cmocka_unit_test(puts_wait_for_room_in_a_short_queue),
        cmocka_unit_test(registration_that_fails_is_said_with_its_reason),
        cmocka_unit_test(rank_that_can_register_nothing_makes_all_use_messages),
        cmocka_unit_test(packets_that_no_rank_sends_lose_their_sender),
        cmocka_unit_test(packets_without_a_credit_lose_their_sender),
        cmocka_unit_test(bodies_that_come_in_turns_do_not_mix),
        cmocka_unit_test(head_that_goes_on_is_no_body),
        cmocka_unit_test(bodies_that_go_on_too_long_lose_their_sender),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
