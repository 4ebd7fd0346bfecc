/* SPDX-License-Identifier: BSD-3-Clause */
/* credit_test.c: receiver and sender under the static policy, the rules for requests and replies,
 * and refusals. */
#include "unit/credit/fixture.h"

/* ---- static ---------------------------------------------------------------------------------- */

static void packets_beyond_the_credits_are_refused(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_STATIC, 2, 3);
    arrive(&f, 0, 3);
    assert_int_equal(pen_credit_receiver_arrived(f.receiver, 0, plain), PEN_ERR_PROTOCOL);
    assert_int_equal(in_of(&f, 0).mailbox, 3);
    arrive(&f, 1, 3);
    pen_credit_receiver_audit(f.receiver);
}

static void credits_return_at_the_threshold(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_STATIC, 1, 56);
    arrive(&f, 0, 19);
    free_slots(&f, 0, 18);
    expect_nothing(&f);
    free_slots(&f, 0, 1);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 19);
    expect_nothing(&f);
    assert_int_equal(in_of(&f, 0).exposed, 56);
    assert_int_equal(in_of(&f, 0).grants, 1);
}

/* When all was drained, no less is in hand than the quota without a third of it: 56 is the first
 * quota that lets bursts of 38 packets follow each other without a wait. */
static void drained_sender_has_most_of_its_quota_in_hand(void **state)
{
    (void)state;
    for (uint32_t quota = 38; quota <= 60; quota++) {
        fixture f;
        uint32_t hand_min = quota, peer = 0;
        pen_credit_tag tag;
        pen_credit_message message;
        open_it(&f, PEN_CREDIT_STATIC, 1, quota);
        for (uint32_t i = 0; i < 3 * quota; i++) {
            assert_true(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REPLY, 1, &tag));
            arrive(&f, 0, 1);
            free_slots(&f, 0, 1);
            while (pen_credit_receiver_next(f.receiver, &peer, &message))
                assert_int_equal(pen_credit_sender_hear(f.sender, 0, &message), PEN_OK);
            if (out_of(&f, 0).hand < hand_min)
                hand_min = out_of(&f, 0).hand;
        }
        assert_int_equal(hand_min, quota - quota / 3);
        assert_int_equal(hand_min >= 38, quota >= 56);
    }
}

static void grant_may_ride_and_joins_what_is_recovered(void **state)
{
    (void)state;
    fixture f;
    pen_credit_message message;
    open_it(&f, PEN_CREDIT_STATIC, 1, 12);
    assert_false(pen_credit_receiver_ride(f.receiver, 0, 7, &message));
    arrive(&f, 0, 8);
    free_slots(&f, 0, 8);
    assert_true(pen_credit_receiver_has_next(f.receiver));
    assert_true(pen_credit_receiver_ride(f.receiver, 0, 7, &message));
    assert_int_equal(message.count, 7);
    expect_nothing(&f);
    assert_int_equal(in_of(&f, 0).recovered, 1);
    assert_int_equal(in_of(&f, 0).rides, 1);
}

static void grant_is_worth_a_ride_from_half_a_threshold_on(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_STATIC, 1, 12);
    arrive(&f, 0, 11);
    free_slots(&f, 0, 2);
    assert_false(pen_credit_receiver_is_worth_a_ride(f.receiver, 0));
    free_slots(&f, 0, 1);
    assert_true(pen_credit_receiver_is_worth_a_ride(f.receiver, 0));
    expect_nothing(&f); /* a control packet would be for five */
    open_it(&f, PEN_CREDIT_STATIC, 1, 12);
    arrive(&f, 0, 11);
    free_slots(&f, 0, 1);
    assert_int_equal(pen_credit_receiver_arrived(f.receiver, 0, urgent), PEN_OK);
    assert_true(pen_credit_receiver_is_worth_a_ride(f.receiver, 0));
}

static void sender_is_low_at_half_of_its_quota(void **state)
{
    (void)state;
    fixture f;
    pen_credit_tag tag;
    open_it(&f, PEN_CREDIT_STATIC, 1, 12);
    for (unsigned sent = 0; sent < 11; sent++) {
        assert_int_equal(pen_credit_sender_is_low(f.sender, 0), sent >= 6);
        assert_true(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REQUEST, 1, &tag));
    }
}

/* A sender that takes a plain credit need not ask whether it is low, leaves one credit, and reports
 * nothing. */
