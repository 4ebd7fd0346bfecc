/* SPDX-License-Identifier: BSD-3-Clause */
/* read_test.c: a config struct filled from variables, and one printed row. */
#include "knob/knob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct config {
    int64_t ranks;
    uint64_t room_len;
    const char *name;
    bool loud;
    double wait_s;
    pen_memory_limit limit;
    double share;
} config;

static const pen_knob table[] = {
    { "PEN_TEST_RANKS", PEN_KNOB_INT, "4", offsetof(config, ranks), "How many." },
    { "PEN_TEST_ROOM", PEN_KNOB_BYTES, "2K", offsetof(config, room_len), "How much." },
    { "PEN_TEST_NAME", PEN_KNOB_STRING, NULL, offsetof(config, name), "Who." },
    { "PEN_TEST_LOUD", PEN_KNOB_BOOL, "no", offsetof(config, loud), "How." },
    { "PEN_TEST_WAIT", PEN_KNOB_SECONDS, "1.5", offsetof(config, wait_s), "How long." },
    { "PEN_TEST_LIMIT", PEN_KNOB_MEMORY, NULL, offsetof(config, limit), "At most." },
    { "PEN_TEST_SHARE", PEN_KNOB_REAL, "1e-3", offsetof(config, share), "How much of it." },
    { 0 },
};

/* ctx: pairs of name and value, ending with NULL. */
static const char *lookup(void *ctx, const char *name)
{
    for (const char **pair = ctx; *pair != NULL; pair += 2) {
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    }
    return NULL;
}

static void unset_variables_have_their_defaults_or_zero(void **state)
{
    (void)state;
    pen_log log;
    config out;
    const char *nothing[] = { NULL };
    memset(&out, 0xff, sizeof out);
    pen_log_init(&log, "test");
    assert_int_equal(pen_knob_read(&log, table, &out, lookup, nothing), PEN_OK);
    assert_int_equal(out.ranks, 4);
    assert_int_equal(out.room_len, 2048);
    assert_null(out.name);
    assert_false(out.loud);
    assert_true(out.wait_s == 1.5);
    assert_true(out.share == 1e-3);
    assert_true(out.limit.len == 0 && out.limit.fraction == 0 && !out.limit.per_host);
}

static void set_variables_win_and_empty_ones_do_not(void **state)
{
    (void)state;
    pen_log log;
    config out;
    const char *values[] = { "PEN_TEST_RANKS",
                             "9",
                             "PEN_TEST_ROOM",
                             "",
                             "PEN_TEST_NAME",
                             "",
                             "PEN_TEST_LOUD",
                             "y",
                             "PEN_TEST_LIMIT",
                             "1G/H",
                             NULL };
    pen_log_init(&log, "test");
    assert_int_equal(pen_knob_read(&log, table, &out, lookup, values), PEN_OK);
    assert_int_equal(out.ranks, 9);
    assert_int_equal(out.room_len, 2048);
    assert_string_equal(out.name, "");
    assert_true(out.loud);
    assert_true(out.limit.len == 1u << 30 && out.limit.per_host);
}

static void without_a_lookup_the_environment_is_read(void **state)
{
    (void)state;
    pen_log log;
    config out;
    pen_log_init(&log, "test");
    assert_int_equal(setenv("PEN_TEST_RANKS", "11", 1), 0);
    assert_int_equal(pen_knob_read(&log, table, &out, NULL, NULL), PEN_OK);
    assert_int_equal(unsetenv("PEN_TEST_RANKS"), 0);
    assert_int_equal(out.ranks, 11);
    assert_int_equal(pen_knob_read(&log, NULL, &out, NULL, NULL), PEN_OK); /* no knobs at all */
}

static void a_bad_value_is_named_with_what_would_be_right(void **state)
{
    (void)state;
    pen_log log;
    config out;
    int ends[2];
    char text[1024];
    const char *values[] = { "PEN_TEST_RANKS", "5", "PEN_TEST_ROOM", "lots", NULL };
    assert_int_equal(pipe(ends), 0);
    pen_log_init(&log, "test");
    log.fd = ends[1];
    assert_int_equal(pen_knob_read(&log, table, &out, lookup, values), PEN_ERR_ARGUMENT);
    assert_int_equal(log.line_count, 1);
    assert_int_equal(out.ranks, 5);
    ssize_t len = read(ends[0], text, sizeof text - 1);
    assert_true(len > 0);
    text[len] = '\0';
    assert_non_null(strstr(text, "PEN_TEST_ROOM=\"lots\""));
    assert_non_null(strstr(text, "64K"));
    close(ends[0]);
    close(ends[1]);
}

static void a_row_is_printed_with_value_and_origin(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    pen_knob_print(out, &table[0], "4", true);
    pen_knob_print(out, &table[2], NULL, true);
    pen_knob_print(out, &table[3], "yes", false);
    assert_int_equal(fclose(out), 0);
    char *line = strtok(text, "\n");
    assert_non_null(strstr(line, "PEN_TEST_RANKS"));
    assert_non_null(strstr(line, " 4 "));
    assert_non_null(strstr(line, "(default)"));
    assert_non_null(strstr(line, "How many."));
    assert_non_null(strstr(strtok(NULL, "\n"), "(not set)"));
    assert_non_null(strstr(strtok(NULL, "\n"), "(environment)"));
    assert_null(strtok(NULL, "\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unset_variables_have_their_defaults_or_zero),
        cmocka_unit_test(set_variables_win_and_empty_ones_do_not),
        cmocka_unit_test(without_a_lookup_the_environment_is_read),
        cmocka_unit_test(a_bad_value_is_named_with_what_would_be_right),
        cmocka_unit_test(a_row_is_printed_with_value_and_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
