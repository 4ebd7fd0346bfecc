/* SPDX-License-Identifier: BSD-3-Clause */
/* run_options.c: the command line of `penstock run`. */
#include "command/run_options.h"

#include "command/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ENTRIES_MAX = 8, WORDS_MAX = 24 };

typedef struct entries {
    char *entry[ENTRIES_MAX];
    size_t count;
} entries;

static void keep(void *ctx, char *entry)
{
    entries *to = ctx;
    assert_true(to->count < ENTRIES_MAX);
    to->entry[to->count++] = entry;
}

static bool parse(run_options *out, run_problem *problem, entries *set, const char *const *words)
{
    static char text[WORDS_MAX][64];
    static char *arguments[WORDS_MAX + 1];
    size_t count = 0;
    for (; words[count] != NULL; count++) {
        assert_true(count < WORDS_MAX);
        strncpy(text[count], words[count], sizeof(text[count]) - 1);
        arguments[count] = text[count];
    }
    arguments[count] = NULL;
    set->count = 0;
    return run_options_parse(arguments, out, keep, set, problem);
}
#define PARSE(...) parse(&options, &problem, &set, (const char *const[]){ __VA_ARGS__, NULL })

static void every_option_is_understood(void **state)
{
    (void)state;
    run_options options;
    run_problem problem;
    entries set;
    assert_true(PARSE("-n", "4", "--timeout", "10m", "--tag", "--env", "A=1", "--env", "PATH",
                      "--conduit", "smp", "--checked", "--stats", "--verbose", "--hosts", "a,b:2",
                      "prog", "-n", "9"));
    assert_int_equal(options.ranks, 4);
    assert_true(options.timeout_s > 599.9 && options.timeout_s < 600.1);
    assert_true(options.tag && options.checked && options.stats && options.verbose);
    assert_string_equal(options.conduit, "smp");
    assert_int_equal(set.count, 2);
    assert_string_equal(set.entry[0], "A=1");
    assert_string_equal(set.entry[1], "PATH");
    assert_string_equal(options.hosts, "a,b:2");
    assert_string_equal(options.argv[0], "prog");
    assert_string_equal(options.argv[2], "9");
    assert_null(options.argv[3]);
}

static void options_have_short_and_joined_forms(void **state)
{
    (void)state;
    run_options options;
    run_problem problem;
    entries set;
    assert_true(PARSE("-np", "3", "prog"));
    assert_int_equal(options.ranks, 3);
    assert_true(PARSE("-n16", "-v", "prog"));
    assert_true(options.ranks == 16 && options.verbose);
    assert_true(PARSE("--timeout=2", "--env=B=x=y", "-n", "1", "--", "-n"));
    assert_true(options.timeout_s > 1.9 && options.timeout_s < 2.1);
    assert_string_equal(set.entry[0], "B=x=y");
    assert_string_equal(options.argv[0], "-n");
    assert_true(PARSE("-h"));
    assert_true(options.help);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    run_options options;
    run_problem problem;
    entries set;
    static const char *const wrong[][5] = {
        { "prog" },
        { "-n", "2" },
        { "-n" },
        { "-n", "0", "prog" },
        { "-n", "4097", "prog" },
        { "-n", "two", "prog" },
        { "-n", "2", "--timeout", "0", "prog" },
        { "-n", "2", "--timeout", "soon", "prog" },
        { "-n", "2", "--env", "1A=x", "prog" },
        { "-n", "2", "--tag=yes", "prog" },
        { "-n", "2", "--conduit=", "prog" },
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *words[6] = { NULL };
        memcpy(words, wrong[i], sizeof(wrong[i]));
        assert_false(parse(&options, &problem, &set, words));
        assert_null(problem.unknown);
        assert_true(problem.text[0] != '\0');
    }
}

static void unknown_options_come_with_the_nearest(void **state)
{
    (void)state;
    run_options options;
    run_problem problem;
    entries set;
    assert_false(PARSE("--tiemout", "3"));
    assert_string_equal(problem.unknown, "--tiemout");
    assert_string_equal(problem.nearest, "--timeout");
    assert_false(PARSE("--verb"));
    assert_string_equal(problem.nearest, "--verbose");
    assert_false(PARSE("--xyzzy-plugh"));
    assert_null(problem.nearest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_understood),
        cmocka_unit_test(options_have_short_and_joined_forms),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(unknown_options_come_with_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
