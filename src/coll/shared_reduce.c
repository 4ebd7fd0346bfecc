/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_reduce.c: the turns of reductions and scans of members that share memory.
 *
 * Short ones: every member that gets a result reads all operands. Long ones: each member
 * computes the result of a slice, and the members that get a result read the slices. If members
 * share cores, one member computes the result for all. Operands are combined by the tree of
 * reduce.c, so the result does not depend on the method. Ranks are pushed on a stack one by one;
 * two neighbouring ranges of 2^i ranks become one. */
#include "coll/shared.h"

#include "base/compiler.h"
#include "base/copy.h"

#include <stdlib.h>

enum { MADE = 1, READ = 2 }; /* phases: our slice is computed; we have finished reading */
enum { PILE_MAX = 33 };      /* ranges, the last of one rank */

/* A range's result, or a rank's operands. */
typedef struct range {
    const char *at;
    int32_t block; /* index of its block among the team's; -1: client memory, not to be
                    * overwritten */
} range;

typedef struct reduce_pile {
    pen_shared *shared;
    pen_shared_op *op;
    size_t offset, len; /* part of the operands, in bytes */
    size_t count;       /* the same part, in elements */
    uint32_t height;
    uint64_t used;  /* a bit for each block in use */
    char *free_out; /* place of the result, while no operand is in it; or NULL */
    range ranges[PILE_MAX];
} reduce_pile;

static uint32_t blocks_needed(const pen_shared *shared)
{
    uint32_t levels = 1;
    while ((uint64_t)1 << levels < shared->size)
        levels++;
    return levels + 3;
}

static void blocks_reserve(pen_shared *shared, size_t len)
{
    len = pen_align_up(len < PEN_SHARED_BLOCK_LEN ? PEN_SHARED_BLOCK_LEN : len, PEN_CACHE_LINE);
    if (pen_likely(len <= shared->block_len))
        return;
    free(shared->blocks);
    shared->blocks = pen_shared_memory(shared, blocks_needed(shared) * len);
    shared->block_len = len;
}

static int32_t block_take(reduce_pile *pile)
{
    int32_t block = __builtin_ctzll(~pile->used);
    pile->used |= (uint64_t)1 << block;
    return block;
}

static void block_give(reduce_pile *pile, int32_t block)
{
    if (block >= 0)
        pile->used &= ~((uint64_t)1 << block);
}

static char *block_at(const reduce_pile *pile, int32_t block)
{
    return pile->shared->blocks + (size_t)block * pile->shared->block_len;
}

/* A member's operands. */
static range operands(reduce_pile *pile, uint32_t rank)
{
    pen_shared *shared = pile->shared;
    pen_shared_op *op = pile->op;
    if (op->temp != NULL) /* collected */
        return (range){ op->temp + rank * op->len + pile->offset, -1 };
    if (rank == shared->rank)
        return (range){ op->source + op->offset + pile->offset, -1 };
    const pen_shared_slot *slot = pen_shared_slot_of(shared, op, rank);
    PEN_INVARIANT(slot != NULL);
    /* relaxed: the turn word came with acquire */
    uint64_t place = atomic_load_explicit(&slot->place, memory_order_relaxed);
    const char *at = pen_shared_see(shared, rank, slot, place, pile->offset, pile->len);
    if (at != NULL)
        return (range){ at, -1 };
    char *to = pile->free_out;
    int32_t block = to == NULL ? block_take(pile) : -1;
    if (to == NULL)
        to = block_at(pile, block);
    pile->free_out = NULL;
    pen_shared_copy(shared, rank, slot, place, pile->offset, pile->len, to);
    return (range){ to, block };
}

/* Combines the two ranges at the top. out: place of the result; NULL: a block. */
static void join(reduce_pile *pile, char *out)
{
    const pen_reduction *reduction = &pile->op->reduction;
    range right = pile->ranges[--pile->height], *left = &pile->ranges[pile->height - 1];
    size_t count = pile->count;
    int32_t block = right.block;
    if (block < 0 && (out == NULL || reduction->function != NULL)) {
        if (reduction->function == NULL && left->block >= 0) {
            block = left->block;
            left->block = -1;
        } else {
            block = block_take(pile);
        }
    }
    char *to = out != NULL && reduction->function == NULL ? out : block_at(pile, block);
    if (reduction->function == NULL) {
        pen_coll_combine_into(reduction, left->at, right.at, to, count);
    } else {
        if (to != right.at)
            pen_copy(&pile->shared->job->copies, to, right.at, pile->len);
        pen_reduction_call(reduction, left->at, to, count);
    }
    block_give(pile, left->block);
    *left = (range){ to, block };
}

/* Combines the operands of all members before `end`, count elements from offset on, and stores
 * the result in out, which may be our operands' place. */
