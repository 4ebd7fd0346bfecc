/* SPDX-License-Identifier: BSD-3-Clause */
/* policies_test.c: what the policies decide, and the situations with changing quotas that random
 * runs meet too seldom. */
#include "unit/credit/fixture.h"

/* ---- activity -------------------------------------------------------------------------------- */

static void play_round(fixture *f, uint32_t peer, uint64_t now)
{
    uint32_t whose = 0;
    pen_credit_message message;
    uint32_t packets = PEN_CREDIT_ROUND(in_of(f, peer).quota, f->params.control);
    for (uint32_t i = 0; i < packets; i++) {
        arrive(f, peer, 1);
        free_slots(f, peer, 1, now);
        while (pen_credit_receiver_next(f->receiver, &whose, &message))
            assert_int_equal(message.kind, whose == peer ? PEN_CREDIT_GRANT : PEN_CREDIT_RECALL);
    }
}

static void free_quota_goes_to_whoever_is_active(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 4, 6);
    play_round(&f, 1, 10);
    assert_int_equal(in_of(&f, 1).quota, 7);
    play_round(&f, 1, 20);
    play_round(&f, 1, 30);
    assert_int_equal(in_of(&f, 1).quota, 15); /* all that is not the others' least */
    play_round(&f, 1, 40);
    assert_int_equal(in_of(&f, 1).quota, 15);
}

static void slow_peer_loses_to_a_fast_one(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 6);
    play_round(&f, 0, 10);
    play_round(&f, 0, 20);
    assert_int_equal(in_of(&f, 0).quota, 9);
    play_round(&f, 1, 20); /* in 20, and the other one takes 10 */
    assert_int_equal(in_of(&f, 0).quota, 9);
    play_round(&f, 1, 28); /* in 8: the other one is slower, but not enough at a factor of 1.25 */
    assert_int_equal(in_of(&f, 0).quota, 9);
    play_round(&f, 1, 35); /* in 7 */
    assert_int_equal(in_of(&f, 0).quota, 5);
    assert_int_equal(in_of(&f, 1).quota, 7);
    assert_int_equal(in_of(&f, 0).recalls, 1);
}

static void silent_peer_ages_into_a_victim(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 6);
    play_round(&f, 0, 1);
    play_round(&f, 0, 2);
    play_round(&f, 1, 1000); /* slow itself, as slow as the silent one is by now */
    play_round(&f, 1, 1100); /* faster than it */
    assert_int_equal(in_of(&f, 0).quota, 5);
}

/* One message of 38 packets from each of the first so many peers, drained as it comes; recalls are
 * answered at once with what is in hand. */
static void play_messages(fixture *f, uint32_t active, uint64_t now)
{
    for (uint32_t packet = 0; packet < 38 * active; packet++) {
        uint32_t peer = packet % active, whose = 0;
        pen_credit_message message;
        arrive(f, peer, 1);
        pen_credit_receiver_freed(f->receiver, peer, now);
        while (pen_credit_receiver_next(f->receiver, &whose, &message)) {
            if (message.kind == PEN_CREDIT_GRANT)
                continue;
            message.kind = PEN_CREDIT_GIVE;
            assert_int_equal(pen_credit_receiver_hear(f->receiver, whose, &message), PEN_OK);
        }
    }
}

/* 64 ranks that talk in groups, after all of them did: the quotas of a group take up what the
 * others had, so that 5 + 53 k / 63 slots for each peer on average are enough for k active ones. */
static void active_group_gets_all_that_is_free(void **state)
{
    (void)state;
    static const uint32_t actives[] = { 31, 15, 7 };
    fixture f;
    uint64_t now = 0;
    open_it(&f, PEN_CREDIT_ACTIVITY, 63, 28);
    for (uint32_t i = 0; i < 100; i++)
        play_messages(&f, 63, now += 10);
    for (size_t group = 0; group < sizeof actives / sizeof *actives; group++) {
        uint32_t k = actives[group], all = 0;
        for (uint32_t i = 0; i < 300; i++)
            play_messages(&f, k, now += 10);
        pen_credit_receiver_audit(f.receiver);
        for (uint32_t peer = 0; peer < 63; peer++) {
            if (peer < k)
                all += in_of(&f, peer).quota - 3;
            else
                assert_int_equal(in_of(&f, peer).quota, 3);
        }
        assert_int_equal(all, 63 * (28 - 3));
    }
}

