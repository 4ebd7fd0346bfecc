/* SPDX-License-Identifier: BSD-3-Clause */
/* policies_test.c: decisions of the policies, and the situations with changing quotas that random
 * runs meet too seldom. */
#include "unit/credit/fixture.h"

/* ---- activity -------------------------------------------------------------------------------- */

/* A whole round of one peer; when it ends, `at` packets of all have been freed. */
static void play_round(fixture *f, uint32_t peer, uint64_t at)
{
    uint32_t whose = 0;
    pen_credit_message message;
    uint32_t packets = PEN_CREDIT_ROUND(in_of(f, peer).quota, f->params.control);
    assert_true(f->receiver->freed + packets <= at);
    f->receiver->freed = at - packets; /* others' have come before */
    for (uint32_t i = 0; i < packets; i++) {
        arrive(f, peer, 1);
        free_slots(f, peer, 1);
        while (pen_credit_receiver_next(f->receiver, &whose, &message))
            assert_int_equal(message.kind, whose == peer ? PEN_CREDIT_GRANT : PEN_CREDIT_RECALL);
    }
}

static void free_quota_goes_to_whoever_is_active(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 4, 6);
    play_round(&f, 1, 100);
    assert_int_equal(in_of(&f, 1).quota, 7);
    play_round(&f, 1, 200);
    play_round(&f, 1, 300);
    assert_int_equal(in_of(&f, 1).quota, 15); /* all credits beyond the least quotas of the other
                                               * peers */
    play_round(&f, 1, 400);
    assert_int_equal(in_of(&f, 1).quota, 15);
}

/* The more a peer has, the more it gets at once. */
static void quotas_grow_faster_the_larger_they_are(void **state)
{
    (void)state;
    static const uint32_t quotas[] = { 7, 11, 16, 24, 36, 54 };
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 4, 60);
    for (uint32_t i = 0; i < sizeof quotas / sizeof *quotas; i++) {
        play_round(&f, 1, 100 * (i + 1));
        assert_int_equal(in_of(&f, 1).quota, quotas[i]);
    }
}

/* Peer 0 has 9, of which it uses 12 in 100; peer 1 has 3. Of 12 in all 7 and 5 last equally long,
 * when the paces differ by 1.6 of which 1.25 do not count. */
static void whose_quota_lasts_longer_loses_what_makes_both_last_equally(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 6);
    play_round(&f, 0, 100);
    play_round(&f, 0, 200);
    assert_int_equal(in_of(&f, 0).quota, 9);
    play_round(&f, 1, 280); /* 6 in 280: its quota lasts longer than its peer's */
    assert_int_equal(in_of(&f, 0).quota, 9);
    play_round(&f, 0, 300);
    assert_true(f.receiver->peers[0].has_enough); /* as far as it knows, no peer has more */
    play_round(&f, 1, 360);                       /* 6 in 80 */
    assert_int_equal(in_of(&f, 0).quota, 7);
    assert_int_equal(in_of(&f, 1).quota, 5);
    assert_false(f.receiver->peers[0].has_enough);
    assert_true(in_of(&f, 0).recalls <= 1);
}

static void stopped_peer_is_a_victim_whatever_its_quota(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 6);
    play_round(&f, 0, 100);
    play_round(&f, 0, 200);
    play_round(&f, 1, 10000); /* slow itself, as slow as the silent one is by now */
    assert_int_equal(in_of(&f, 0).quota, 9);
    play_round(&f, 1, 11000); /* faster than it */
    assert_int_equal(in_of(&f, 0).quota, 5);
    play_round(&f, 1, 12000);
    play_round(&f, 1, 13000);
    assert_int_equal(in_of(&f, 0).quota, 3);
    assert_int_equal(in_of(&f, 1).quota, 9);
}

/* One burst of less than a period says nothing of a peer's pace. */
static void burst_is_not_taken_for_activity(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 6);
    f.receiver->period = 12;
    play_round(&f, 0, 10000);
    play_round(&f, 0, 20000);
    assert_int_equal(in_of(&f, 0).quota, 9);
    play_round(&f, 1, 20010);
    assert_int_equal(in_of(&f, 0).quota, 9);
    play_round(&f, 0, 30000);
    play_round(&f, 1, 30010); /* 12 in 30010 */
    assert_int_equal(in_of(&f, 0).quota, 9);
}

