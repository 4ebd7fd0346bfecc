/* SPDX-License-Identifier: BSD-3-Clause */
/* log_test.c: the form of a line, the levels that are shown; a message is always one line. */
#include "diag/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct tap {
    pen_log log;
    int read_fd;
    char text[8192];
} tap;

static tap open_tap(const char *who)
{
    tap out = { .read_fd = -1 };
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pen_log_init(&out.log, who);
    (void)snprintf(out.log.host, sizeof out.log.host, "n17");
    out.log.fd = ends[1];
    out.read_fd = ends[0];
    return out;
}

/* Everything logged so far; closes the log. */
static const char *drain(tap *at)
{
    close(at->log.fd);
    ssize_t len = read(at->read_fd, at->text, sizeof at->text - 1);
    assert_true(len >= 0);
    at->text[len] = '\0';
    close(at->read_fd);
    return at->text;
}

static void a_rank_says_who_and_where_it_is(void **state)
{
    (void)state;
    tap at = open_tap("run");
    at.log.rank = 3;
    (void)snprintf(at.log.conduit, sizeof at.log.conduit, "smp");
    errno = EADDRINUSE;
    pen_log_error(&at.log, "cannot bind port %d: %m; choose another", 5000);
    assert_int_equal(errno, EADDRINUSE);
    assert_string_equal(drain(&at), "penstock[rank 3 host n17 smp] error: cannot bind port 5000: "
                                    "Address already in use; choose another\n");
}

static void what_is_no_rank_says_its_name(void **state)
{
    (void)state;
    tap at = open_tap("run");
    pen_log_warn(&at.log, "careful");
    assert_string_equal(drain(&at), "penstock[run] warning: careful\n");
}

static void without_rank_and_name_the_host_speaks(void **state)
{
    (void)state;
    tap at = open_tap("");
    pen_log_error(&at.log, "x");
    assert_string_equal(drain(&at), "penstock[host n17] error: x\n");
}

static void only_levels_asked_for_are_shown(void **state)
{
    (void)state;
    tap at = open_tap("run");
    pen_log_info(&at.log, "hidden");
    assert_int_equal(at.log.line_count, 0);
    at.log.level = PEN_LOG_INFO;
    pen_log_info(&at.log, "shown");
    at.log.quiet = true;
    pen_log_warn(&at.log, "hidden");
    pen_log_error(&at.log, "shown");
    assert_int_equal(at.log.line_count, 2);
    assert_string_equal(drain(&at), "penstock[run] info: shown\npenstock[run] error: shown\n");
}

static void values_with_control_characters_stay_one_line(void **state)
{
    (void)state;
    tap at = open_tap("run");
    pen_log_error(&at.log, "bad value \"%s\"", "a\nb\x1b[31m\r\x7f");
    assert_string_equal(drain(&at), "penstock[run] error: bad value \"a b [31m  \"\n");
}

static void a_line_that_is_too_long_is_cut_and_says_so(void **state)
{
    (void)state;
    char value[8000];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    tap at = open_tap("run");
    pen_log_error(&at.log, "%s", value);
    const char *text = drain(&at);
    size_t len = strlen(text);
    assert_int_equal(len, 2048);
    assert_string_equal(text + len - 5, "x...\n");
}

static void a_log_to_nowhere_counts_its_lines(void **state)
{
    (void)state;
    pen_log log;
    pen_log_init(&log, "test");
    assert_int_equal(log.fd, STDERR_FILENO);
    assert_int_equal(log.rank, -1);
    assert_true(log.host[0] != '\0' && strchr(log.host, '.') == NULL);
    log.fd = -1;
    pen_log_error(&log, "unseen");
    assert_int_equal(log.line_count, 1);
}

static void levels_have_names(void **state)
{
    (void)state;
    pen_log_level level = PEN_LOG_ERROR;
    assert_true(pen_log_level_parse("warn", &level));
    assert_int_equal(level, PEN_LOG_WARN);
    assert_true(pen_log_level_parse("INFO", &level));
    assert_int_equal(level, PEN_LOG_INFO);
    assert_true(pen_log_level_parse("warning", &level));
    assert_int_equal(level, PEN_LOG_WARN);
    assert_false(pen_log_level_parse("", &level));
    assert_false(pen_log_level_parse("loud", &level));
    assert_false(pen_log_level_parse("debug", &level)); /* there is nothing to show */
    assert_int_equal(level, PEN_LOG_WARN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_says_who_and_where_it_is),
        cmocka_unit_test(what_is_no_rank_says_its_name),
        cmocka_unit_test(without_rank_and_name_the_host_speaks),
        cmocka_unit_test(only_levels_asked_for_are_shown),
        cmocka_unit_test(values_with_control_characters_stay_one_line),
        cmocka_unit_test(a_line_that_is_too_long_is_cut_and_says_so),
        cmocka_unit_test(a_log_to_nowhere_counts_its_lines),
        cmocka_unit_test(levels_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
