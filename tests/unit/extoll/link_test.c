/* SPDX-License-Identifier: BSD-3-Clause */
/* link_test.c: links of the extoll conduit in one process: how large its mailboxes are, each fault
 * of the card under it. That a fault has struck is seen in the card's counters. */
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

/* No sender ever finds a mailbox full, however small it is: credits ensure that. */
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
    static const char *const quotas[] = { "CREDIT_QUOTA=3", "CREDIT_QUOTA=40" };
    for (unsigned i = 0; i < 2; i++) {
        job j = { .size = 3, .settings = { quotas[i], "CREDIT_POLICY=static", "FAULT_FULL=2" } };
        job_open(&j);
        exchange(&j, 60);
        for (pen_peer self = 0; self < 3; self++)
            assert_true(counts_of(&j, self).retries > 100);
        job_close(&j);
    }
}

/* A frame whose credits end in it, or which the card refuses in it, keeps its place and its bytes,
 * which its sender may change when post() has returned. */
static void frame_goes_on_where_it_had_to_stop(void **state)
{
    (void)state;
    for (uint32_t quota = 3; quota < 60; quota++) {
        char words[40];
        (void)snprintf(words, sizeof words, "CREDIT_QUOTA=%u", quota);
        job j = { .size = 2,
                  .settings = { words, "CREDIT_POLICY=static",
                                quota % 2 == 0 ? "FAULT_FULL=3" : NULL } };
        job_open(&j);
        for (unsigned i = 0; i < 6; i++) {
            post_sure(&j, 0, 1, i % 2 == 0 ? PEN_LANE_REQUEST : PEN_LANE_REPLY, i, 1000 + 7 * i);
            await(&j, 1, i + 1);
            assert_int_equal(j.ranks[1].head, i);
        }
        assert_false(j.ranks[1].wrong);
        job_close(&j);
    }
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

/* The credit information in packets makes sense in the order in which it was counted. */
static void what_the_card_refused_goes_first(void **state)
{
    (void)state;
    enum { HEAD, BODY, CREDITS, KINDS };
    static const uint8_t mtts[] = { EXTOLL_SHORT, EXTOLL_BEGIN, EXTOLL_CREDIT };
    for (unsigned kind = 0; kind < KINDS; kind++) {
        job j = { .size = 3, .settings = { "CREDIT_QUOTA=3" } };
        uint8_t mtt = 0, tag = 0;
        job_open(&j);
        for (unsigned i = 0; kind == CREDITS && i < 2; i++) /* rank 1 will owe it credits */
            post_sure(&j, 0, 1, PEN_LANE_REQUEST, 1, 0);
        unsigned filling = fill_mailbox(&j);
        if (kind == CREDITS)
            poll_one(&j, 1);
        else
            assert_int_equal(post(&j, 1, 0, PEN_LANE_REQUEST, 1, kind == BODY ? 60 : 0),
                             PEN_POST_DONE);
        assert_true(counts_of(&j, 1).retries > 0);
        assert_false(take_raw(&j, &mtt, &tag)); /* one slot is free */
        assert_int_equal(post(&j, 1, 0, PEN_LANE_REPLY, 2, 0), PEN_POST_DONE);
        for (unsigned i = 1; i < filling; i++)
            assert_false(take_raw(&j, &mtt, &tag));
        poll_one(&j, 1);
        poll_one(&j, 1);
        assert_true(take_raw(&j, &mtt, &tag));
        assert_int_equal(mtt, mtts[kind]);
        assert_int_equal(pen_mailbox_tag_lane(tag), PEN_LANE_REQUEST);
        assert_true(take_raw(&j, &mtt, &tag));
        if (kind == BODY) {
            assert_int_equal(mtt, EXTOLL_MORE);
            assert_true(take_raw(&j, &mtt, &tag));
        }
        assert_int_equal(mtt, EXTOLL_SHORT);
        assert_int_equal(pen_mailbox_tag_lane(tag), PEN_LANE_REPLY);
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

/* Half of the credits, as long as more keep coming, for a limited number of tries; one credit
 * permanently. */
static void requests_leave_credits_to_replies(void **state)
{
    (void)state;
    job j = { .size = 2, .settings = { "CREDIT_QUOTA=12", "CREDIT_POLICY=static" } };
    job_open(&j);
    post_until_full(&j, 11, 11); /* no credit has ever come */
    assert_int_equal(post(&j, 0, 1, PEN_LANE_REQUEST, 1, 100), PEN_POST_AGAIN);
    poll_one(&j, 1);
    poll_one(&j, 0);
    post_until_full(&j, 6, 17);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(post(&j, 0, 1, PEN_LANE_REPLY, 1, 0), PEN_POST_DONE);
    assert_int_equal(counts_of(&j, 0).packets_sent, 20);
    for (unsigned i = 1; i < PEN_MAILBOX_PATIENCE; i++)
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
        pen_post posted = link->rma->put(link, 1, 0, key, from, NULL, len, op);
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

/* Memory that cannot be registered is refused with the reason, and messages are not affected. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_mailbox_is_as_small_as_promised),
        cmocka_unit_test(least_mailbox_never_overflows),
        cmocka_unit_test(mailbox_that_is_too_small_is_refused_in_a_line),
        cmocka_unit_test(frames_arrive_though_the_card_says_that_it_is_full),
        cmocka_unit_test(frame_goes_on_where_it_had_to_stop),
        cmocka_unit_test(what_the_card_refused_goes_first),
        cmocka_unit_test(requests_leave_credits_to_replies),
        cmocka_unit_test(packets_that_come_late_keep_their_order),
        cmocka_unit_test(puts_arrive),
        cmocka_unit_test(puts_that_the_card_makes_late_arrive),
        cmocka_unit_test(puts_arrive_though_queues_say_that_they_are_full),
        cmocka_unit_test(puts_wait_for_room_in_a_short_queue),
        cmocka_unit_test(registration_that_fails_is_said_with_its_reason),
        cmocka_unit_test(rank_that_can_register_nothing_makes_all_use_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
