/* SPDX-License-Identifier: BSD-3-Clause */
/* reduce.c: the lists of steps of reductions and scans.
 *
 * Elements are combined by a tree over ranks. Two neighbouring ranges of 2^i ranks make one of
 * 2^(i+1); the lower range is the left operand. The root decides which member combines, but not
 * which operands are combined. So results are the same for any root, on all members and in every
 * run, for every operation. */
#include "coll/engine.h"

#include "base/compiler.h"

#include <penstock/abi.h>

/* Up to this length, and up to this many ranks if their number is no power of two, a reduction
 * to all exchanges partial results in every round. Longer ones are reduced to one member and
 * broadcast. */
enum { EXCHANGE_LEN_MAX = 4 << 10, EXCHANGE_RANKS_MAX = 16 };
enum { TAG_RESULT = 64, TAG_SHIFTED };

/* State of a member while it builds its list. */
typedef struct partial {
    pen_coll_op *op;
    pen_coll_section *section;
    const char *mine; /* the result of the range that the member stands for */
    bool ours;        /* mine may be overwritten */
    char *spare;      /* the destination while it is unused, else NULL */
} partial;

/* Two neighbouring ranges that become one: [lo, mid) and [mid, hi). */
typedef struct seam {
    uint32_t lo, mid, hi;
    uint8_t round;
} seam;

/* Finds the next round in which this rank takes part. Returns false when one range covers all
 * ranks. */
static bool seam_next(const pen_team_view *view, seam *at, uint64_t *width)
{
    for (; *width < view->size; *width *= 2, at->round++) {
        uint64_t lo = view->rank & ~(*width * 2 - 1), mid = lo + *width, hi = mid + *width;
        if (mid >= view->size)
            continue;
        at->lo = (uint32_t)lo;
        at->mid = (uint32_t)mid;
        at->hi = hi < view->size ? (uint32_t)hi : view->size;
        return true;
    }
    return false;
}

static void reserve(pen_coll_op *op, pen_coll_section *section)
{
    uint32_t rounds = 1;
    while ((uint64_t)1 << rounds < op->coll->team->view.size)
        rounds++;
    size_t each = pen_align_up(section->len, PEN_CACHE_LINE);
    pen_coll_scratch_reserve(op, section, (2 * (size_t)rounds + 1) * each);
}

/* Returns memory for a partial result of this member: the destination if it is unused. */
static char *room_for_result(partial *part)
{
    char *room = part->spare;
    part->spare = NULL;
    return room != NULL ? room : pen_coll_scratch(part->section, part->section->len);
}

/* Combines the left range's result with this member's result of the right range. */
static void combine_from_left(partial *part, uint32_t peer, uint8_t round)
{
    size_t len = part->section->len;
    if (!part->ours) {
        char *copy = room_for_result(part);
        (void)pen_coll_copy(part->op, part->section, copy, part->mine, len, PEN_COLL_AFTER_DATA);
        part->mine = copy;
        part->ours = true;
    }
    char *left = pen_coll_scratch(part->section, len);
    (void)pen_coll_receive(part->op, part->section, peer, round, left, len);
    (void)pen_coll_combine(part->op, part->section, left, (char *)(uintptr_t)part->mine, len);
}

static void combine_from_right(partial *part, uint32_t peer, uint8_t round)
{
    size_t len = part->section->len;
    char *right = room_for_result(part);
    (void)pen_coll_receive(part->op, part->section, peer, round, right, len);
    (void)pen_coll_combine(part->op, part->section, part->mine, right, len);
    part->mine = right;
    part->ours = true;
}

/* The member that represents a range of ranks. */
static uint32_t owner_of(uint32_t lo, uint32_t hi, uint32_t root)
{
    return root >= lo && root < hi ? root : lo;
}

/* Reduces up to the root. Returns false when a different member represents this member's range. */
static bool reduce_up(partial *part, uint32_t root)
{
    const pen_team_view *view = &part->op->coll->team->view;
    seam at = { 0 };
    for (uint64_t width = 1; seam_next(view, &at, &width); width *= 2, at.round++) {
        uint32_t left = owner_of(at.lo, at.mid, root), right = owner_of(at.mid, at.hi, root);
        uint32_t both = owner_of(at.lo, at.hi, root);
        if (view->rank != both) {
            (void)pen_coll_send(part->op, part->section, both, at.round, part->mine,
                                part->section->len, PEN_COLL_AFTER_DATA);
            return false;
        }
        if (view->rank < at.mid)
            combine_from_right(part, right, at.round);
        else
            combine_from_left(part, left, at.round);
    }
    return true;
}