/* The start of lenders with a bank: each peer has a part of its average share. */
static void peers_begin_with_what_was_chosen(void **state)
{
    (void)state;
    fixture f;
    pen_credit_params params;
    open_it(&f, PEN_CREDIT_LOAN, 3, 10);
    params = f.params;
    params.start = 5;
    assert_null(pen_credit_params_check(&params));
    pen_credit_receiver *receiver = pen_credit_receiver_open(f.in, &params);
    f.sender = pen_credit_sender_open(f.out, &params);
    assert_int_equal(out_of(&f, 2).hand, 5);
    assert_int_equal(in_of(&f, 2).quota, 5);
    assert_int_equal(receiver->quota_free, 15);
    pen_credit_receiver_audit(receiver);
    params.policy = PEN_CREDIT_STATIC;
    assert_non_null(pen_credit_params_check(&params));
    params.start = 10;
    assert_null(pen_credit_params_check(&params));
}

/* One message of 38 packets from each of the first `count` peers, drained as it comes; recalls are
 * answered at once with the credits in hand. */
static void play_messages(fixture *f, uint32_t active)
{
    for (uint32_t packet = 0; packet < 38 * active; packet++) {
        uint32_t peer = packet % active, whose = 0;
        pen_credit_message message;
        arrive(f, peer, 1);
        pen_credit_receiver_freed(f->receiver, peer);
        while (pen_credit_receiver_next(f->receiver, &whose, &message)) {
            if (message.kind == PEN_CREDIT_GRANT)
                continue;
            message.kind = PEN_CREDIT_GIVE;
            assert_int_equal(pen_credit_receiver_hear(f->receiver, whose, &message), PEN_OK);
        }
    }
}

static void peers_about_equally_active_get_the_same(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 3, 20);
    for (int i = 0; i < 40; i++)
        play_messages(&f, 1);
    assert_int_equal(in_of(&f, 0).quota, 54);
    for (int i = 0; i < 40; i++)
        play_messages(&f, 3);
    for (uint32_t peer = 0; peer < 3; peer++)
        assert_in_range(in_of(&f, peer).quota, 19, 21);
    assert_int_equal(f.receiver->freed, 40 * 38 + 40 * 3 * 38);
}

/* One in 10 against one in 12: less than a quarter of difference does not count. */
static void difference_within_the_hysteresis_moves_nothing(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 30);
    f.receiver->period = 60;
    raise_quota(&f, 0, 27);
    raise_quota(&f, 1, 27);
    for (uint64_t i = 1, j = 1; i < 60; i++) {
        if (j * 3960 <= i * 3300)
            play_round(&f, 0, j++ * 3960 - 100);
        play_round(&f, 1, i * 3300);
    }
    assert_int_equal(in_of(&f, 0).quota, 30);
    assert_int_equal(in_of(&f, 1).quota, 30);
}

/* Paces of 8 and 10.05 differ by a little more than the hysteresis: 0.93 of a credit is to move. */
static void almost_a_credit_is_one(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 30);
    f.receiver->period = 60;
    raise_quota(&f, 0, 28);
    raise_quota(&f, 1, 26);
    play_round(&f, 0, 264);
    play_round(&f, 1, 300);
    play_round(&f, 0, 528);
    assert_int_equal(in_of(&f, 1).quota, 29);
    play_round(&f, 1, 603);
    assert_int_equal(in_of(&f, 0).quota, 30);
    assert_int_equal(in_of(&f, 1).quota, 30);
}

/* 64 ranks that talk in groups, after all of them did: the quotas of a group take up those of the
 * other groups, so that 5 + 53 k / 63 slots for each peer on average are enough for k active
 * ones. */
static void active_group_gets_all_that_is_free(void **state)
{
    (void)state;
    static const uint32_t actives[] = { 31, 15, 7 };
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 63, 28);
    for (uint32_t i = 0; i < 100; i++)
        play_messages(&f, 63);
    for (size_t group = 0; group < sizeof actives / sizeof *actives; group++) {
        uint32_t k = actives[group], all = 0;
        for (uint32_t i = 0; i < 300; i++)
            play_messages(&f, k);
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
    expect_nothing(&f); /* its debt is in the mailbox and comes back by itself */
    free_slots(&f, 0, 1);
    expect_next(&f, 0, PEN_CREDIT_GRANT, 1);
    free_slots(&f, 0, 2); /* the debt */
    expect_nothing(&f);
    assert_int_equal(in_of(&f, 0).exposed, 3);
}

/* A sender that owes credits gets no grant, even if its receiver has credits. */
static void debt_comes_before_what_is_kept(void **state)
{
    (void)state;
    fixture f;
    open_it(&f, PEN_CREDIT_ACTIVITY, 2, 30);
    raise_quota(&f, 0, 27);
    arrive(&f, 0, 8);
    lower_quota(&f, 0, 6);
    free_slots(&f, 0, 9);
    assert_int_equal(in_of(&f, 0).exposed, 21);
    assert_int_equal(in_of(&f, 0).recovered, 3);
}

