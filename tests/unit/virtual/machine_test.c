/* SPDX-License-Identifier: BSD-3-Clause */
/* machine_test.c: a machine's file is taken as a whole or refused, and says where it is wrong. */
#include "virtual/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LINE(name, unit, least, most) #name " = 8 " unit "\n"
static const char before[] = "# a machine\n\n";
static const char plain[] = PEN_VIRTUAL_MACHINE_VALUES(LINE);

/* The plain machine, of which the axes are refused, with one line replaced or added. */
static const char *text_with(const char *name, const char *line, char text[4096])
{
    (void)snprintf(text, 4096, "%s", before);
    for (const char *at = plain; *at != 0; at = strchr(at, '\n') + 1) {
        size_t len = (size_t)(strchr(at, '\n') - at) + 1;
        bool is_axes = strncmp(at, "mesh_dimensions ", 16) == 0;
        if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == ' ')
            strncat(text, line, 4096 - strlen(text) - 1);
        else if (is_axes)
            strncat(text, "mesh_dimensions = 3 axes # and more\n", 4096 - strlen(text) - 1);
        else
            strncat(text, at, len);
    }
    return text;
}

static void refused(const char *name, const char *line, const char *because)
{
    char text[4096], problem[256] = "";
    pen_virtual_machine machine = { .router = 99 };
    (void)text_with(name, line, text);
    assert_false(
        pen_virtual_machine_parse("m", text, strlen(text), &machine, problem, sizeof problem));
    assert_int_equal(machine.router, 99);
    assert_non_null(strstr(problem, because));
    assert_int_equal(strncmp(problem, "m:", 2), 0);
}

static void all_values_are_read(void **state)
{
    (void)state;
    char text[4096], problem[256];
    pen_virtual_machine machine = { 0 };
    (void)text_with("router", " router=300 ns# hops\n", text);
    assert_true(
        pen_virtual_machine_parse("m", text, strlen(text), &machine, problem, sizeof problem) ||
        (fprintf(stderr, "%s\n", problem), false));
    assert_int_equal(machine.router, 300);
    assert_int_equal(machine.mesh_dimensions, 3);
    assert_int_equal(machine.poll_packet, 8);
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
    (void)state;
    refused("router", "router = 300 ns\nrouter = 300 ns\n", "twice");
    refused("router", "", "router is not given");
    refused("router", "routers = 300 ns\n", "\"routers\"");
    refused("router", "router = 300 us\n", "write it in ns");
    refused("router", "router = 300\n", "no unit");
    refused("router", "router = ns\n", "no number");
    refused("router", "router = -3 ns\n", "no number");
    refused("router", "router = 3 ns 4\n", "more than");
    refused("router", "router = 1000001 ns\n", "must be 0 to 1000000");
    refused("router", "router = 99999999999999999999999 ns\n", "router");
    refused("router", "router 300 ns\n", "no value");
    refused("link_packet", "link_packet = 0 ns\n", "must be 1");
    refused("send_packet", "\n\nsend_packet = 1 parsec\n", "m:7:");
    refused("router", "a_name_that_is_much_longer_than_any_name_is = 3 ns\n", "no value");
}

static void file_that_is_not_there_is_said_so(void **state)
{
    (void)state;
    char problem[256];
    pen_virtual_machine machine;
    assert_false(pen_virtual_machine_read("/nowhere/machine", &machine, problem, sizeof problem));
    assert_non_null(strstr(problem, "cannot be opened"));
    assert_false(pen_virtual_machine_read("/dev/zero", &machine, problem, sizeof problem));
    assert_non_null(strstr(problem, "64 KiB"));
}

static void machine_of_the_papers_is_as_far_as_published(void **state)
{
    (void)state;
    char path[512], problem[256];
    pen_virtual_machine m;
    const char *source = getenv("PENSTOCK_SOURCE_DIR");
    (void)snprintf(path, sizeof path, "%s/src/virtual/machines/extoll-r1",
                   source != NULL ? source : ".");
    assert_true(pen_virtual_machine_read(path, &m, problem, sizeof problem));
    assert_int_equal(
        m.send_packet + m.nic_send + m.link_packet + m.router + m.nic_receive + m.poll_packet, 970);
    assert_int_equal(pen_virtual_machine_hops(&m, 64, 0, 63), 9); /* 4 by 4 by 4 */
    assert_int_equal(pen_virtual_machine_hops(&m, 1024, 0, 1023), 15 + 7 + 7);
    assert_int_equal(pen_virtual_machine_hops(&m, 64, 21, 21), 0);
    assert_int_equal(pen_virtual_machine_hops(&m, 64, 0, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_values_are_read),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(file_that_is_not_there_is_said_so),
        cmocka_unit_test(machine_of_the_papers_is_as_far_as_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
