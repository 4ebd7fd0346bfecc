/* SPDX-License-Identifier: BSD-3-Clause */
/* shape.c: see shape.h. Numbers of links: on meshes and tori, node * 2 * axes + 2 * axis +
 * direction (0 up, 1 down). On a crossbar, nodes up links, then as many down links. A fat tree
 * has after these leaves * up links from leaves to spines, then as many back. */
#include "virtual/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

static bool refuse(char *problem, size_t problem_len, const char *text, const char *why)
{
    (void)snprintf(problem, problem_len, "cannot use topology \"%s\": %s", text, why);
    return false;
}

/* Reads up to `most` numbers with an x between them. Returns how many; 0 if they are malformed. */
static uint32_t read_extents(const char *at, uint32_t *out, uint32_t most)
{
    uint32_t count = 0;
    while (count < most && *at >= '1' && *at <= '9') {
        char *end;
        unsigned long value = strtoul(at, &end, 10);
        if (value > PEN_VIRTUAL_NODES_MAX)
            return 0;
        out[count++] = (uint32_t)value;
        if (*end == '\0')
            return count;
        if (*end != 'x')
            return 0;
        at = end + 1;
    }
    return 0;
}

static bool read_axes(pen_virtual_shape *shape, const char *numbers)
{
    shape->axes = read_extents(numbers, shape->extent, PEN_VIRTUAL_AXES);
    uint64_t nodes = 1;
    for (uint32_t axis = 0; axis < shape->axes; axis++)
        nodes *= shape->extent[axis];
    if (shape->axes == 0 || nodes > PEN_VIRTUAL_NODES_MAX)
        return false;
    shape->nodes = (uint32_t)nodes;
    shape->links = shape->nodes * 2 * shape->axes;
    return true;
}

static bool read_tree(pen_virtual_shape *shape, const char *numbers, uint32_t nodes)
{
    uint32_t sizes[2];
    if (read_extents(numbers, sizes, 2) != 2)
        return false;
    shape->down = sizes[0];
    shape->up = sizes[1];
    shape->nodes = nodes;
    shape->leaves = (nodes + shape->down - 1) / shape->down;
    shape->links = 2 * nodes + 2 * shape->leaves * shape->up;
    return true;
}

bool pen_virtual_shape_parse(const char *text, uint32_t nodes, pen_virtual_shape *out,
                             char *problem, size_t problem_len)
{
    static const char tree[] = "fat-tree:", mesh[] = "mesh:", torus[] = "torus:";
    pen_virtual_shape shape = { 0 };
    bool good = false;
    if (strcmp(text, "crossbar") == 0) {
        shape =
            (pen_virtual_shape){ .kind = PEN_VIRTUAL_CROSSBAR, .nodes = nodes, .links = 2 * nodes };
        good = true;
    } else if (strncmp(text, mesh, sizeof mesh - 1) == 0) {
        shape.kind = PEN_VIRTUAL_MESH;
        good = read_axes(&shape, text + sizeof mesh - 1);
    } else if (strncmp(text, torus, sizeof torus - 1) == 0) {
        shape.kind = PEN_VIRTUAL_TORUS;
        good = read_axes(&shape, text + sizeof torus - 1);
    } else if (strncmp(text, tree, sizeof tree - 1) == 0) {
        shape.kind = PEN_VIRTUAL_FAT_TREE;
        good = read_tree(&shape, text + sizeof tree - 1, nodes);
    }
    if (!good)
        return refuse(problem, problem_len, text,
                      "write crossbar, mesh:AxBxC, torus:AxBxC or fat-tree:DOWNxUP, with at most "
                      "4096 nodes");
    if (shape.nodes < nodes) {
        char why[128];
        (void)snprintf(why, sizeof why,
                       "it has %" PRIu32 " nodes, and the ranks need %" PRIu32
                       "; make it larger, or give more ranks to a node",
                       shape.nodes, nodes);
        return refuse(problem, problem_len, text, why);
    }
    *out = shape;
    return true;
}

/* ---- routes ---------------------------------------------------------------------------------- */

static pen_virtual_step arrived(void) { return (pen_virtual_step){ .link = UINT32_MAX }; }

