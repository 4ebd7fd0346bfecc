/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_plan.c: the plan of a collective whose members share memory: its turns, and the lengths
 * from which it uses a different method. All members make the same plan, because it depends only
 * on values on which they agree. */
#include "coll/shared.h"

#include "base/compiler.h"
#include "base/status.h"
#include "job/team.h"
#include "reach/reach.h"

#include <string.h>

/* Limit in bytes of a member's data that pass through its body in a turn. Operands may fill a
 * piece if every member combines all operands. */
enum { SECTION = 16 << 10, CROWD_SECTION = PEN_SHARED_PIECE_MAX };
_Static_assert(2 * SECTION <= PEN_SHARED_PIECE_MAX, "operands and a slice's result in one piece");

/* Limits in bytes, by number of members. Parts of at least this length are read directly from
 * buffers. This saves a copy, but needs a system call unless the buffers lie in a segment, and
 * the owners wait for all readers. The limits were chosen on two cores; nobody has measured more
 * members with a core each. */
typedef struct move_limits {
    uint32_t members_max;
    size_t broadcast, gather, gather_all, exchange;
} move_limits;

static const move_limits moves[] = {
    { 2, SIZE_MAX, SIZE_MAX, 32 << 10, 32 << 10 },
    { UINT32_MAX, 32 << 10, 32 << 10, 32 << 10, 8 << 10 },
};

/* Limits for members that share cores. There, waiting for all readers means waiting until every
 * member has had a time slice. Through bodies, members run ahead as far as there is room, which
 * is worth a second copy at any length. An exchange is the exception: each member has different
 * bytes for each peer, and a body holds few of those. */
static const move_limits crowd_moves = { UINT32_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, 32 << 10 };

/* Limits in bytes of a reduction's operands, by number of members. direct: operands of at least
 * this length are read directly from buffers. whole: up to this length, every member that needs
 * the result combines all operands; for longer ones, each member combines a slice. whole_one:
 * the same limit if only one member needs the result. If there are two members, one alone is as
 * fast as both; if both need the result, they run ahead of each other through bodies. */
typedef struct reduction_limits {
    uint32_t members_max;
    size_t direct, whole, whole_one;
} reduction_limits;

static const reduction_limits reductions[] = {
    { 2, SIZE_MAX, SIZE_MAX, SIZE_MAX },
    { 4, 32 << 10, 2 << 10, 2 << 10 },
    { 8, 32 << 10, 1 << 10, 1 << 10 },
    { UINT32_MAX, 32 << 10, 512, 512 },
};

/* If members share cores, help from other members gains nothing, and each wait costs a time
 * slice of each member. So one member combines all operands. If all need the result, this holds
 * up to CROWD_LEN bytes per member of a core. */
enum { CROWD_LEN = 64 << 10 };

enum { ALL_SEE_ALL_MAX = 8 }; /* members; in larger teams all meet at rank 0 */

static bool is_crowd(const pen_shared *shared)
{
    return shared->size > shared->job->boot.page->cores;
}

static size_t section_max(const pen_shared *shared)
{
    return is_crowd(shared) ? CROWD_SECTION : SECTION;
}

static const move_limits *move_limits_of(const pen_shared *shared)
{
    const move_limits *row = moves;
    while (shared->size > row->members_max)
        row++;
    return is_crowd(shared) ? &crowd_moves : row;
}

static const reduction_limits *reduction_limits_of(const pen_shared *shared)
{
    const reduction_limits *row = reductions;
    while (shared->size > row->members_max)
        row++;
    return row;
}

/* ---- turns of no data ------------------------------------------------------------------------ */

bool pen_shared_meet(pen_shared *shared, pen_shared_op *op)
{
    bool at_one = shared->size > ALL_SEE_ALL_MAX;
    op->section_len = op->len - op->offset;
    if (op->step == 0) {
        if (!pen_shared_room(shared, 0))
            return false;
        pen_shared_post(shared, op, 0, NULL);
        op->step = 1;
    }
    if (at_one && shared->rank != 0)
        return pen_shared_slot_of(shared, op, 0) != NULL && pen_shared_reached(shared, 0, 1);
    if (!pen_shared_all_posted(shared, op, shared->size))
        return false;
    if (at_one)
        pen_shared_tell(shared, 1);
    return true;
}

/* First turn of the CMA test: each member reads a word of its neighbour. */
bool pen_shared_probe(pen_shared *shared, pen_shared_op *op)
{
    uint32_t neighbour = pen_shared_other(shared, 0);
    op->section_len = op->len - op->offset;
    if (op->step == 0) {
        if (!pen_shared_room(shared, 0))
            return false;
        shared->probe = shared->base + shared->turn + shared->rank;
        const uint64_t words[PEN_SHARED_INLINE_LEN / 8] = { (uintptr_t)&shared->probe,
                                                            shared->probe };
        pen_shared_post(shared, op, 0, words);
        op->step = 1;
    }
    pen_shared_slot *slot = pen_shared_slot_of(shared, op, neighbour);
    if (slot == NULL)
        return false;
    /* relaxed: the turn word came with acquire */
    uintptr_t at = (uintptr_t)atomic_load_explicit(&slot->words[0], memory_order_relaxed);
    uint64_t wanted = atomic_load_explicit(&slot->words[1], memory_order_relaxed), found = 0;
    const uint32_t jobrank = pen_team_jobrank(shared->coll->team, neighbour);
    shared->cma = shared->job->coll->cma_allowed && !pen_reach_kernel_refuses(shared->job) &&
                  pen_reach_by_kernel(shared->job, jobrank, false, &found, (void *)at,
                                      sizeof found) == PEN_OK &&
                  found == wanted;
    return true;
}

