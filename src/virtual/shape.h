/* SPDX-License-Identifier: BSD-3-Clause */
/* shape.h: the shape of a simulated network: its routers and links, and the link that a packet
 * takes next. Nodes are numbered from 0; on a mesh or torus the first axis varies fastest. A node's
 * card is router number `node`. On meshes and tori it has links to its neighbours; on a crossbar
 * and a fat tree it has one link to a switch and one from it.
 *
 * Routes depend on router and target alone. Meshes and tori correct the axes in order. A torus
 * takes the shorter way around and has two channels for each link: a packet changes to channel 1
 * when it passes the end of an axis, and begins each axis in channel 0, so that no circle of
 * packets can wait for itself. A fat tree has leaf switches with `down` nodes each, and `up` spine
 * switches; the target's number chooses the spine. */
#ifndef PEN_VIRTUAL_SHAPE_H
#define PEN_VIRTUAL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_VIRTUAL_AXES = 3, PEN_VIRTUAL_NODES_MAX = 4096 };

typedef enum pen_virtual_shape_kind {
    PEN_VIRTUAL_CROSSBAR,
    PEN_VIRTUAL_MESH,
    PEN_VIRTUAL_TORUS,
    PEN_VIRTUAL_FAT_TREE
} pen_virtual_shape_kind;

typedef struct pen_virtual_shape {
    uint32_t kind, axes, extent[PEN_VIRTUAL_AXES];
    uint32_t down, up, leaves; /* fat tree */
    uint32_t nodes, links;
} pen_virtual_shape;

/* The next step of a packet. */
typedef struct pen_virtual_step {
    uint32_t link;    /* UINT32_MAX: the packet has come to its node */
    uint32_t router;  /* where the link ends */
    uint32_t axis;    /* remembered for the next step, like the channel */
    uint32_t channel; /* 0 or 1 */
} pen_virtual_step;

/* Reads `crossbar`, `mesh:AxBxC`, `torus:AxBxC` (one to three axes) or `fat-tree:DOWNxUP` for at
 * least this many nodes. On failure returns false, *out is unchanged, and problem says in one line
 * what is wrong and how to mend it. */
bool pen_virtual_shape_parse(const char *text, uint32_t nodes, pen_virtual_shape *out,
                             char *problem, size_t problem_len);

/* Returns the step from this router towards the node. axis, channel: of the step before; axis is
 * UINT32_MAX at first. */
pen_virtual_step pen_virtual_shape_route(const pen_virtual_shape *shape, uint32_t router,
                                         uint32_t to, uint32_t axis, uint32_t channel);

/* Whether a router stands at the end of the link, rather than only the card of a node. */
bool pen_virtual_shape_has_router(const pen_virtual_shape *shape, uint32_t router);

/* Writes what the link joins, such as "node 3 -> node 7" or "leaf 0 -> spine 2". */
void pen_virtual_shape_link_text(const pen_virtual_shape *shape, uint32_t link, char *out,
                                 size_t out_len);

#endif
