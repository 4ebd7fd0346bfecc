/* SPDX-License-Identifier: BSD-3-Clause */
/* invariant_test.c: a broken invariant says where in one line, and aborts. */
#include "base/compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* Runs body in a child; returns its stderr and how it ended. */
static int run_child(void (*body)(void), char *text, size_t text_len)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit none = { 0, 0 };
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL); /* cmocka's handler would write, too */
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    ssize_t got;
    while ((got = read(ends[0], text + len, text_len - 1 - len)) > 0)
        len += (size_t)got;
    text[len] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void break_it(void) { PEN_INVARIANT(1 + 1 == 3); }

static void keep_it(void) { PEN_INVARIANT(1 + 1 == 2); }

static void break_at_length(void)
{
    char what[2000];
    memset(what, 'x', sizeof what - 1);
    what[sizeof what - 1] = '\0';
    pen_invariant_broken(what, "file.c", 1);
}

static void assert_it(void) { PEN_ASSERT(1 + 1 == 3); }

static void a_broken_invariant_says_where_and_aborts(void **state)
{
    (void)state;
    char text[1024];
    int status = run_child(break_it, text, sizeof text);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "] error: invariant broken: 1 + 1 == 3 at "));
    assert_non_null(strstr(text, "invariant_test.c:"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void an_invariant_that_holds_does_nothing(void **state)
{
    (void)state;
    char text[1024];
    assert_int_equal(run_child(keep_it, text, sizeof text), 0);
    assert_string_equal(text, "");
}

static void a_long_message_is_still_one_line(void **state)
{
    (void)state;
    char text[4096];
    assert_true(WIFSIGNALED(run_child(break_at_length, text, sizeof text)));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void an_assertion_counts_in_checked_builds_only(void **state)
{
    (void)state;
    char text[1024];
    int status = run_child(assert_it, text, sizeof text);
    assert_int_equal(WIFSIGNALED(status) != 0, PEN_CHECKED != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_invariant_says_where_and_aborts),
        cmocka_unit_test(an_invariant_that_holds_does_nothing),
        cmocka_unit_test(a_long_message_is_still_one_line),
        cmocka_unit_test(an_assertion_counts_in_checked_builds_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
