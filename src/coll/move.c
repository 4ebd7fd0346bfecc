/* SPDX-License-Identifier: BSD-3-Clause */
/* move.c: the lists of steps of collectives that move data: barrier, broadcast, gather, scatter,
 * exchange. Short ones use trees, so that few messages arrive at one member. Long ones send
 * directly, so that each byte travels once. */
#include "coll/engine.h"

#include "base/compiler.h"

#include <penstock/abi.h>
#include <string.h>

/* Up to these lengths, in bytes of all members' parts together, trees are used. A broadcast uses
 * a chain if each member has that many bytes, because then the length of the chain does not
 * matter. */
static const struct {
    size_t broadcast_each, gather, gather_to_all, scatter;
} tree_max = { 32 << 10, 64 << 10, 64 << 10, 64 << 10 };

/* Dissemination: a member that has received from the members 2^i before it, for each i, has the
 * words of all. */
void pen_coll_meet(pen_coll_op *op, pen_coll_section *section, uint8_t tag)
{
    const pen_team_view *view = &op->coll->team->view;
    for (uint64_t far = 1; far < view->size; far *= 2, tag++) {
        (void)pen_coll_send(op, section, (uint32_t)((view->rank + far) % view->size), tag, NULL, 0,
                            PEN_COLL_AFTER_DATA);
        (void)pen_coll_receive(
            op, section, (uint32_t)((view->rank + view->size - far) % view->size), tag, NULL, 0);
    }
}