/* Credits that were freed meanwhile have gone to another peer, for which the returned ones are not
 * enough. */
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
    free_slots(&f, 0, 3);
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
    free_slots(&f, 1, 3);
    expect_next(&f, 1, PEN_CREDIT_GRANT, 3);
    arrive(&f, 1, 3); /* with which the epoch is over */
    free_slots(&f, 1, 3);
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
    assert_int_equal(give_of(&f, 5), 2); /* 8 credits: 5 were used, and 1 of 3 stays in hand */
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

/* ---- packets of several slots ---------------------------------------------------------------- */

static void a_least_quota_is_kept_and_checked(void **state)
{
    (void)state;
    pen_credit_params params = { .policy = PEN_CREDIT_LOAN,
                                 .peers = 2,
                                 .quota = 40,
                                 .control = 2,
                                 .least = 10,
                                 .step = 1,
                                 .hysteresis = 1,
                                 .epoch = 8,
                                 .one_way = true };
    assert_null(pen_credit_params_check(&params));
    assert_int_equal(pen_credit_start(&params), 10);
    params.start = 9;
    assert_non_null(pen_credit_params_check(&params));
    params.start = 0;
    params.least = 2;
    assert_non_null(pen_credit_params_check(&params));
    params.least = 41;
    assert_non_null(pen_credit_params_check(&params));
}

/* A loan of few credits makes no control packet, since those are limited and have to bring the
 * credits of a long packet. It rides at once. */
static void loans_for_long_packets_ride(void **state)
{
    (void)state;
    for (unsigned least = 0; least <= 10; least += 10) {
        const pen_credit_params params = { .policy = PEN_CREDIT_LOAN,
                                           .peers = 2,
                                           .quota = 40,
                                           .control = 2,
                                           .start = 10,
                                           .least = least,
                                           .step = 1,
                                           .hysteresis = 1,
                                           .epoch = 1000,
                                           .one_way = true };
        void *memory = malloc(pen_credit_receiver_size(&params));
        assert_non_null(memory);
        pen_credit_receiver *receiver = pen_credit_receiver_open(memory, &params);
        pen_credit_message message;
        uint32_t peer = 7;
        assert_int_equal(pen_credit_receiver_passed(receiver, 1, (pen_credit_tag){ .need = 1 }),
                         PEN_OK);
        bool has_next = pen_credit_receiver_next(receiver, &peer, &message);
        assert_int_equal(has_next, least == 0);
        if (!has_next) {
            assert_true(pen_credit_receiver_is_worth_a_ride(receiver, 1));
            assert_true(pen_credit_receiver_ride(receiver, 1, UINT32_MAX, &message));
        }
        assert_int_equal(message.count, 2); /* its own slot, and the loan */
        assert_int_equal(message.raised, 1);
        pen_credit_receiver_audit(receiver);
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_quota_goes_to_whoever_is_active),
        cmocka_unit_test(quotas_grow_faster_the_larger_they_are),
        cmocka_unit_test(whose_quota_lasts_longer_loses_what_makes_both_last_equally),
        cmocka_unit_test(peers_about_equally_active_get_the_same),
        cmocka_unit_test(stopped_peer_is_a_victim_whatever_its_quota),
        cmocka_unit_test(burst_is_not_taken_for_activity),
        cmocka_unit_test(peers_begin_with_what_was_chosen),
        cmocka_unit_test(difference_within_the_hysteresis_moves_nothing),
        cmocka_unit_test(almost_a_credit_is_one),
        cmocka_unit_test(active_group_gets_all_that_is_free),
        cmocka_unit_test(recall_leaves_the_reserve_in_hand),
        cmocka_unit_test(debtor_that_hurries_gets_its_slot_back),
        cmocka_unit_test(debt_comes_before_what_is_kept),
        cmocka_unit_test(who_gives_back_is_fed_first),
        cmocka_unit_test(who_lacked_credits_is_lent_them),
        cmocka_unit_test(empty_reserve_asks_others_and_not_in_vain_twice),
        cmocka_unit_test(borrower_keeps_what_it_used_and_the_reserve),
        cmocka_unit_test(borrower_that_stalls_keeps_all_until_that_has_faded),
        cmocka_unit_test(a_least_quota_is_kept_and_checked),
        cmocka_unit_test(loans_for_long_packets_ride),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
