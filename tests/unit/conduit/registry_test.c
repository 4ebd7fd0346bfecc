/* SPDX-License-Identifier: BSD-3-Clause */
/* registry_test.c: choosing a conduit by name and by score, and the message when no conduit is
 * usable. */
#include "conduit/conduit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static int score_low(pen_peer peers, const char **why_not)
{
    (void)peers;
    (void)why_not;
    return 10;
}

static int score_if_small(pen_peer peers, const char **why_not)
{
    if (peers <= 2)
        return 50;
    *why_not = "it carries two ranks at most";
    return 0;
}

static int score_silent(pen_peer peers, const char **why_not)
{
    (void)peers;
    (void)why_not;
    return 0;
}

static const pen_conduit low = { .abi = PEN_CONDUIT_ABI, .name = "low", .score = score_low };
static const pen_conduit small = { .abi = PEN_CONDUIT_ABI,
                                   .name = "small",
                                   .score = score_if_small };
static const pen_conduit silent = { .abi = PEN_CONDUIT_ABI,
                                    .name = "silent",
                                    .score = score_silent };
static const pen_conduit stale = { .abi = PEN_CONDUIT_ABI + 1,
                                   .name = "stale",
                                   .score = score_low };

static const pen_conduit *const all[] = { &stale, &low, &small, &silent, NULL };
static const pen_conduit *const poor[] = { &stale, &small, &silent, NULL };

typedef struct said {
    pen_status status;
    const pen_conduit *chosen;
    char text[1024];
} said;

static said choose(const pen_conduit *const *table, const char *wanted, pen_peer peers)
{
    said out = { .chosen = NULL };
    pen_log log;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pen_log_init(&log, "test");
    log.fd = ends[1];
    out.status = pen_conduit_choose_among(&log, table, wanted, peers, &out.chosen);
    close(ends[1]);
    ssize_t len = read(ends[0], out.text, sizeof out.text - 1);
    assert_true(len >= 0);
    close(ends[0]);
    assert_int_equal(log.line_count, out.status == PEN_OK ? 0 : 1);
    return out;
}

static void the_best_score_wins(void **state)
{
    (void)state;
    assert_ptr_equal(choose(all, NULL, 2).chosen, &small);
    assert_ptr_equal(choose(all, "", 3).chosen, &low);
}

static void a_wanted_conduit_is_taken_whatever_the_others_score(void **state)
{
    (void)state;
    assert_ptr_equal(choose(all, "low", 2).chosen, &low);
}

static void an_unknown_name_is_answered_with_the_known_ones(void **state)
{
    (void)state;
    said out = choose(all, "fast", 2);
    assert_int_equal(out.status, PEN_ERR_UNUSABLE);
    assert_null(out.chosen);
    assert_non_null(strstr(out.text, "\"fast\""));
    assert_non_null(strstr(out.text, "stale, low, small, silent"));
    assert_null(strstr(out.text, "did you mean"));
    assert_non_null(strstr(choose(all, "smzll", 2).text, "did you mean \"small\"? It has: stale"));
}

static void an_unusable_one_says_why(void **state)
{
    (void)state;
    said out = choose(all, "small", 3);
    assert_int_equal(out.status, PEN_ERR_UNUSABLE);
    assert_non_null(strstr(out.text, "small for 3 ranks: it carries two ranks at most"));
    assert_int_equal(choose(all, "stale", 2).status, PEN_ERR_UNUSABLE);
}

static void when_none_is_usable_each_says_why(void **state)
{
    (void)state;
    said out = choose(poor, NULL, 3);
    assert_int_equal(out.status, PEN_ERR_UNUSABLE);
    assert_non_null(strstr(out.text, "stale: it was built for another version"));
    assert_non_null(strstr(out.text, "; small: it carries two ranks at most"));
    assert_non_null(strstr(out.text, "; silent: it gave no reason"));
}

static void built_in_conduits_are_found_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; pen_builtin_conduits[i] != NULL; i++)
        assert_ptr_equal(pen_conduit_find(pen_builtin_conduits[i]->name), pen_builtin_conduits[i]);
    assert_null(pen_conduit_find("no such conduit"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_score_wins),
        cmocka_unit_test(a_wanted_conduit_is_taken_whatever_the_others_score),
        cmocka_unit_test(an_unknown_name_is_answered_with_the_known_ones),
        cmocka_unit_test(an_unusable_one_says_why),
        cmocka_unit_test(when_none_is_usable_each_says_why),
        cmocka_unit_test(built_in_conduits_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