static void combine_block(pen_shared *shared, pen_shared_op *op, uint32_t end, size_t offset,
                          size_t count, char *out)
{
    const size_t len = count * op->reduction.element_len;
    reduce_pile pile; /* not zeroed: it is large, and mostly unused */
    pile.shared = shared;
    pile.op = op;
    pile.offset = offset;
    pile.len = len;
    pile.count = count;
    pile.height = 0;
    pile.used = 0;
    pile.free_out = op->temp == NULL && out != op->source + op->offset + offset ? out : NULL;
    for (uint32_t rank = 0; rank < end; rank++) {
        pile.ranges[pile.height++] = operands(&pile, rank);
        bool is_last = rank + 1 == end;
        for (uint32_t joins = rank + 1; !is_last && joins % 2 == 0; joins /= 2)
            join(&pile, NULL);
        while (is_last && pile.height > 1)
            join(&pile, pile.height == 2 ? out : NULL);
    }
    if (pile.ranges[0].at != out)
        pen_copy(&shared->job->copies, out, pile.ranges[0].at, len);
}

/* Combines in blocks of at least one element. Blocks are larger if a system call reads them, and
 * smaller if they fit caches. */
static void combine(pen_shared *shared, pen_shared_op *op, uint32_t end, size_t offset, size_t len,
                    char *out)
{
    if (len == 0)
        return;
    const size_t element_len = op->reduction.element_len;
    const size_t block_len = op->direct ? PEN_SHARED_DIRECT_BLOCK_LEN : PEN_SHARED_BLOCK_LEN;
    size_t left = len == op->len ? op->reduction.count : len / element_len;
    size_t most = left;
    if (len > block_len)
        most = element_len < block_len ? block_len / element_len : 1;
    blocks_reserve(shared, most * element_len);
    while (left > 0) {
        size_t count = left < most ? left : most;
        combine_block(shared, op, end, offset, count, out);
        offset += count * element_len;
        out += count * element_len;
        left -= count;
    }
}

static bool is_scan(const pen_shared_op *op) { return (op->what.kind & 15) == PEN_COLL_SCAN; }

/* Our result combines the operands of the members before this one. 0: we get no result. */
static uint32_t end_of(const pen_shared *shared, const pen_shared_op *op)
{
    if (is_scan(op))
        return shared->rank + !(op->what.kind & PEN_COLL_EXCLUSIVE);
    return op->root == PEN_COLL_ALL || op->root == shared->rank ? shared->size : 0;
}

/* ---- whoever gets a result reads all operands ------------------------------------------------ */

static bool whole_post(pen_shared *shared, const pen_shared_op *op)
{
    const char *from = op->source + op->offset;
    if (!op->direct)
        return pen_shared_post_bytes(shared, op, from,
                                     op->root != shared->rank ? op->section_len : 0);
    if (!pen_shared_room(shared, 0))
        return false;
    pen_shared_post(shared, op, pen_shared_place_of(shared, from), NULL);
    return true;
}

/* If the operation is in place, peers may still read the operands that our result would
 * overwrite, unless only we get a result. */
static bool goes_aside(const pen_shared_op *op)
{
    return op->direct && (is_scan(op) || op->root == PEN_COLL_ALL);
}

static void whole_combine(pen_shared *shared, pen_shared_op *op, uint32_t end)
{
    if (end == 0)
        return;
    char *to = op->dest + op->offset;
    if (goes_aside(op))
        to = op->temp_out = pen_shared_memory(shared, op->section_len);
    combine(shared, op, end, 0, op->section_len, to);
}

bool pen_shared_reduce_whole(pen_shared *shared, pen_shared_op *op)
{
    uint32_t end = end_of(shared, op);
    if (op->step == 0) {
        if (!whole_post(shared, op))
            return false;
        op->step = 1;
    }
    if (op->step == 1) {
        if (!pen_shared_all_posted(shared, op, end))
            return false;
        whole_combine(shared, op, end);
        if (!op->direct)
            return true;
        pen_shared_tell(shared, READ);
        op->step = 2;
    }
    if (!pen_shared_all_reached(shared, op, READ))
        return false;
    if (end != 0 && goes_aside(op))
        pen_copy(&shared->job->copies, op->dest + op->offset, op->temp_out, op->section_len);
    return true;
}

/* The first member combines for all, and posts the result in place of its operands. */
bool pen_shared_reduce_by_one(pen_shared *shared, pen_shared_op *op)
{
    const bool is_first = shared->rank == 0;
    char *to = op->dest + op->offset;
    if (op->step == 0 && is_first) {
        if (!pen_shared_all_posted(shared, op, shared->size))
            return false;
        combine(shared, op, shared->size, 0, op->section_len, to);
        op->step = 1;
    }
    if (is_first)
        return pen_shared_post_bytes(shared, op, to, op->section_len);
    if (op->step == 0) {
        if (!pen_shared_post_bytes(shared, op, op->source + op->offset, op->section_len))
            return false;
        op->step = 1;
    }
    const pen_shared_slot *slot = pen_shared_slot_of(shared, op, 0);
    if (slot == NULL)
        return false;
    /* relaxed: the turn word came with acquire */
    uint64_t place = atomic_load_explicit(&slot->place, memory_order_relaxed);
    pen_shared_copy(shared, 0, slot, place, 0, op->section_len, to);
    return true;
}