/* Second turn: all members learn whether all succeeded. */
bool pen_shared_agree(pen_shared *shared, pen_shared_op *op)
{
    op->section_len = op->len - op->offset;
    if (op->step == 0) {
        if (!pen_shared_room(shared, 0))
            return false;
        const uint64_t words[PEN_SHARED_INLINE_LEN / 8] = { shared->cma };
        pen_shared_post(shared, op, 0, words);
        op->step = 1;
    }
    if (!pen_shared_all_posted(shared, op, shared->size))
        return false;
    for (uint32_t i = 0; i + 1 < shared->size; i++) {
        pen_shared_slot *slot = pen_shared_slot_of(shared, op, pen_shared_other(shared, i));
        /* relaxed: the turn word came with acquire */
        if (atomic_load_explicit(&slot->words[0], memory_order_relaxed) == 0)
            shared->cma = false;
    }
    return true;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void add(pen_shared_op *op, pen_shared_step step, size_t section_max, bool direct)
{
    PEN_INVARIANT(op->act_count < PEN_SHARED_ACTS_MAX);
    op->acts[op->act_count++] =
        (pen_shared_act){ .step = step, .section_max = section_max, .wants_direct = direct };
}

/* Adds an act. The first act that would profit from CMA tests it. */
static void add_data(pen_shared_op *op, bool known, pen_shared_step step, size_t section_max,
                     bool direct)
{
    if (direct && !known) {
        add(op, pen_shared_probe, 0, false);
        add(op, pen_shared_agree, 0, false);
    }
    add(op, step, section_max, direct);
}

/* The section length in whole elements, at most `most` bytes. */
static size_t section_of(const pen_shared_op *op, size_t most)
{
    return op->len <= most ? most : most / op->reduction.element_len * op->reduction.element_len;
}

/* One member combines all operands: for members that share cores. */
static bool plan_reduction_by_one(const pen_shared *shared, pen_shared_op *op, bool known)
{
    const reduction_limits *row = reduction_limits_of(shared);
    if (!is_crowd(shared))
        return false;
    if (op->root != PEN_COLL_ALL)
        add_data(op, known, pen_shared_reduce_whole, section_of(op, SECTION), false);
    else if (op->len > row->whole &&
             op->len <= (size_t)CROWD_LEN * shared->size / shared->job->boot.page->cores)
        add_data(op, known, pen_shared_reduce_by_one, section_of(op, CROWD_SECTION), false);
    else
        return false;
    return true;
}

static void plan_gather(const pen_shared *shared, pen_shared_op *op, bool known)
{
    const move_limits *row = move_limits_of(shared);
    bool direct = op->len >= (op->root == PEN_COLL_ALL ? row->gather_all : row->gather);
    add_data(op, known, pen_shared_gather, section_max(shared), direct);
}

static void plan_reduction(const pen_shared *shared, pen_shared_op *op, bool known)
{
    const reduction_limits *row = reduction_limits_of(shared);
    bool is_scan = (op->what.kind & 15) == PEN_COLL_SCAN;
    if (op->reduction.element_len > SECTION) { /* no section holds one element: gather all, then
                                                * combine */
        if (op->root == PEN_COLL_ALL || op->root == shared->rank)
            op->temp = pen_shared_memory(shared, shared->size * op->len);
        plan_gather(shared, op, known);
        add(op, pen_shared_reduce_collected, 0, false);
        return;
    }
    if (!is_scan && plan_reduction_by_one(shared, op, known))
        return;
    bool direct = op->len >= row->direct;
    if (!is_scan && op->root != PEN_COLL_ALL && op->len <= row->whole_one)
        add_data(op, known, pen_shared_reduce_whole, section_of(op, SECTION), false);
    else if (is_scan || op->len <= row->whole)
        add_data(op, known, pen_shared_reduce_whole, section_of(op, PEN_SHARED_PIECE_MAX), direct);
    else
        add_data(op, known, pen_shared_reduce_slices, section_of(op, SECTION), direct);
}

static void plan_data(const pen_shared *shared, pen_shared_op *op, bool known)
{
    const move_limits *row = move_limits_of(shared);
    size_t section = section_max(shared), section_of_all = section / shared->size;
    if (section_of_all == 0)
        section_of_all = 1;
    switch (op->what.kind & 15) {
    case PEN_COLL_BROADCAST:
        add_data(op, known, pen_shared_broadcast, section, op->len >= row->broadcast);
        break;
    case PEN_COLL_GATHER:
        plan_gather(shared, op, known);
        break;
    case PEN_COLL_SCATTER:
        add_data(op, known, pen_shared_scatter, section_of_all, op->len >= row->exchange);
        break;
    case PEN_COLL_EXCHANGE:
        add_data(op, known, pen_shared_exchange, section_of_all, op->len >= row->exchange);
        break;
    default:
        plan_reduction(shared, op, known);
    }
}

void pen_shared_plan(pen_shared *shared, pen_shared_op *op)
{
    uint32_t together = op->what.kind >> PEN_COLL_TOGETHER_SHIFT & 3;
    if ((op->what.kind & 15) == PEN_COLL_BARRIER) {
        add(op, pen_shared_meet, 0, false);
        return;
    }
    if (together & PEN_COLL_ENTER_TOGETHER)
        add(op, pen_shared_meet, 0, false);
    plan_data(shared, op, shared->cma_known);
    if (together & PEN_COLL_LEAVE_TOGETHER)
        add(op, pen_shared_meet, 0, false);
    for (uint32_t i = 0; i < op->act_count; i++)
        if (op->acts[i].step == pen_shared_agree)
            shared->cma_known = true; /* called when later acts begin */
}
