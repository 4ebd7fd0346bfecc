/* SPDX-License-Identifier: BSD-3-Clause */
/* end_text_test.c: lines about the end of a job, as supervisors and stewards print them. */
#include "boot/end_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void a_notice_names_few_ranks_of_many(void **state)
{
    (void)state;
    pen_rank_list left = { .count = 0 }, stay = { .count = 0 };
    pen_rank_list_add(&left, 4000000000u);
    for (uint32_t rank = 4000000001u; rank < 4000000010u; rank++)
        pen_rank_list_add(&stay, rank);
    assert_string_equal(
        pen_end_notice(&left, &stay, 0).text,
        "rank 4000000000 has left with 0, ranks 4000000001, 4000000002, 4000000003, "
        "4000000004, 4000000005, 4000000006, 4000000007, 4000000008 and more have "
        "not; the job waits without a limit (PENSTOCK_LEAVE_TIMEOUT)");
    stay.count = PEN_RANKS_NAMED_MAX; /* all named: no "more" */
    assert_null(strstr(pen_end_notice(&left, &stay, 1).text, "more"));
}

static void an_empty_list_stands_for_other_hosts(void **state)
{
    (void)state;
    pen_rank_list left = { .named = { 0, 2 }, .count = 2 }, stay = { .count = 0 };
    assert_string_equal(
        pen_end_late(&left, &stay, 1500000000u).text,
        "ranks 0, 2 left with 0 and ranks of other hosts had not 1.5 s later: ended "
        "by force (meet in a barrier before the end, or raise "
        "PENSTOCK_LEAVE_TIMEOUT)");
    assert_non_null(strstr(pen_end_notice(&left, &stay, 1500000000u).text,
                           "ranks 0, 2 have left with 0, ranks of other hosts have not; the job "
                           "waits for up to 1.5 s "));
}

static void a_reason_follows_the_rank_and_its_note(void **state)
{
    (void)state;
    pen_rank_text who = pen_rank_text_of(3, "n17", 4711);
    assert_string_equal(who.text, "rank 3 (host n17, pid 4711)");
    assert_string_equal(pen_end_exited(who.text, 7, "").text,
                        "rank 3 (host n17, pid 4711) exited with status 7; ending the job");
    assert_string_equal(pen_end_exited("rank 1", 7, "no memory").text,
                        "rank 1 exited with status 7: no memory; ending the job");
    assert_string_equal(pen_end_called("rank 1", 5, "").text,
                        "rank 1 called gasnet_exit(5); ending the job");
    assert_string_equal(pen_end_called("rank 1", 5, "SIGTERM").text,
                        "rank 1 called gasnet_exit(5); ending the job");
    assert_string_equal(pen_end_called("rank 1", 1, "no memory").text,
                        "rank 1 met an error: see its message above; ending the job with status 1");
    assert_non_null(strstr(pen_end_blocked("rank 1", "a barrier", "rank 2").text,
                           "rank 1 waits in a barrier for rank 2, which has left with 0"));
    assert_non_null(strstr(pen_end_resigned("rank 1").text, "rank 1 ended after pen_finalize"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_notice_names_few_ranks_of_many),
        cmocka_unit_test(an_empty_list_stands_for_other_hosts),
        cmocka_unit_test(a_reason_follows_the_rank_and_its_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