static pen_virtual_step step_on_axes(const pen_virtual_shape *shape, uint32_t router, uint32_t to,
                                     uint32_t last_axis, uint32_t channel)
{
    uint32_t stride = 1;
    for (uint32_t axis = 0; axis < shape->axes; stride *= shape->extent[axis++]) {
        uint32_t extent = shape->extent[axis];
        uint32_t here = router / stride % extent, there = to / stride % extent;
        if (here == there)
            continue;
        bool goes_down = there < here;
        if (shape->kind == PEN_VIRTUAL_TORUS)
            goes_down = 2 * ((there + extent - here) % extent) > extent;
        uint32_t next = goes_down ? (here + extent - 1) % extent : (here + 1) % extent;
        bool passes_end = goes_down ? next > here : next < here;
        return (pen_virtual_step){ .link = router * 2 * shape->axes + 2 * axis + goes_down,
                                   .router = router - here * stride + next * stride,
                                   .axis = axis,
                                   .channel = passes_end || (axis == last_axis && channel == 1) };
    }
    return arrived();
}

static pen_virtual_step step_in_tree(const pen_virtual_shape *shape, uint32_t router, uint32_t to)
{
    uint32_t nodes = shape->nodes, leaves = shape->leaves, first_spine = nodes + leaves;
    uint32_t leaf_of = to / shape->down, between = 2 * nodes;
    if (router == to)
        return arrived();
    if (router < nodes)
        return (pen_virtual_step){ .link = router, .router = nodes + router / shape->down };
    if (router >= first_spine)
        return (pen_virtual_step){ .link = between + leaves * shape->up +
                                           (router - first_spine) * leaves + leaf_of,
                                   .router = nodes + leaf_of };
    uint32_t leaf = router - nodes, spine = to % shape->up;
    if (leaf == leaf_of)
        return (pen_virtual_step){ .link = nodes + to, .router = to };
    return (pen_virtual_step){ .link = between + leaf * shape->up + spine,
                               .router = first_spine + spine };
}

pen_virtual_step pen_virtual_shape_route(const pen_virtual_shape *shape, uint32_t router,
                                         uint32_t to, uint32_t axis, uint32_t channel)
{
    switch (shape->kind) {
    case PEN_VIRTUAL_MESH:
    case PEN_VIRTUAL_TORUS:
        return step_on_axes(shape, router, to, axis, channel);
    case PEN_VIRTUAL_FAT_TREE:
        return step_in_tree(shape, router, to);
    default:
        break;
    }
    if (router == to)
        return arrived();
    if (router < shape->nodes)
        return (pen_virtual_step){ .link = router, .router = shape->nodes };
    return (pen_virtual_step){ .link = shape->nodes + to, .router = to };
}

bool pen_virtual_shape_has_router(const pen_virtual_shape *shape, uint32_t router)
{
    return shape->kind == PEN_VIRTUAL_MESH || shape->kind == PEN_VIRTUAL_TORUS ||
           router >= shape->nodes;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void axes_text(const pen_virtual_shape *shape, uint32_t link, char *out, size_t out_len)
{
    uint32_t node = link / (2 * shape->axes), axis = link / 2 % shape->axes, stride = 1;
    for (uint32_t i = 0; i < axis; i++)
        stride *= shape->extent[i];
    uint32_t extent = shape->extent[axis], here = node / stride % extent;
    uint32_t next = link % 2 != 0 ? (here + extent - 1) % extent : (here + 1) % extent;
    (void)snprintf(out, out_len, "node %" PRIu32 " -> node %" PRIu32, node,
                   node - here * stride + next * stride);
}

void pen_virtual_shape_link_text(const pen_virtual_shape *shape, uint32_t link, char *out,
                                 size_t out_len)
{
    uint32_t nodes = shape->nodes, between = shape->leaves * shape->up;
    if (shape->axes != 0)
        axes_text(shape, link, out, out_len);
    else if (link < nodes)
        (void)snprintf(out, out_len, "node %" PRIu32 " -> switch", link);
    else if (link < 2 * nodes)
        (void)snprintf(out, out_len, "switch -> node %" PRIu32, link - nodes);
    else if (link < 2 * nodes + between)
        (void)snprintf(out, out_len, "leaf %" PRIu32 " -> spine %" PRIu32,
                       (link - 2 * nodes) / shape->up, (link - 2 * nodes) % shape->up);
    else
        (void)snprintf(out, out_len, "spine %" PRIu32 " -> leaf %" PRIu32,
                       (link - 2 * nodes - between) / shape->leaves,
                       (link - 2 * nodes - between) % shape->leaves);
}
