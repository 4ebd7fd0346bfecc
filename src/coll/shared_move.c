/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_move.c: the turns of collectives that move data between members that share memory. In
 * step 0 a member posts. In step 1 it reads the bytes that its peers posted. In step 2 it waits
 * for them, if they read directly from its buffer. A member without data posts an empty slot, so
 * that every slot shows which collective its owner began. */
#include "coll/shared.h"

#include "base/copy.h"

enum { READ = 2 }; /* the phase of a member that has finished reading */

static void copy(const pen_shared *shared, char *to, const char *from, size_t len)
{
    if (to != from && len != 0)
        pen_copy(&shared->job->copies, to, from, len);
}

static bool post_nothing(pen_shared *shared, const pen_shared_op *op)
{
    if (!pen_shared_room(shared, 0))
        return false;
    pen_shared_post(shared, op, 0, NULL);
    return true;
}

static bool post_buffer(pen_shared *shared, const pen_shared_op *op, const char *buffer)
{
    if (!pen_shared_room(shared, 0))
        return false;
    pen_shared_post(shared, op, pen_shared_place_of(shared, buffer), NULL);
    return true;
}

/* Copies from a member's posted bytes, at that offset, to our memory. */
static bool take(pen_shared *shared, pen_shared_op *op, uint32_t rank, size_t offset, char *to)
{
    const pen_shared_slot *slot = pen_shared_slot_of(shared, op, rank);
    if (slot == NULL)
        return false;
    /* relaxed: the turn word came with acquire */
    uint64_t place = atomic_load_explicit(&slot->place, memory_order_relaxed);
    pen_shared_copy(shared, rank, slot, place, offset, op->section_len, to);
    return true;
}

/* ---- broadcast ------------------------------------------------------------------------------- */

bool pen_shared_broadcast(pen_shared *shared, pen_shared_op *op)
{
    bool is_root = shared->rank == op->root;
    if (op->step == 0) {
        const char *from = is_root ? op->source + op->offset : NULL;
        bool posted = !is_root     ? post_nothing(shared, op)
                      : op->direct ? post_buffer(shared, op, from)
                                   : pen_shared_post_bytes(shared, op, from, op->section_len);
        if (!posted)
            return false;
        if (is_root)
            copy(shared, op->dest + op->offset, from, op->section_len);
        op->step = 1;
    }
    if (!is_root)
        return take(shared, op, op->root, 0, op->dest + op->offset);
    return !op->direct || pen_shared_all_reached(shared, op, READ);
}

/* ---- gather ---------------------------------------------------------------------------------- */

/* temp: see plan_reduction. */
static char *gather_dest(const pen_shared_op *op) { return op->temp != NULL ? op->temp : op->dest; }

static bool gather_post(pen_shared *shared, const pen_shared_op *op, bool gives)
{
    const char *from = op->source + op->offset;
    if (!gives)
        return post_nothing(shared, op);
    return op->direct ? post_buffer(shared, op, from)
                      : pen_shared_post_bytes(shared, op, from, op->section_len);
}

/* Takes the parts of all members that we have not taken yet. */
static bool gather_take(pen_shared *shared, pen_shared_op *op)
{
    char *dest = gather_dest(op);
    for (; op->peers + 1 < shared->size; op->peers++) {
        uint32_t rank = pen_shared_other(shared, op->peers);
        if (!take(shared, op, rank, 0, dest + rank * op->len + op->offset))
            return false;
    }
    op->peers = 0;
    return true;
}

/* Posts, and copies our own part to its place. */
static bool gather_begin(pen_shared *shared, const pen_shared_op *op, bool gives, bool takes)
{
    if (!gather_post(shared, op, gives))
        return false;
    if (takes)
        copy(shared, gather_dest(op) + shared->rank * op->len + op->offset, op->source + op->offset,
             op->section_len);
    return true;
}

/* Has every member that reads from our buffer finished? */
static bool gather_read(pen_shared *shared, pen_shared_op *op, bool to_all)
{
    if (to_all)
        return pen_shared_all_reached(shared, op, READ);
    return op->root == shared->rank || pen_shared_reached(shared, op->root, READ);
}