void pen_coll_build_barrier(pen_coll_op *op, pen_coll_section *section)
{
    pen_coll_meet(op, section, 0);
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* The member at this distance after another one, in the ring of all members. */
static uint32_t ring(const pen_team_view *view, uint64_t from, uint64_t far)
{
    return (uint32_t)((from + far) % view->size);
}

/* A binomial tree over places, which count from the root on. The children of a place reach up to
 * the next multiple of its lowest set bit. The root's children reach all places. */
static uint64_t tree_span(const pen_team_view *view, uint32_t place)
{
    uint64_t span = 1;
    while (place == 0 ? span < view->size : (place & span) == 0)
        span *= 2;
    return span;
}

static uint32_t place_of(const pen_team_view *view, uint32_t root)
{
    return ring(view, view->rank, view->size - root);
}

/* Number of parts in the subtree of a place, itself included, if the subtree spans this. */
static uint64_t parts_beneath(const pen_team_view *view, uint64_t place, uint64_t span)
{
    return span < view->size - place ? span : view->size - place;
}

/* Sends to the children, the largest subtree first. */
static void send_down(pen_coll_op *op, pen_coll_section *section, uint32_t root, uint8_t tag,
                      const char *from, int32_t after)
{
    const pen_team_view *view = &op->coll->team->view;
    uint32_t place = place_of(view, root);
    for (uint64_t far = tree_span(view, place) / 2; far != 0; far /= 2)
        if (place + far < view->size)
            (void)pen_coll_send(op, section, ring(view, root, place + far), tag, from, section->len,
                                after);
}

void pen_coll_build_down(pen_coll_op *op, pen_coll_section *section, uint32_t root, uint8_t tag,
                         const char *from, char *to)
{
    const pen_team_view *view = &op->coll->team->view;
    uint32_t place = place_of(view, root);
    if (place == 0) {
        send_down(op, section, root, tag, from, PEN_COLL_AFTER_DATA);
        return;
    }
    uint32_t parent = ring(view, root, place - tree_span(view, place));
    int32_t received = pen_coll_receive(op, section, parent, tag, to, section->len);
    send_down(op, section, root, tag, to, received);
}

/* ---- broadcast ------------------------------------------------------------------------------- */

/* Chain: each member forwards its bytes to the next. */
static void build_chain(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    uint32_t place = place_of(view, op->root);
    int32_t received = PEN_COLL_AT_ONCE;
    const char *from = op->source;
    if (place != 0) {
        received =
            pen_coll_receive(op, section, ring(view, op->root, place - 1), 0, op->dest, op->len);
        from = op->dest;
    }
    if (place + 1 < view->size)
        (void)pen_coll_send(op, section, ring(view, op->root, place + 1), 0, from, op->len,
                            received);
}

void pen_coll_build_broadcast(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    if (op->len / view->size > tree_max.broadcast_each)
        build_chain(op, section);
    else
        pen_coll_build_down(op, section, op->root, 0, op->source, op->dest);
    if (view->rank == op->root)
        (void)pen_coll_copy(op, section, op->dest, op->source, op->len, PEN_COLL_AT_ONCE);
}

/* ---- gather ---------------------------------------------------------------------------------- */

/* Copies parts, from the one of `first` on, to a buffer that begins with the part of rank 0. */
static void turn_parts(pen_coll_op *op, pen_coll_section *section, const char *parts,
                       uint32_t first)
{
    size_t all = op->coll->team->view.size * op->len, before = first * op->len;
    (void)pen_coll_copy(op, section, op->dest + before, parts, all - before, PEN_COLL_AFTER_DATA);
    (void)pen_coll_copy(op, section, op->dest, parts + all - before, before, PEN_COLL_AFTER_DATA);
}

static void build_gather_tree(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    uint32_t place = place_of(view, op->root);
    uint64_t span = tree_span(view, place), count = parts_beneath(view, place, span);
    const char *parts = op->source;
    if (count > 1) {
        pen_coll_scratch_reserve(op, section, count * op->len + PEN_CACHE_LINE);
        char *room = pen_coll_scratch(section, count * op->len);
        (void)pen_coll_copy(op, section, room, op->source, op->len, PEN_COLL_AT_ONCE);
        for (uint64_t far = 1; far < span && place + far < view->size; far *= 2)
            (void)pen_coll_receive(op, section, ring(view, op->root, place + far), 0,
                                   room + far * op->len,
                                   parts_beneath(view, place + far, far) * op->len);
        parts = room;
    }
    if (place == 0)
        turn_parts(op, section, parts, op->root);
    else
        (void)pen_coll_send(op, section, ring(view, op->root, place - span), 0, parts,
                            count * op->len, PEN_COLL_AFTER_DATA);
}

static void build_gather_straight(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    size_t len = op->len;
    if (view->rank != op->root) {
        (void)pen_coll_send(op, section, op->root, 0, op->source, len, PEN_COLL_AT_ONCE);
        return;
    }
    for (uint32_t far = 1; far < view->size; far++) {
        uint32_t from = ring(view, view->rank, far);
        (void)pen_coll_receive(op, section, from, 0, op->dest + from * len, len);
    }
    (void)pen_coll_copy(op, section, op->dest + view->rank * len, op->source, len,
                        PEN_COLL_AT_ONCE);
}

/* Bruck's algorithm: in each round the number of parts that a member has doubles. Its own part
 * comes first; the whole is rotated at the end. */
static void build_gather_all_rounds(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    size_t len = op->len, all = view->size * len;
    pen_coll_scratch_reserve(op, section, all + PEN_CACHE_LINE);
    char *parts = pen_coll_scratch(section, all);
    uint8_t round = 0;
    (void)pen_coll_copy(op, section, parts, op->source, len, PEN_COLL_AT_ONCE);
    for (uint64_t have = 1; have < view->size; have *= 2, round++) {
        size_t more = (have < view->size - have ? have : view->size - have) * len;
        (void)pen_coll_send(op, section, ring(view, view->rank, view->size - have), round, parts,
                            more, PEN_COLL_AFTER_DATA);
        (void)pen_coll_receive(op, section, ring(view, view->rank, have), round, parts + have * len,
                               more);
    }
    turn_parts(op, section, parts, view->rank);
}

/* Each member sends to every other one, and begins with its neighbour. */
static void build_gather_all_straight(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    size_t len = op->len;
    for (uint32_t far = 1; far < view->size; far++) {
        uint32_t from = ring(view, view->rank, view->size - far);
        (void)pen_coll_receive(op, section, from, 0, op->dest + from * len, len);
        (void)pen_coll_send(op, section, ring(view, view->rank, far), 0, op->source, len,
                            PEN_COLL_AT_ONCE);
    }
    (void)pen_coll_copy(op, section, op->dest + view->rank * len, op->source, len,
                        PEN_COLL_AT_ONCE);
}

void pen_coll_build_gather(pen_coll_op *op, pen_coll_section *section)
{
    uint32_t size = op->coll->team->view.size;
    if (op->root == PEN_COLL_ALL && op->len <= tree_max.gather_to_all / size)
        build_gather_all_rounds(op, section);
    else if (op->root == PEN_COLL_ALL)
        build_gather_all_straight(op, section);
    else if (op->len <= tree_max.gather / size)
        build_gather_tree(op, section);
    else
        build_gather_straight(op, section);
}

/* ---- scatter --------------------------------------------------------------------------------- */

static void build_scatter_tree(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    uint32_t place = place_of(view, op->root);
    uint64_t span = tree_span(view, place), count = parts_beneath(view, place, span);
    size_t before = op->root * op->len;
    char *parts = op->dest;
    if (count > 1) {
        pen_coll_scratch_reserve(op, section, count * op->len + PEN_CACHE_LINE);
        parts = pen_coll_scratch(section, count * op->len);
    }
    if (place == 0) { /* rotated: our own part first */
        size_t all = view->size * op->len;
        (void)pen_coll_copy(op, section, parts, op->source + before, all - before,
                            PEN_COLL_AT_ONCE);
        (void)pen_coll_copy(op, section, parts + all - before, op->source, before,
                            PEN_COLL_AT_ONCE);
    } else {
        (void)pen_coll_receive(op, section, ring(view, op->root, place - span), 0, parts,
                               count * op->len);
    }
    for (uint64_t far = span / 2; far != 0; far /= 2)
        if (place + far < view->size)
            (void)pen_coll_send(
                op, section, ring(view, op->root, place + far), 0, parts + far * op->len,
                parts_beneath(view, place + far, far) * op->len, PEN_COLL_AFTER_DATA);
    (void)pen_coll_copy(op, section, op->dest, parts, op->len, PEN_COLL_AFTER_DATA);
}

static void build_scatter_straight(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    size_t len = op->len;
    if (view->rank != op->root) {
        (void)pen_coll_receive(op, section, op->root, 0, op->dest, len);
        return;
    }
    for (uint32_t far = 1; far < view->size; far++) {
        uint32_t to = ring(view, view->rank, far);
        (void)pen_coll_send(op, section, to, 0, op->source + to * len, len, PEN_COLL_AT_ONCE);
    }
    (void)pen_coll_copy(op, section, op->dest, op->source + view->rank * len, len,
                        PEN_COLL_AT_ONCE);
}

void pen_coll_build_scatter(pen_coll_op *op, pen_coll_section *section)
{
    if (op->len <= tree_max.scatter / op->coll->team->view.size)
        build_scatter_tree(op, section);
    else
        build_scatter_straight(op, section);
}

/* ---- exchange -------------------------------------------------------------------------------- */

void pen_coll_build_exchange(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    size_t len = op->len;
    char *into = op->dest;
    bool in_place = op->source == op->dest;
    if (in_place) { /* arriving data would overwrite bytes not sent yet */
        pen_coll_scratch_reserve(op, section, view->size * len + PEN_CACHE_LINE);
        into = pen_coll_scratch(section, view->size * len);
    }
    for (uint32_t far = 1; far < view->size; far++) {
        uint32_t from = ring(view, view->rank, view->size - far), to = ring(view, view->rank, far);
        (void)pen_coll_receive(op, section, from, 0, into + from * len, len);
        (void)pen_coll_send(op, section, to, 0, op->source + to * len, len, PEN_COLL_AT_ONCE);
    }
    size_t own = view->rank * len, after = own + len;
    if (!in_place) {
        (void)pen_coll_copy(op, section, op->dest + own, op->source + own, len, PEN_COLL_AT_ONCE);
        return;
    }
    (void)pen_coll_copy(op, section, op->dest, into, own, PEN_COLL_AFTER_ALL);
    (void)pen_coll_copy(op, section, op->dest + after, into + after, view->size * len - after,
                        PEN_COLL_AFTER_ALL);
}