/* All operands are in op->temp on the members that get a result. */
bool pen_shared_reduce_collected(pen_shared *shared, pen_shared_op *op)
{
    if (!pen_shared_room(shared, 0))
        return false;
    pen_shared_post(shared, op, 0, NULL);
    if (end_of(shared, op) != 0)
        combine(shared, op, end_of(shared, op), 0, op->len, op->dest);
    return true;
}

/* ---- each makes a slice ---------------------------------------------------------------------- */

typedef struct slice {
    size_t offset, len;
} slice;

/* A member's slice of the section: whole cache lines, if there are enough. */
static slice slice_of(const pen_shared *shared, const pen_shared_op *op, uint32_t rank)
{
    size_t element_len = op->reduction.element_len;
    size_t unit =
        element_len >= PEN_CACHE_LINE ? element_len : PEN_CACHE_LINE / element_len * element_len;
    size_t units = (op->section_len + unit - 1) / unit;
    size_t each = (units + shared->size - 1) / shared->size * unit;
    size_t offset = each * rank < op->section_len ? each * rank : op->section_len;
    size_t left = op->section_len - offset;
    return (slice){ offset, left < each ? left : each };
}

static bool gets_result(const pen_shared *shared, const pen_shared_op *op)
{
    return op->root == PEN_COLL_ALL || op->root == shared->rank;
}

/* Memory for our slice's result that peers can read: our own buffer, or scratch. */
static bool slices_post(pen_shared *shared, pen_shared_op *op)
{
    slice mine = slice_of(shared, op, shared->rank);
    uint64_t words[PEN_SHARED_INLINE_LEN / 8] = { 0 }, place = 0;
    const char *from = op->source + op->offset;
    size_t operands_len = pen_align_up(op->section_len, PEN_CACHE_LINE);
    /* both in one piece, so that neither takes room from its pair */
    if (!pen_shared_room(shared, op->direct ? 0 : operands_len + mine.len))
        return false;
    if (op->direct) {
        if (!gets_result(shared, op))
            op->temp_out = pen_shared_memory(shared, mine.len);
        op->made = gets_result(shared, op) ? op->dest + op->offset + mine.offset : op->temp_out;
        place = pen_shared_place_of(shared, from);
        words[0] = pen_shared_place_of(shared, op->made);
    } else {
        char *body = pen_shared_body(shared, operands_len + mine.len, &place);
        pen_copy_out(&shared->job->copies, &shared->pace, body, from, op->section_len);
        op->made = body + operands_len;
        words[0] = place + operands_len;
    }
    pen_shared_post(shared, op, place, words);
    return true;
}

static void slice_make(pen_shared *shared, pen_shared_op *op)
{
    slice mine = slice_of(shared, op, shared->rank);
    combine(shared, op, shared->size, mine.offset, mine.len, op->made);
    if (gets_result(shared, op) && !op->direct && mine.len != 0)
        pen_copy(&shared->job->copies, op->dest + op->offset + mine.offset, op->made, mine.len);
}

/* Copies the slices of all peers. */
static bool slices_take(pen_shared *shared, pen_shared_op *op)
{
    for (; op->peers + 1 < shared->size; op->peers++) {
        uint32_t rank = pen_shared_other(shared, op->peers);
        slice theirs = slice_of(shared, op, rank);
        if (theirs.len == 0)
            continue;
        const pen_shared_slot *slot = pen_shared_slot_of(shared, op, rank);
        if (slot == NULL || !pen_shared_reached(shared, rank, MADE))
            return false;
        /* relaxed: the turn word came with acquire */
        uint64_t place = atomic_load_explicit(&slot->words[0], memory_order_relaxed);
        pen_shared_copy(shared, rank, slot, place, 0, theirs.len,
                        op->dest + op->offset + theirs.offset);
    }
    op->peers = 0;
    return true;
}

bool pen_shared_reduce_slices(pen_shared *shared, pen_shared_op *op)
{
    if (op->step == 0) {
        if (!slices_post(shared, op))
            return false;
        op->step = 1;
    }
    if (op->step == 1) {
        bool makes = slice_of(shared, op, shared->rank).len != 0;
        if (makes && !pen_shared_all_posted(shared, op, shared->size))
            return false;
        slice_make(shared, op);
        pen_shared_tell(shared, MADE);
        op->step = 2;
    }
    if (op->step == 2) {
        if (gets_result(shared, op) && !slices_take(shared, op))
            return false;
        if (op->direct)
            pen_shared_tell(shared, READ);
        op->step = 3;
    }
    return !op->direct || pen_shared_all_reached(shared, op, READ);
}