bool pen_shared_gather(pen_shared *shared, pen_shared_op *op)
{
    bool to_all = op->root == PEN_COLL_ALL, takes = to_all || op->root == shared->rank;
    if (op->step == 0) {
        if (!gather_begin(shared, op, to_all || !takes, takes))
            return false;
        op->step = 1;
    }
    if (op->step == 1) {
        if (takes && !gather_take(shared, op))
            return false;
        op->step = 2;
        if (takes && op->direct)
            pen_shared_tell(shared, READ);
    }
    return !op->direct || gather_read(shared, op, to_all);
}

/* ---- a part for each member ------------------------------------------------------------------ */

/* Posts the section of each part, one after another. */
static bool post_parts(pen_shared *shared, const pen_shared_op *op)
{
    uint64_t words[PEN_SHARED_INLINE_LEN / 8] = { 0 }, place = 0;
    size_t each = op->section_len, all = each * shared->size;
    bool is_short = all <= PEN_SHARED_INLINE_LEN;
    if (!pen_shared_room(shared, is_short ? 0 : all))
        return false;
    char *to = is_short ? (char *)words : pen_shared_body(shared, all, &place);
    pen_copy_piece piece = pen_copy_begin(&shared->job->copies, &shared->pace, all);
    for (uint32_t rank = 0; rank < shared->size; rank++)
        if (rank != shared->rank && each != 0)
            pen_copy_part(&piece, to + rank * each, op->source + rank * op->len + op->offset, each);
    pen_copy_end(&piece);
    pen_shared_post(shared, op, place, is_short ? words : NULL);
    return true;
}

/* The offset of our part in a member's posted bytes. */
static size_t part_offset(const pen_shared *shared, const pen_shared_op *op)
{
    return shared->rank * (op->direct ? op->len : op->section_len);
}

bool pen_shared_scatter(pen_shared *shared, pen_shared_op *op)
{
    bool is_root = shared->rank == op->root;
    char *dest = op->dest + op->offset;
    if (op->step == 0) {
        bool posted = !is_root     ? post_nothing(shared, op)
                      : op->direct ? post_buffer(shared, op, op->source)
                                   : post_parts(shared, op);
        if (!posted)
            return false;
        if (is_root)
            copy(shared, dest, op->source + shared->rank * op->len + op->offset, op->section_len);
        op->step = 1;
    }
    if (!is_root)
        return take(shared, op, op->root, part_offset(shared, op), dest);
    return !op->direct || pen_shared_all_reached(shared, op, READ);
}

static bool post_exchange(pen_shared *shared, pen_shared_op *op)
{
    size_t own = shared->rank * op->len + op->offset, all = shared->size * op->len;
    if (!op->direct) {
        if (!post_parts(shared, op))
            return false;
        copy(shared, op->dest + own, op->source + own, op->section_len);
        return true;
    }
    if (op->source == op->dest) { /* storing what we take would overwrite bytes that peers still
                                   * read */
        op->temp = pen_shared_memory(shared, all);
        pen_copy(&shared->job->copies, op->temp, op->source, all);
        op->source = op->temp;
    }
    if (!post_buffer(shared, op, op->source))
        return false;
    copy(shared, op->dest + own, op->source + own, op->section_len);
    return true;
}

bool pen_shared_exchange(pen_shared *shared, pen_shared_op *op)
{
    if (op->step == 0) {
        if (!post_exchange(shared, op))
            return false;
        op->step = 1;
    }
    for (; op->step == 1 && op->peers + 1 < shared->size; op->peers++) {
        uint32_t rank = pen_shared_other(shared, op->peers);
        if (!take(shared, op, rank, part_offset(shared, op),
                  op->dest + rank * op->len + op->offset))
            return false;
    }
    if (!op->direct)
        return true;
    if (op->step == 1) {
        pen_shared_tell(shared, READ);
        op->peers = 0;
        op->step = 2;
    }
    return pen_shared_all_reached(shared, op, READ);
}