static void plain_credit_is_one_of_more_than_half(void **state)
{
    (void)state;
    fixture f;
    pen_credit_tag tag = plain;
    for (uint32_t quota = 3; quota < 13; quota++) {
        open_it(&f, PEN_CREDIT_STATIC, 1, quota);
        for (uint32_t hand = quota; hand > 0; hand--) {
            const bool is_plain = pen_credit_sender_take_plain(f.sender, 0);
            assert_int_equal(is_plain, hand > (quota / 2 > 1 ? quota / 2 | 1 : 1));
            assert_int_equal(out_of(&f, 0).hand, is_plain ? hand - 1 : hand);
            assert_true(is_plain || pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REPLY, 1, &tag));
            assert_int_equal(out_of(&f, 0).packets, quota - hand + 1);
        }
        assert_false(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REPLY, 2, &tag));
        pen_credit_message all = { PEN_CREDIT_GRANT, quota, 0, false };
        assert_int_equal(pen_credit_sender_hear(f.sender, 0, &all), PEN_OK);
        assert_false(pen_credit_sender_take_plain(f.sender, 0)); /* it lacked some */
        assert_true(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REPLY, 2, &tag));
        assert_int_equal(tag.need, 2);
    }
    open_it(&f, PEN_CREDIT_LOAN, 1, 12);
    assert_false(pen_credit_sender_take_plain(f.sender, 0)); /* records the use */
}

/* ---- requests and replies -------------------------------------------------------------------- */

static void request_leaves_the_credit_that_a_reply_takes(void **state)
{
    (void)state;
    fixture f;
    pen_credit_tag tag = plain;
    open_it(&f, PEN_CREDIT_STATIC, 1, 3);
    assert_true(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REQUEST, 9, &tag));
    assert_true(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REQUEST, 8, &tag));
    assert_false(tag.urgent);
    assert_false(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REQUEST, 3, &tag));
    assert_false(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REQUEST, 7, &tag));
    assert_true(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REPLY, 1, &tag));
    assert_true(tag.urgent);
    assert_int_equal(tag.need, 3); /* three packets and the reserve, less the one in hand */
    assert_int_equal(out_of(&f, 0).stalls, 1);
    assert_int_equal(out_of(&f, 0).hand, 0);
    assert_false(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REPLY, 100, &tag));
    pen_credit_message one = { PEN_CREDIT_GRANT, 1, 0, false };
    assert_int_equal(pen_credit_sender_hear(f.sender, 0, &one), PEN_OK);
    assert_true(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REPLY, 100, &tag));
    assert_int_equal(tag.need, PEN_CREDIT_NEED_MAX);
}

static void urgent_packet_is_answered_below_the_threshold(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_STATIC, 1, 3);
    arrive(&f, 0, 2);
    assert_int_equal(pen_credit_receiver_arrived(f.receiver, 0, urgent), PEN_OK);
    expect_nothing(&f);
    free_slots(&f, 0, 1);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 1);
    expect_nothing(&f);
}

/* Though a threshold was far away when it began to hurry. */
static void slot_is_granted_at_once_to_a_peer_that_hurries(void **state)
{
    (void)state;
    fixture f;
    pen_credit_message message;
    open_it(&f, PEN_CREDIT_STATIC, 1, 12);
    arrive(&f, 0, 1);
    free_slots(&f, 0, 1);
    assert_true(pen_credit_receiver_ride(f.receiver, 0, 1, &message));
    arrive(&f, 0, 11);
    assert_int_equal(pen_credit_receiver_arrived(f.receiver, 0, urgent), PEN_OK);
    expect_nothing(&f);
    free_slots(&f, 0, 1);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 1);
}

static void urgency_ends_where_a_grant_is_under_way(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_STATIC, 1, 6);
    arrive(&f, 0, 5);
    free_slots(&f, 0, 3);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 3);
    assert_int_equal(pen_credit_receiver_arrived(f.receiver, 0, urgent), PEN_OK);
    free_slots(&f, 0, 1);
    expect_nothing(&f);
}

