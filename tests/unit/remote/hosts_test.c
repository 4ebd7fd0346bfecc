/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts_test.c: lists of hosts from the command line, files and Slurm, refusals and their messages,
 * and the number of ranks of each host. */
#include "remote/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct table {
    pen_hosts hosts;
    pen_hosts_problem problem;
    char text[1024];
} table;

/* "a:0 b:4 ", by hand easier to compare. */
static const char *told(table *t)
{
    size_t len = 0;
    t->text[0] = '\0';
    for (uint32_t i = 0; i < t->hosts.count; i++)
        len += (size_t)snprintf(t->text + len, sizeof(t->text) - len, "%s:%u ",
                                t->hosts.entries[i].name, t->hosts.entries[i].slots);
    pen_hosts_free(&t->hosts);
    return t->text;
}

static const char *list(table *t, const char *text)
{
    memset(t, 0, sizeof(*t));
    bool sound = pen_hosts_from_list(text, "--hosts", &t->hosts, &t->problem);
    const char *hosts = told(t);
    return sound ? hosts : t->problem.text;
}

static const char *file(table *t, const char *text)
{
    memset(t, 0, sizeof(*t));
    bool sound = pen_hosts_from_file(text, strlen(text), "f", &t->hosts, &t->problem);
    const char *hosts = told(t);
    return sound ? hosts : t->problem.text;
}

static const char *slurm(table *t, const char *nodes, const char *tasks)
{
    memset(t, 0, sizeof(*t));
    bool sound = pen_hosts_from_slurm(nodes, tasks, &t->hosts, &t->problem);
    const char *hosts = told(t);
    return sound ? hosts : t->problem.text;
}

static void lists_name_hosts_and_slots(void **state)
{
    (void)state;
    table t;
    assert_string_equal(list(&t, "a,b:4,me@c"), "a:0 b:4 me@c:0 ");
    assert_string_equal(list(&t, " a  b:1, c "), "a:0 b:1 c:0 ");
    assert_string_equal(list(&t, "[fd00::1]:2,fd00::2,[fe80::1%eth0]"),
                        "fd00::1:2 fd00::2:0 fe80::1%eth0:0 ");
    assert_string_equal(list(&t, "a,b,a,a"), "a:3 b:0 "); /* a slot for each mention */
    assert_string_equal(list(&t, "a:2,a:3"), "a:5 ");
}

static void what_ssh_or_a_shell_would_misread_is_refused(void **state)
{
    (void)state;
    table t;
    static const char *const bad[] = {
        "-oProxyCommand=x", "a;b", "$(x)", "a`b", "me@-x", "@a", "a@", "a'b", "a/b"
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_non_null(strstr(list(&t, bad[i]), "is no name of a host"));
    assert_non_null(strstr(list(&t, "a:0"), "no number of slots"));
    assert_non_null(strstr(list(&t, "a:x"), "no number of slots"));
    assert_non_null(strstr(list(&t, "a:4097"), "no number of slots"));
    assert_non_null(strstr(list(&t, "[fd00::1"), "write an address as"));
    assert_non_null(strstr(list(&t, " , "), "names no host"));
}

static void files_have_a_host_in_each_line(void **state)
{
    (void)state;
    table t;
    assert_string_equal(file(&t, "# mine\n\n a \nb:4 # four\r\nc slots=2\nd"), "a:0 b:4 c:2 d:0 ");
    assert_string_equal(file(&t, "a\na\nb\n"), "a:2 b:0 ");
    assert_non_null(strstr(file(&t, "a\nb cpus=2\n"), "f:2: \"cpus=2\" is not understood: "));
    assert_non_null(strstr(file(&t, "a\n\nb slots=\n"), "f:3: "));
    assert_non_null(strstr(file(&t, "a slots=9999999999999\n"), "f:1: "));
    assert_non_null(strstr(file(&t, "# nothing\n"), "names no host"));
}

static void slurm_lists_are_expanded(void **state)
{
    (void)state;
    table t;
    assert_string_equal(slurm(&t, "n[1-3,07],gpu1", NULL), "n1:0 n2:0 n3:0 n07:0 gpu1:0 ");
    assert_string_equal(slurm(&t, "n[08-10]", "2(x2),1"), "n08:2 n09:2 n10:1 ");
    assert_string_equal(slurm(&t, "r[0-1]n[1-2]", NULL), "r0n1:0 r0n2:0 r1n1:0 r1n2:0 ");
    static const char *const bad[] = { "n[1-",
                                       "n[3-1]",
                                       "n[]",
                                       "n[1-99999999]",
                                       "n]",
                                       ",a",
                                       "",
                                       "n[1,1]",
                                       "n[1][2][3][4][5][6][7][8][9]" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_non_null(strstr(slurm(&t, bad[i], NULL), "--hosts"));
    assert_non_null(strstr(slurm(&t, "a,b", "2(x"), "SLURM_TASKS_PER_NODE"));
}

static void ranks_are_dealt_evenly_within_slots(void **state)
{
    (void)state;
    table t;
    uint32_t counts[PEN_HOSTS_MAX];
    const uint32_t cores[] = { 2, 2, 8 };
    memset(&t, 0, sizeof(t));
    assert_true(pen_hosts_from_list("a,b,c", "x", &t.hosts, &t.problem));
    assert_true(pen_hosts_place(&t.hosts, cores, 6, counts, &t.problem));
    assert_true(counts[0] == 2 && counts[1] == 2 && counts[2] == 2);
    assert_true(pen_hosts_place(&t.hosts, cores, 9, counts, &t.problem));
    assert_true(counts[0] == 2 && counts[1] == 2 && counts[2] == 5);
    assert_true(pen_hosts_place(&t.hosts, cores, 30, counts, &t.problem)); /* cores are shared */
    assert_int_equal(counts[0] + counts[1] + counts[2], 30);
    pen_hosts_free(&t.hosts);
    assert_true(pen_hosts_from_list("a:2,b:1", "x", &t.hosts, &t.problem));
    assert_true(pen_hosts_place(&t.hosts, NULL, 3, counts, &t.problem));
    assert_true(counts[0] == 2 && counts[1] == 1);
    assert_false(pen_hosts_place(&t.hosts, NULL, 4, counts, &t.problem));
    assert_non_null(strstr(t.problem.text, "4 ranks, but the hosts have 3 slots"));
    pen_hosts_free(&t.hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_name_hosts_and_slots),
        cmocka_unit_test(what_ssh_or_a_shell_would_misread_is_refused),
        cmocka_unit_test(files_have_a_host_in_each_line),
        cmocka_unit_test(slurm_lists_are_expanded),
        cmocka_unit_test(ranks_are_dealt_evenly_within_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