static void recall_leaves_the_reserve_in_hand(void **state)
{
    (void)state;
    fixture f;
    uint32_t peer = 9;
    pen_credit_message recall = { PEN_CREDIT_RECALL, 3, -3, false }, answer;
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 6);
    f.sender->peers[1].quota = 6;
    assert_int_equal(pen_credit_sender_hear(f.sender, 1, &recall), PEN_OK);
    assert_true(pen_credit_sender_has_next(f.sender));
    assert_true(pen_credit_sender_next(f.sender, &peer, &answer));
    assert_int_equal(peer, 1);
    assert_int_equal(answer.kind, PEN_CREDIT_GIVE);
    assert_int_equal(answer.count, 2);
    assert_int_equal(out_of(&f, 1).hand, 1);
    assert_false(pen_credit_sender_next(f.sender, &peer, &answer));
}

/* All that a debtor sent lies in the stash but for one reply: without this slot neither side's
 * handler would ever end. */
static void debtor_that_hurries_gets_its_slot_back(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 6);
    raise_quota(&f, 0, 2);
    arrive(&f, 0, 3);
    assert_int_equal(pen_credit_receiver_arrived(f.receiver, 0, urgent), PEN_OK);
    lower_quota(&f, 0, 2);
    expect_nothing(&f); /* what it owes is in the mailbox and comes back by itself */
    free_slots(&f, 0, 1, 1);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 1);
    free_slots(&f, 0, 2, 1); /* the debt */
    expect_nothing(&f);
    assert_int_equal(in_of(&f, 0).exposed, 3);
}

/* What was freed meanwhile has gone to another peer, for which what comes back is not enough. */
static void who_gives_back_is_fed_first(void **state)
{
    (void)state;
    fixture f;
    pen_credit_message give = { PEN_CREDIT_GIVE, 3, 0, false };
    open_it(&f, PEN_CREDIT_ACTIVITY, 3, 6);
    pen_credit_quota_add(f.receiver, 0, 4);
    pen_credit_quota_add(f.receiver, 2, 4);
    pen_credit_refill(f.receiver, 0);
    pen_credit_refill(f.receiver, 2);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 4);
    expect_next(&f, 2, PEN_CREDIT_GRANT, 4);
    lower_quota(&f, 0, 4);
    lower_quota(&f, 2, 4);
    pen_credit_quota_add(f.receiver, 1, 9);
    pen_credit_refill(f.receiver, 1);
    expect_next(&f, 0, PEN_CREDIT_RECALL, 4);
    expect_next(&f, 2, PEN_CREDIT_RECALL, 4);
    arrive(&f, 0, 3);
    free_slots(&f, 0, 3, 1);
    assert_int_equal(in_of(&f, 0).exposed, 4);
    assert_int_equal(pen_credit_receiver_hear(f.receiver, 0, &give), PEN_OK);
    assert_int_equal(in_of(&f, 0).exposed + in_of(&f, 0).recovered, 3);
    pen_credit_receiver_audit(f.receiver);
}

/* ---- loan ------------------------------------------------------------------------------------ */

static void lend(fixture *f, uint32_t peer, uint8_t need)
{
    pen_credit_tag lacking = { false, need };
    assert_int_equal(pen_credit_receiver_arrived(f->receiver, peer, lacking), PEN_OK);
}

static void who_lacked_credits_is_lent_them(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_LOAN, 2, 6);
    lend(&f, 0, 5);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 5);
    assert_int_equal(in_of(&f, 0).quota, 8);
    lend(&f, 0, 5);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 1); /* the last of the reserve */
    pen_credit_receiver_audit(f.receiver);
}