static void stalled_handler_lets_only_replies_be_handled(void **state)
{
    (void)state;
    assert_true(pen_credit_may_handle(PEN_CREDIT_OUTSIDE, PEN_CREDIT_REQUEST));
    assert_true(pen_credit_may_handle(PEN_CREDIT_OUTSIDE, PEN_CREDIT_REPLY));
    assert_false(pen_credit_may_handle(PEN_CREDIT_IN_HANDLER, PEN_CREDIT_REQUEST));
    assert_true(pen_credit_may_handle(PEN_CREDIT_IN_HANDLER, PEN_CREDIT_REPLY));
}

static void grants_wait_until_one_must_have_been_consumed(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_LOAN, 1, 16);
    for (uint32_t i = 0; i < 3; i++) {
        pen_credit_tag lacking = { false, 1 };
        assert_int_equal(pen_credit_receiver_arrived(f.receiver, 0, lacking), PEN_OK);
        if (i < 2)
            expect_next(&f, 0, PEN_CREDIT_GRANT, 1);
    }
    /* The sender has used the three credits that it began with, and has perhaps received no grant
     * since. */
    expect_nothing(&f);
    arrive(&f, 0, 1);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 1);
}

static void counts_may_wrap(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_STATIC, 1, 3);
    f.receiver->peers[0].granted = 1;
    f.receiver->peers[0].shown = UINT32_MAX - 1;
    for (uint32_t i = 0; i < 20; i++) {
        arrive(&f, 0, 2);
        free_slots(&f, 0, 2);
        expect_next(&f, 0, PEN_CREDIT_GRANT, 2);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void answers_that_cannot_be_are_refused(void **state)
{
    (void)state;
    fixture f;
    pen_credit_message give = { PEN_CREDIT_GIVE, 1, 0, false };
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 6);
    assert_int_equal(pen_credit_receiver_hear(f.receiver, 0, &give), PEN_ERR_PROTOCOL);
    raise_quota(&f, 0, 4);
    lower_quota(&f, 0, 4);
    assert_int_equal(pen_credit_receiver_hear(f.receiver, 0, &give), PEN_ERR_PROTOCOL);
    expect_next(&f, 0, PEN_CREDIT_RECALL, 3);
    give.count = 4;
    assert_int_equal(pen_credit_receiver_hear(f.receiver, 0, &give), PEN_ERR_PROTOCOL);
    arrive(&f, 0, 4);
    give.count = 3; /* two are not in the mailbox */
    assert_int_equal(pen_credit_receiver_hear(f.receiver, 0, &give), PEN_ERR_PROTOCOL);
    give = (pen_credit_message){ PEN_CREDIT_GRANT, 1, 0, false };
    assert_int_equal(pen_credit_receiver_hear(f.receiver, 0, &give), PEN_ERR_PROTOCOL);
    pen_credit_tag tag = { false, PEN_CREDIT_NEED_MAX + 1 };
    assert_int_equal(pen_credit_receiver_arrived(f.receiver, 1, tag), PEN_ERR_PROTOCOL);
    pen_credit_receiver_audit(f.receiver);
}

static void grants_and_recalls_that_cannot_be_are_refused(void **state)
{
    (void)state;
    fixture f;
    static const pen_credit_message bad[] = {
        { PEN_CREDIT_GRANT, UINT32_MAX, 0, false }, { PEN_CREDIT_GRANT, 10, 0, false },
        { PEN_CREDIT_GRANT, 1, INT32_MIN, false },  { PEN_CREDIT_GRANT, 1, 10, false },
        { PEN_CREDIT_RECALL, 0, 0, false },         { PEN_CREDIT_RECALL, 1, -4, false },
        { PEN_CREDIT_GIVE, 1, 0, false },           { (pen_credit_kind)7, 1, 0, false },
    };
    open_it(&f, PEN_CREDIT_LOAN, 2, 6);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(pen_credit_sender_hear(f.sender, 0, &bad[i]), PEN_ERR_PROTOCOL);
    assert_int_equal(out_of(&f, 0).hand, 3);
    assert_int_equal(out_of(&f, 0).quota, 3);
    pen_credit_message recall = { PEN_CREDIT_RECALL, 1, 0, false };
    assert_int_equal(pen_credit_sender_hear(f.sender, 0, &recall), PEN_OK);
    assert_int_equal(pen_credit_sender_hear(f.sender, 0, &recall), PEN_ERR_PROTOCOL);
    open_it(&f, PEN_CREDIT_STATIC, 2, 6);
    assert_int_equal(pen_credit_sender_hear(f.sender, 0, &recall), PEN_ERR_PROTOCOL);
}

