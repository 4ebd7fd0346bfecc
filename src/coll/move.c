/* SPDX-License-Identifier: BSD-3-Clause */
/* move.c: the lists of steps of collectives that move data: barrier, broadcast, gather, scatter,
 * exchange. Short ones go along trees, so that few messages meet in one place; long ones straight,
 * so that each byte travels once. */
#include "coll/engine.h"

/* Up to these lengths, in bytes, trees are taken: of all that a broadcast carries, and of the parts
 * of all members together. */
static const struct {
    size_t broadcast, gather, gather_to_all, scatter;
} tree_max = { 16 << 10, 64 << 10, 64 << 10, 64 << 10 };

/* Dissemination: whoever has heard from all that are 2^i before it, for each i, has heard from
 * everybody. */
void pen_coll_build_barrier(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    uint8_t round = 0;
    for (uint64_t far = 1; far < view->size; far *= 2, round++) {
        (void)pen_coll_send(op, section, (uint32_t)((view->rank + far) % view->size), round, NULL,
                            0, PEN_COLL_AFTER_DATA);
        (void)pen_coll_receive(
            op, section, (uint32_t)((view->rank + view->size - far) % view->size), round, NULL, 0);
    }
}

/* ---- gather to all --------------------------------------------------------------------------- */

/* The part of a member that is so far behind us in a ring of parts. */
static uint32_t ring(const pen_team_view *view, uint64_t far)
{
    return (uint32_t)((view->rank + far) % view->size);
}

/* Bruck: in each round the number of parts that a member has doubles; its own comes first, and the
 * whole is turned at the end. */
static void build_gather_short(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    size_t len = op->len, turn = (view->size - view->rank) * len, all = view->size * len;
    pen_coll_scratch_reserve(op, section, all + PEN_CACHE_LINE);
    char *parts = pen_coll_scratch(section, all);
    uint8_t round = 0;
    (void)pen_coll_copy(op, section, parts, op->source, len, PEN_COLL_AT_ONCE);
    for (uint64_t have = 1; have < view->size; have *= 2, round++) {
        size_t more = (have < view->size - have ? have : view->size - have) * len;
        (void)pen_coll_send(op, section, ring(view, view->size - have), round, parts, more,
                            PEN_COLL_AFTER_DATA);
        (void)pen_coll_receive(op, section, ring(view, have), round, parts + have * len, more);
    }
    (void)pen_coll_copy(op, section, op->dest + view->rank * len, parts, turn, PEN_COLL_AFTER_ALL);
    (void)pen_coll_copy(op, section, op->dest, parts + turn, all - turn, PEN_COLL_AFTER_ALL);
}

/* Everybody to everybody, each beginning with its neighbour. */
static void build_gather_long(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    size_t len = op->len;
    for (uint32_t far = 1; far < view->size; far++) {
        uint32_t from = ring(view, view->size - far);
        (void)pen_coll_receive(op, section, from, 0, op->dest + from * len, len);
        (void)pen_coll_send(op, section, ring(view, far), 0, op->source, len, PEN_COLL_AT_ONCE);
    }
    (void)pen_coll_copy(op, section, op->dest + view->rank * len, op->source, len,
                        PEN_COLL_AT_ONCE);
}

void pen_coll_build_gather(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    if (op->len <= tree_max.gather_to_all / view->size)
        build_gather_short(op, section);
    else
        build_gather_long(op, section);
}