/* In each round, each member of a range gets the neighbouring range's result from one of its
 * members. If the right range is shorter, its members serve several. */
static void exchange_round(partial *part, const seam *at)
{
    uint32_t rank = part->op->coll->team->view.rank, right_count = at->hi - at->mid;
    size_t len = part->section->len;
    if (rank < at->mid) {
        uint32_t mirror = at->mid + (rank - at->lo);
        if (mirror < at->hi)
            (void)pen_coll_send(part->op, part->section, mirror, at->round, part->mine, len,
                                PEN_COLL_AFTER_DATA);
        combine_from_right(part, at->mid + (rank - at->lo) % right_count, at->round);
        return;
    }
    for (uint32_t to = at->lo + (rank - at->mid); to < at->mid; to += right_count)
        (void)pen_coll_send(part->op, part->section, to, at->round, part->mine, len,
                            PEN_COLL_AFTER_DATA);
    part->ours = false; /* a send still reads it */
    combine_from_left(part, at->lo + (rank - at->mid), at->round);
}

static void build_exchange(partial *part)
{
    const pen_team_view *view = &part->op->coll->team->view;
    seam at = { 0 };
    part->ours = false;
    for (uint64_t width = 1; seam_next(view, &at, &width); width *= 2, at.round++)
        exchange_round(part, &at);
}

void pen_coll_build_reduce(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    bool to_all = op->root == PEN_COLL_ALL, gets = to_all || op->root == view->rank;
    bool in_place = gets && op->dest == op->source;
    char *dest = gets ? op->dest + section->offset : NULL;
    partial part = { .op = op,
                     .section = section,
                     .mine = op->source + section->offset,
                     .ours = in_place,
                     .spare = in_place ? NULL : dest };
    reserve(op, section);
    bool few = (view->size & (view->size - 1)) == 0 || view->size <= EXCHANGE_RANKS_MAX;
    if (to_all && few && op->len <= EXCHANGE_LEN_MAX) {
        build_exchange(&part);
        (void)pen_coll_copy(op, section, dest, part.mine, section->len, PEN_COLL_AFTER_ALL);
        return;
    }
    bool have = reduce_up(&part, to_all ? 0 : op->root);
    if (have)
        (void)pen_coll_copy(op, section, dest, part.mine, section->len, PEN_COLL_AFTER_DATA);
    if (to_all)
        pen_coll_build_down(op, section, 0, TAG_RESULT, dest, dest);
}

/* ---- scan ------------------------------------------------------------------------------------ */

/* Inclusive scan: in each round a member receives the result of a range of twice the length
 * before it. The last member of an exclusive scan needs only its neighbour's result. */
void pen_coll_build_scan(pen_coll_op *op, pen_coll_section *section)
{
    const pen_team_view *view = &op->coll->team->view;
    uint32_t rank = view->rank, size = view->size;
    bool exclusive = (op->what.kind & PEN_COLL_EXCLUSIVE) != 0;
    uint32_t takers = exclusive ? size - 1 : size; /* ranks that compute the inclusive result */
    size_t len = section->len;
    partial part = { .op = op, .section = section, .mine = op->source + section->offset };
    char *dest = op->dest + section->offset;
    reserve(op, section);
    uint8_t round = 0;
    for (uint64_t far = 1; far < takers && rank < takers; far *= 2, round++) {
        if (rank + far < takers) {
            (void)pen_coll_send(op, section, (uint32_t)(rank + far), round, part.mine, len,
                                PEN_COLL_AFTER_DATA);
            part.ours = false; /* a send still reads it */
        }
        if (rank >= far)
            combine_from_left(&part, (uint32_t)(rank - far), round);
    }
    if (exclusive && rank + 1 < size)
        (void)pen_coll_send(op, section, rank + 1, TAG_SHIFTED, part.mine, len,
                            PEN_COLL_AFTER_DATA);
    if (exclusive && rank == 0)
        return;
    if (exclusive) {
        char *shifted = pen_coll_scratch(section, len);
        (void)pen_coll_receive(op, section, rank - 1, TAG_SHIFTED, shifted, len);
        part.mine = shifted;
    }
    (void)pen_coll_copy(op, section, dest, part.mine, len, PEN_COLL_AFTER_ALL);
}