static void empty_reserve_asks_others_and_not_in_vain_twice(void **state)
{
    (void)state;
    fixture f;
    pen_credit_message give = { PEN_CREDIT_GIVE, 0, 0, false };
    open_it(&f, PEN_CREDIT_LOAN, 2, 6);
    lend(&f, 0, 6);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 6);
    f.receiver->peers[0].requested = 0;
    lend(&f, 1, 2);
    expect_next(&f, 0, PEN_CREDIT_RECALL, 6);
    lend(&f, 1, 2); /* asked already */
    expect_nothing(&f);
    assert_int_equal(pen_credit_receiver_hear(f.receiver, 0, &give), PEN_OK);
    lend(&f, 1, 2);
    expect_nothing(&f);
    free_slots(&f, 1, 3, 1);
    expect_next(&f, 1, PEN_CREDIT_GRANT, 3);
    arrive(&f, 1, 3); /* with which the epoch is over */
    free_slots(&f, 1, 3, 1);
    arrive(&f, 0, 1);
    f.receiver->peers[0].requested = 0;
    expect_next(&f, 1, PEN_CREDIT_GRANT, 3);
    lend(&f, 1, 2);
    expect_next(&f, 0, PEN_CREDIT_RECALL, 6);
    give.count = 4;
    assert_int_equal(pen_credit_receiver_hear(f.receiver, 0, &give), PEN_OK);
    assert_int_equal(in_of(&f, 0).quota, 5);
    lend(&f, 1, 2);
    assert_int_equal(in_of(&f, 1).quota, 5);
    pen_credit_receiver_audit(f.receiver);
}

static uint32_t give_of(fixture *f, uint32_t asked)
{
    uint32_t peer = 0;
    pen_credit_message recall = { PEN_CREDIT_RECALL, asked, 0, false }, answer;
    assert_int_equal(pen_credit_sender_hear(f->sender, 0, &recall), PEN_OK);
    assert_true(pen_credit_sender_next(f->sender, &peer, &answer));
    return answer.count;
}

static void borrower_keeps_what_it_used_and_the_reserve(void **state)
{
    (void)state;
    fixture f;
    pen_credit_tag tag;
    pen_credit_message raised = { PEN_CREDIT_GRANT, 5, 5, false };
    open_it(&f, PEN_CREDIT_LOAN, 1, 40);
    assert_int_equal(pen_credit_sender_hear(f.sender, 0, &raised), PEN_OK);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REPLY, 1, &tag));
    assert_int_equal(give_of(&f, 5), 2); /* of 8, 5 were used, and 1 of 3 stays in hand */
    assert_int_equal(out_of(&f, 0).quota, 6);
    assert_int_equal(give_of(&f, 1), 0);
}

static void borrower_that_stalls_keeps_all_until_that_has_faded(void **state)
{
    (void)state;
    fixture f;
    pen_credit_tag tag;
    pen_credit_message more = { PEN_CREDIT_GRANT, 8, 5, false };
    open_it(&f, PEN_CREDIT_LOAN, 1, 40);
    for (uint32_t i = 0; i < 4; i++)
        (void)pen_credit_sender_take(f.sender, 0, PEN_CREDIT_REPLY, 1, &tag);
    assert_int_equal(pen_credit_sender_hear(f.sender, 0, &more), PEN_OK);
    assert_int_equal(give_of(&f, 5), 0);
    more = (pen_credit_message){ PEN_CREDIT_GRANT, 0, 0, true };
    assert_int_equal(pen_credit_sender_hear(f.sender, 0, &more), PEN_OK);
    assert_int_equal(give_of(&f, 5), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_quota_goes_to_whoever_is_active),
        cmocka_unit_test(slow_peer_loses_to_a_fast_one),
        cmocka_unit_test(silent_peer_ages_into_a_victim),
        cmocka_unit_test(active_group_gets_all_that_is_free),
        cmocka_unit_test(recall_leaves_the_reserve_in_hand),
        cmocka_unit_test(debtor_that_hurries_gets_its_slot_back),
        cmocka_unit_test(who_gives_back_is_fed_first),
        cmocka_unit_test(who_lacked_credits_is_lent_them),
        cmocka_unit_test(empty_reserve_asks_others_and_not_in_vain_twice),
        cmocka_unit_test(borrower_keeps_what_it_used_and_the_reserve),
        cmocka_unit_test(borrower_that_stalls_keeps_all_until_that_has_faded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
