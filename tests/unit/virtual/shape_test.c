/* SPDX-License-Identifier: BSD-3-Clause */
/* shape_test.c: every route ends at its node after the expected number of steps, each over a link
 * that begins where the step before has ended; texts that are no topology are refused in words. */
#include "virtual/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { STEPS_MAX = 64 };

static pen_virtual_shape parsed(const char *text, uint32_t nodes)
{
    char problem[256] = "";
    pen_virtual_shape shape;
    if (!pen_virtual_shape_parse(text, nodes, &shape, problem, sizeof problem))
        fail_msg("%s", problem);
    return shape;
}

/* Returns the steps from one node to the other, and checks that each link is used by one pair of
 * routers only. */
static uint32_t walk(const pen_virtual_shape *shape, uint32_t from, uint32_t to, uint32_t *ends)
{
    pen_virtual_step step = { .router = from, .axis = UINT32_MAX };
    for (uint32_t steps = 0; steps < STEPS_MAX; steps++) {
        uint32_t begin = step.router;
        step = pen_virtual_shape_route(shape, begin, to, step.axis, step.channel);
        if (step.link == UINT32_MAX) {
            assert_int_equal(begin, to);
            return steps;
        }
        assert_true(step.link < shape->links);
        uint32_t pair = begin << 16 | (step.router + 1);
        assert_true(ends[step.link] == 0 || ends[step.link] == pair);
        ends[step.link] = pair;
    }
    fail_msg("no route from %u to %u ends", from, to);
    return 0;
}

static uint32_t apart(uint32_t a, uint32_t b, uint32_t around)
{
    uint32_t straight = a > b ? a - b : b - a;
    return around != 0 && around - straight < straight ? around - straight : straight;
}

static void routes_on_axes_are_the_shortest(void **state)
{
    (void)state;
    const char *const texts[] = { "mesh:4x4x4", "torus:4x4x4", "mesh:5x3", "torus:5x3", "torus:7" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pen_virtual_shape shape = parsed(texts[i], 1);
        static uint32_t ends[4096];
        memset(ends, 0, sizeof ends);
        for (uint32_t from = 0; from < shape.nodes; from++)
            for (uint32_t to = 0; to < shape.nodes; to++) {
                uint32_t expected = 0, stride = 1;
                for (uint32_t axis = 0; axis < shape.axes; stride *= shape.extent[axis++])
                    expected +=
                        apart(from / stride % shape.extent[axis], to / stride % shape.extent[axis],
                              shape.kind == PEN_VIRTUAL_TORUS ? shape.extent[axis] : 0);
                assert_int_equal(walk(&shape, from, to, ends), expected);
            }
    }
}

static void routes_through_switches_have_their_length(void **state)
{
    (void)state;
    static uint32_t ends[4096];
    pen_virtual_shape bar = parsed("crossbar", 9), tree = parsed("fat-tree:4x2", 10);
    memset(ends, 0, sizeof ends);
    for (uint32_t from = 0; from < 9; from++)
        for (uint32_t to = 0; to < 9; to++)
            assert_int_equal(walk(&bar, from, to, ends), from == to ? 0 : 2);
    memset(ends, 0, sizeof ends);
    for (uint32_t from = 0; from < 10; from++)
        for (uint32_t to = 0; to < 10; to++)
            assert_int_equal(walk(&tree, from, to, ends), from == to           ? 0
                                                          : from / 4 == to / 4 ? 2
                                                                               : 4);
}

static void packet_changes_its_channel_at_the_end_of_an_axis(void **state)
{
    (void)state;
    pen_virtual_shape ring = parsed("torus:5x3", 1);
    pen_virtual_step step = pen_virtual_shape_route(&ring, 3, 0 + 5, UINT32_MAX, 0);
    assert_int_equal(step.channel, 0); /* 3 -> 4 */
    step = pen_virtual_shape_route(&ring, step.router, 0 + 5, step.axis, step.channel);
    assert_int_equal(step.channel, 1); /* 4 -> 0 */
    step = pen_virtual_shape_route(&ring, step.router, 0 + 5, step.axis, step.channel);
    assert_int_equal(step.axis, 1);
    assert_int_equal(step.channel, 0); /* the next axis begins in channel 0 */
    step = pen_virtual_shape_route(&ring, 4, 1, UINT32_MAX, 0);
    step = pen_virtual_shape_route(&ring, step.router, 1, step.axis, step.channel);
    assert_int_equal(step.channel, 1); /* stays behind the end */
}

static void refused(const char *text, uint32_t nodes, const char *because)
{
    char problem[256] = "";
    pen_virtual_shape shape = { .nodes = 77 };
    assert_false(pen_virtual_shape_parse(text, nodes, &shape, problem, sizeof problem));
    assert_int_equal(shape.nodes, 77);
    if (strstr(problem, because) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", problem, because);
}

static void bad_topologies_are_refused(void **state)
{
    (void)state;
    const char *const bad[] = {
        "",          "cube",         "mesh",           "mesh:",      "mesh:0x4",
        "mesh:4x",   "mesh:4x4x4x4", "mesh:9999",      "mesh:4x4 ",  "torus:x4",
        "mesh:-4x4", "fat-tree:4",   "fat-tree:4x4x4", "crossbar:4", "mesh:4096x4096x4096"
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused(bad[i], 1, "write crossbar");
    refused("mesh:4x4", 17, "it has 16 nodes, and the ranks need 17");
}

static void links_have_names(void **state)
{
    (void)state;
    char text[64];
    pen_virtual_shape mesh = parsed("mesh:4x4", 1), tree = parsed("fat-tree:4x2", 8),
                      bar = parsed("crossbar", 4);
    pen_virtual_step step = pen_virtual_shape_route(&mesh, 5, 9, UINT32_MAX, 0);
    pen_virtual_shape_link_text(&mesh, step.link, text, sizeof text);
    assert_string_equal(text, "node 5 -> node 9");
    step = pen_virtual_shape_route(&tree, 9, 1, UINT32_MAX, 0);
    pen_virtual_shape_link_text(&tree, step.link, text, sizeof text);
    assert_string_equal(text, "leaf 1 -> spine 1");
    step = pen_virtual_shape_route(&tree, step.router, 1, UINT32_MAX, 0);
    pen_virtual_shape_link_text(&tree, step.link, text, sizeof text);
    assert_string_equal(text, "spine 1 -> leaf 0");
    step = pen_virtual_shape_route(&bar, 4, 2, UINT32_MAX, 0);
    pen_virtual_shape_link_text(&bar, step.link, text, sizeof text);
    assert_string_equal(text, "switch -> node 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_on_axes_are_the_shortest),
        cmocka_unit_test(routes_through_switches_have_their_length),
        cmocka_unit_test(packet_changes_its_channel_at_the_end_of_an_axis),
        cmocka_unit_test(bad_topologies_are_refused),
        cmocka_unit_test(links_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