static void settings_are_checked(void **state)
{
    (void)state;
    pen_credit_settings good = { "loan", 7, 3, 1, 1, 9, 0, 0 }, bad;
    pen_credit_params params = { .peers = 77 };
    assert_null(pen_credit_params_make(&good, 5, false, &params));
    assert_int_equal(params.policy, PEN_CREDIT_LOAN);
    assert_int_equal(params.peers, 5);
    assert_int_equal(params.quota, 7);
    assert_string_equal(pen_credit_policy_name(params.policy), "loan");
#define REFUSED(field, value)                                             \
    do {                                                                  \
        bad = good;                                                       \
        bad.field = (value);                                              \
        params.peers = 77;                                                \
        assert_non_null(pen_credit_params_make(&bad, 5, false, &params)); \
        assert_int_equal(params.peers, 77);                               \
    } while (0)
    REFUSED(policy, "loans");
    REFUSED(policy, NULL);
    REFUSED(quota, 3);
    REFUSED(quota, -1);
    REFUSED(quota, INT64_C(1) << 32 | 7);
    REFUSED(quota, INT64_C(1) << 29);
    REFUSED(control, 1);
    REFUSED(control, 9);
    REFUSED(step, 0);
    REFUSED(hysteresis, 0.99);
    REFUSED(hysteresis, __builtin_nan(""));
    REFUSED(epoch, 0);
    REFUSED(period, -1);
    REFUSED(start, 2);
    REFUSED(start, -1);
    REFUSED(start, INT64_C(1) << 32);
    REFUSED(start, good.quota + 1);
#undef REFUSED
    good.control = 1;
    assert_null(pen_credit_params_make(&good, 5, true, &params));
    assert_non_null(pen_credit_params_make(&good, 0, true, &params));
}

/* The values written as defaults make parameters that work. */
static void defaults_can_be_used_and_mailbox_is_as_small_as_said(void **state)
{
    (void)state;
    pen_credit_params params = { .peers = 0 };
#define ROW(field, name, type, fallback, summary)                          \
    do {                                                                   \
        assert_true(strlen(summary) > 10);                                 \
        if (strcmp(#field, "policy") != 0 && strcmp(#field, "start") != 0) \
            assert_true(strtod(fallback, NULL) >= 1);                      \
    } while (0);
    PEN_CREDIT_SETTINGS(ROW)
#undef ROW
    pen_credit_settings settings = { "activity", 3, 2, 4, 1.5, 1024, 0, 128 };
    assert_null(pen_credit_params_make(&settings, 63, false, &params));
    assert_int_equal(pen_credit_mailbox_slots(&params), 63 * (2 * 2 + 3));
    assert_int_equal(pen_credit_start(&params), 3);
    settings.policy = "static";
    settings.quota = 56;
    assert_null(pen_credit_params_make(&settings, 63, false, &params));
    assert_int_equal(pen_credit_mailbox_slots(&params), 63 * 58);
    assert_int_equal(pen_credit_start(&params), 56);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_beyond_the_credits_are_refused),
        cmocka_unit_test(credits_return_at_the_threshold),
        cmocka_unit_test(drained_sender_has_most_of_its_quota_in_hand),
        cmocka_unit_test(grant_may_ride_and_joins_what_is_recovered),
        cmocka_unit_test(grant_is_worth_a_ride_from_half_a_threshold_on),
        cmocka_unit_test(sender_is_low_at_half_of_its_quota),
        cmocka_unit_test(plain_credit_is_one_of_more_than_half),
        cmocka_unit_test(request_leaves_the_credit_that_a_reply_takes),
        cmocka_unit_test(urgent_packet_is_answered_below_the_threshold),
        cmocka_unit_test(slot_is_granted_at_once_to_a_peer_that_hurries),
        cmocka_unit_test(urgency_ends_where_a_grant_is_under_way),
        cmocka_unit_test(stalled_handler_lets_only_replies_be_handled),
        cmocka_unit_test(grants_wait_until_one_must_have_been_consumed),
        cmocka_unit_test(counts_may_wrap),
        cmocka_unit_test(answers_that_cannot_be_are_refused),
        cmocka_unit_test(grants_and_recalls_that_cannot_be_are_refused),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(defaults_can_be_used_and_mailbox_is_as_small_as_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
