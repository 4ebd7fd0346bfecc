/* SPDX-License-Identifier: BSD-3-Clause */
/* diagnosis_test.c: the sentences about jobs that stand still. */
#include "launch/diagnosis.h"

#include "boot/wait_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 40, TEXT_LEN = 4096 };
#define SECOND UINT64_C(1000000000)

static void collect(void *ctx, const char *sentence)
{
    char *all = ctx;
    size_t len = strlen(all);
    (void)snprintf(all + len, TEXT_LEN - len, "%s\n", sentence);
}

/* Ranks that run and poll, without any wait. */
static void begin(pen_seen *ranks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = (pen_seen){
            .known = true, .alive = true, .joined = true, .process = 'R', .pid = 100 + (int32_t)i
        };
}

static void wait_in(pen_seen *rank, pen_call call, pen_awaited awaited, uint32_t peer,
                    uint32_t number)
{
    rank->waits = true;
    rank->waited_ns = 3 * SECOND;
    rank->wait =
        (pen_wait_note){ .call = call, .awaited = awaited, .peer = peer, .number = number };
}

static void wait_in_barrier(pen_seen *rank, uint32_t number)
{
    wait_in(rank, PEN_CALL_BARRIER_WAIT, PEN_AWAITED_NAMED, PEN_WAIT_NOBODY, number);
    rank->entered[PEN_ENTERED_NAMED] = number + 1;
}

static void those_who_have_not_entered_a_barrier_are_named(void **state)
{
    (void)state;
    pen_seen ranks[5];
    char text[TEXT_LEN] = "";
    begin(ranks, 5);
    assert_int_equal(pen_diagnose(ranks, 5, collect, text), 0);
    wait_in_barrier(&ranks[0], 3);
    wait_in_barrier(&ranks[2], 3);
    ranks[3].entered[PEN_ENTERED_NAMED] = 4; /* has entered, and computes */
    ranks[4].entered[PEN_ENTERED_NAMED] = 3;
    assert_int_equal(pen_diagnose(ranks, 5, collect, text), 1);
    assert_string_equal(text, "the gasnet_barrier that ranks wait in was not entered by ranks 1, "
                              "4\n");
    ranks[1].known = false; /* it runs on a host that was not looked at */
    ranks[4].entered[PEN_ENTERED_NAMED] = 4;
    ranks[3].alive = false;
    text[0] = '\0';
    assert_int_equal(pen_diagnose(ranks, 5, collect, text), 2);
    assert_string_equal(text, "the gasnet_barrier that ranks wait in was not entered by rank 3\n"
                              "rank 3 has ended; ranks 0, 2 wait for it\n");
}

static void a_long_list_is_cut(void **state)
{
    (void)state;
    static pen_seen ranks[RANKS];
    char text[TEXT_LEN] = "";
    begin(ranks, RANKS);
    wait_in_barrier(&ranks[RANKS - 1], 0);
    assert_int_equal(pen_diagnose(ranks, RANKS, collect, text), 1);
    assert_non_null(strstr(text, "by ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 "
                                 "and more\n"));
}

static void a_circle_of_three_is_told_once_from_its_smallest_rank(void **state)
{
    (void)state;
    pen_seen ranks[5];
    char text[TEXT_LEN] = "";
    begin(ranks, 5);
    wait_in(&ranks[0], PEN_CALL_TEAM, PEN_AWAITED_RANKS, 3, 0); /* leads into the circle */
    wait_in(&ranks[1], PEN_CALL_TEAM, PEN_AWAITED_RANKS, 4, 0);
    wait_in(&ranks[4], PEN_CALL_PUBLISH, PEN_AWAITED_RANKS, 3, 0);
    wait_in(&ranks[3], PEN_CALL_SETUP, PEN_AWAITED_RANKS, 1, 0);
    assert_int_equal(pen_diagnose(ranks, 5, collect, text), 1);
    assert_string_equal(text, "a circle: rank 1 waits for rank 4 in gex_TM_Split, _Create or "
                              "_Destroy, rank 4 waits for rank 3 in gex_EP_PublishBoundSegment, "
                              "rank 3 waits for rank 1 in a collective set-up call\n");
}

static void a_wait_for_a_rank_that_serves_is_no_circle(void **state)
{
    (void)state;
    pen_seen ranks[2];
    char text[TEXT_LEN] = "";
    begin(ranks, 2);
    wait_in(&ranks[0], PEN_CALL_PUT, PEN_AWAITED_PUT, 1, 0);
    wait_in(&ranks[1], PEN_CALL_GET, PEN_AWAITED_GET, 0, 0);
    assert_int_equal(pen_diagnose(ranks, 2, collect, text), 0);
    ranks[0].resent = 7;
    assert_int_equal(pen_diagnose(ranks, 2, collect, text), 1);
    assert_non_null(strstr(text, "rank 0 waits in gex_RMA_Put for ranks that poll, and has sent 7 "
                                 "frames again"));
}

static void a_quiet_rank_is_blamed_only_while_others_wait(void **state)
{
    (void)state;
    pen_seen ranks[2];
    char text[TEXT_LEN] = "";
    begin(ranks, 2);
    ranks[1].quiet_ns = 5 * SECOND;
    assert_int_equal(pen_diagnose(ranks, 2, collect, text), 0);
    wait_in(&ranks[0], PEN_CALL_PUT, PEN_AWAITED_PUT, 1, 0);
    assert_int_equal(pen_diagnose(ranks, 2, collect, text), 1);
    assert_string_equal(text, "rank 1 computes and has not polled for 5.0 s, so it takes no "
                              "messages; rank 0 waits for it\n");
    ranks[0].waited_ns = SECOND / 2; /* not long */
    assert_int_equal(pen_diagnose(ranks, 2, collect, text), 0);
}

static void a_missing_message_is_told_only_if_none_is_on_its_way(void **state)
{
    (void)state;
    pen_seen ranks[2];
    char text[TEXT_LEN] = "";
    begin(ranks, 2);
    wait_in(&ranks[0], PEN_CALL_BLOCKUNTIL, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, 0);
    wait_in(&ranks[1], PEN_CALL_POLL, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, 0);
    ranks[0].sent = 5;
    ranks[1].handled = 4;
    assert_int_equal(pen_diagnose(ranks, 2, collect, text), 0);
    ranks[1].handled = 5;
    assert_int_equal(pen_diagnose(ranks, 2, collect, text), 1);
    assert_non_null(strstr(text, "ranks 0, 1 wait for a condition of the program"));
    ranks[1].waits = false; /* it may still send */
    assert_int_equal(pen_diagnose(ranks, 2, collect, text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_who_have_not_entered_a_barrier_are_named),
        cmocka_unit_test(a_long_list_is_cut),
        cmocka_unit_test(a_circle_of_three_is_told_once_from_its_smallest_rank),
        cmocka_unit_test(a_wait_for_a_rank_that_serves_is_no_circle),
        cmocka_unit_test(a_quiet_rank_is_blamed_only_while_others_wait),
        cmocka_unit_test(a_missing_message_is_told_only_if_none_is_on_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
