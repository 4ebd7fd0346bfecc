/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_turn.c: functions used within a turn: finding room in our share, posting, reading
 * peers' posts, and detecting members that began a different collective. Called under the claim. */
#include "coll/shared.h"

#include "base/compiler.h"
#include "base/copy.h"
#include "base/status.h"
#include "job/fatal.h"
#include "job/team.h"
#include "reach/reach.h"

#include <string.h>

enum {
    LOOKS_EACH = 256,      /* fruitless looks between two checks for a member that disagrees */
    SLOTS_READ_AHEAD = 4,  /* lines to prefetch: a member that only gives, */
    SLOTS_WRITE_AHEAD = 2, /* or only takes, may be turns away from its peers */
    BODY_WRITE_AHEAD = 32 * PEN_CACHE_LINE,
};

/* ---- room ------------------------------------------------------------------------------------ */

/* Releases the room of turns that all members have finished. */
static void room_look(pen_shared *shared)
{
    uint64_t over = shared->turn;
    for (uint32_t i = 0; i + 1 < shared->size; i++) {
        /* acquire: pairs with the release in turn_end; the member has finished reading our bytes */
        uint64_t progress = atomic_load_explicit(
            &shared->shares[pen_shared_other(shared, i)]->progress, memory_order_acquire);
        uint64_t word = progress / PEN_SHARED_PHASES;
        uint64_t turn = word > shared->base ? word - shared->base : 0;
        if (turn < over)
            over = turn;
    }
    if (over <= shared->over)
        return;
    shared->over = over;
    shared->body_tail = shared->body_end[(over - 1) % PEN_SHARED_SLOTS];
    if (over == shared->turn) /* from the start again: those bytes are more likely in the cache */
        shared->body_head = shared->body_tail = (shared->body_head + PEN_SHARED_BODY_LEN - 1) /
                                                PEN_SHARED_BODY_LEN * PEN_SHARED_BODY_LEN;
}

/* Bytes to skip before a piece of this length. */
static uint64_t body_skip(const pen_shared *shared, size_t len)
{
    uint64_t at = shared->body_head % PEN_SHARED_BODY_LEN;
    return at + len > PEN_SHARED_BODY_LEN ? PEN_SHARED_BODY_LEN - at : 0;
}

static bool has_room(const pen_shared *shared, size_t body_len)
{
    if (shared->turn - shared->over >= PEN_SHARED_SLOTS)
        return false;
    return body_len == 0 ||
           shared->body_head + body_skip(shared, body_len) + body_len - shared->body_tail <=
               PEN_SHARED_BODY_LEN;
}

bool pen_shared_room(pen_shared *shared, size_t body_len)
{
    if (pen_likely(has_room(shared, body_len)))
        return true;
    room_look(shared);
    return has_room(shared, body_len);
}

char *pen_shared_body(pen_shared *shared, size_t len, uint64_t *place_out)
{
    PEN_ASSERT(len <= PEN_SHARED_PIECE_MAX); /* longer ones might never find room: see turn_end */
    shared->body_head += body_skip(shared, len);
    uint64_t at = shared->body_head % PEN_SHARED_BODY_LEN;
    shared->body_head += pen_align_up(len, PEN_CACHE_LINE);
    shared->used_body = true;
    *place_out = (uint64_t)PEN_SHARED_IN_BODY << PEN_SHARED_PLACE_SHIFT | at;
    char *body = (char *)shared->mine + PEN_SHARED_BODY_OFF;
    uint64_t next = shared->body_head % PEN_SHARED_BODY_LEN;
    if (shared->pace.streams && len >= PEN_COPY_OUT_MIN)
        return body + at; /* stores that bypass the caches need no prefetched lines */
    for (size_t ahead = 0; ahead < len && ahead < BODY_WRITE_AHEAD; ahead += PEN_CACHE_LINE)
        pen_prefetch_to_write(body + next + ahead); /* for the next turn; at the ring's end,
                                                     * unused */
    return body + at;
}

/* ---- posting --------------------------------------------------------------------------------- */

static pen_shared_slot *slot_at(pen_shared_share *share, uint64_t turn)
{
    return &share->slots[turn % PEN_SHARED_SLOTS];
}

void pen_shared_post(pen_shared *shared, const pen_shared_op *op, uint64_t place,
                     const uint64_t *words)
{
    pen_shared_slot *slot = slot_at(shared->mine, shared->turn);
    /* Peers read that line one lap ago. If it stayed in their caches, our stores would wait for
     * it. */
    pen_prefetch_to_write(slot_at(shared->mine, shared->turn + SLOTS_WRITE_AHEAD));
    /* relaxed: the turn word publishes them */
    atomic_store_explicit(&slot->history, op->history, memory_order_relaxed);
    atomic_store_explicit(&slot->number, op->what.number, memory_order_relaxed);
    atomic_store_explicit(&slot->kind, op->what.kind, memory_order_relaxed);
    atomic_store_explicit(&slot->root, op->what.root, memory_order_relaxed);
    atomic_store_explicit(&slot->len, op->what.len, memory_order_relaxed);
    atomic_store_explicit(&slot->place, place, memory_order_relaxed);
    for (uint32_t i = 0; words != NULL && i < PEN_SHARED_INLINE_LEN / 8; i++)
        atomic_store_explicit(&slot->words[i], words[i], memory_order_relaxed);
    /* release: pairs with the acquire in pen_shared_slot_of */
    atomic_store_explicit(&slot->turn, shared->base + shared->turn, memory_order_release);
    shared->wake = true;
}

bool pen_shared_post_bytes(pen_shared *shared, const pen_shared_op *op, const char *from,
                           size_t len)
{
    uint64_t words[PEN_SHARED_INLINE_LEN / 8] = { 0 }, place = 0;
    bool is_short = len <= PEN_SHARED_INLINE_LEN;
    if (!pen_shared_room(shared, is_short ? 0 : len))
        return false;
    if (!is_short)
        pen_copy_out(&shared->job->copies, &shared->pace, pen_shared_body(shared, len, &place),
                     from, len);
    else if (len != 0)
        memcpy(words, from, len);
    pen_shared_post(shared, op, place, is_short ? words : NULL);
    return true;
}

uint64_t pen_shared_place_of(const pen_shared *shared, const char *memory)
{
    uint64_t place;
    if (pen_reach_arena_place(shared->job, memory, &place))
        return (uint64_t)PEN_SHARED_IN_ARENA << PEN_SHARED_PLACE_SHIFT | place;
    return (uint64_t)PEN_SHARED_IN_PROCESS << PEN_SHARED_PLACE_SHIFT |
           ((uint64_t)(uintptr_t)memory & PEN_SHARED_PLACE_MASK);
}

/* ---- who does something else? ---------------------------------------------------------------- */

static pen_coll_what what_in(const pen_shared_slot *slot)
{
    return (pen_coll_what){ .number = atomic_load_explicit(&slot->number, memory_order_relaxed),
                            .root = atomic_load_explicit(&slot->root, memory_order_relaxed),
                            .len = atomic_load_explicit(&slot->len, memory_order_relaxed),
                            .kind = atomic_load_explicit(&slot->kind, memory_order_relaxed) };
}

static bool same(const pen_coll_what *a, const pen_coll_what *b)
{
    return a->kind == b->kind && a->root == b->root && a->len == b->len;
}

/* The member's history differs: find the first collective that differs, among the latest. */
static PEN_COLD void find_difference(const pen_shared *shared, const pen_shared_op *op,
                                     uint32_t rank)
{
    const pen_coll_team *coll = shared->coll;
    const pen_shared_slot *slots = shared->shares[rank]->slots;
    uint64_t back = shared->turn < PEN_SHARED_SLOTS ? shared->turn : PEN_SHARED_SLOTS - 1;
    for (uint64_t turn = shared->turn - back; turn <= shared->turn; turn++) {
        const pen_shared_slot *slot = &slots[turn % PEN_SHARED_SLOTS];
        pen_coll_what theirs = what_in(slot);
        const pen_coll_what *ours = &coll->recent[theirs.number % PEN_COLL_WINDOW];
        if (theirs.number == op->what.number)
            ours = &op->what;
        /* acquire: the fields are those of that turn */
        if (atomic_load_explicit(&slot->turn, memory_order_acquire) == shared->base + turn &&
            ours->number == theirs.number && !same(ours, &theirs))
            pen_coll_disagree(coll, rank, &theirs, ours);
    }
    pen_coll_what theirs = what_in(&slots[shared->turn % PEN_SHARED_SLOTS]);
    pen_coll_disagree(coll, rank, &theirs, &op->what);
}

/* Returns false if the slot is of a later turn, because the member has then completed this one. */
static PEN_COLD bool compare(const pen_shared *shared, const pen_shared_op *op, uint32_t rank,
                             const pen_shared_slot *slot)
{
    /* acquire: below the fields that were read */
    if (atomic_load_explicit(&slot->turn, memory_order_acquire) == shared->base + shared->turn)
        find_difference(shared, op, rank);
    return false;
}

/* Called after a long wait: looks for members that disagree. */
static PEN_COLD void look_around(const pen_shared *shared, const pen_shared_op *op)
{
    static const pen_coll_what barrier = { .kind = PEN_COLL_BARRIER };
    const pen_team *team = shared->coll->team;
    const pen_meet *meet = &shared->job->coll->meets[PEN_MEET_PLAIN];
    for (uint32_t i = 0; i + 1 < shared->size; i++) {
        uint32_t rank = pen_shared_other(shared, i);
        const pen_shared_slot *slot = &shared->shares[rank]->slots[shared->turn % PEN_SHARED_SLOTS];
        /* acquire: the fields are those of that turn */
        if (atomic_load_explicit(&slot->turn, memory_order_acquire) ==
                shared->base + shared->turn &&
            atomic_load_explicit(&slot->history, memory_order_relaxed) != op->history)
            (void)compare(shared, op, rank, slot);
        if (team == &shared->job->world && meet->way == PEN_MEET_BY_FLAGS &&
            pen_lines_noted(meet, rank, op->what.number))
            pen_coll_disagree(shared->coll, rank, &barrier, &op->what);
    }
}

/* Looks through the slots of a member for collectives before the barrier that differ from ours. */
static void find_earlier(const pen_coll_team *coll, uint32_t rank, uint32_t number)
{
    const pen_shared *shared = coll->shared;
    for (uint32_t i = 0; i < PEN_SHARED_SLOTS; i++) {
        const pen_shared_slot *slot = &shared->shares[rank]->slots[i];
        /* acquire: the fields are those of that turn, or of a later one */
        const uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
        const pen_coll_what theirs = what_in(slot);
        const pen_coll_what *ours = &coll->recent[theirs.number % PEN_COLL_WINDOW];
        if (turn >= shared->base && number - theirs.number <= PEN_COLL_WINDOW &&
            ours->number == theirs.number && !same(ours, &theirs))
            pen_coll_disagree(coll, rank, &theirs, ours);
    }
}

void pen_shared_check_barrier(const pen_coll_team *coll, uint32_t number)
{
    const pen_meet *meet = &coll->job->coll->meets[PEN_MEET_PLAIN];
    const uint64_t mine = pen_lines_note_of(meet, coll->job->rank);
    if ((uint32_t)mine != (uint32_t)(number + 1))
        return; /* this rank has begun a later one */
    for (uint32_t rank = 0; rank < coll->job->size; rank++) {
        const uint64_t theirs = pen_lines_note_of(meet, rank);
        const pen_coll_what barrier = { .number = (uint32_t)theirs - 1, .kind = PEN_COLL_BARRIER };
        if ((int32_t)(barrier.number - number) < 0)
            pen_coll_disagree(coll, rank, &barrier,
                              &coll->recent[barrier.number % PEN_COLL_WINDOW]);
        if (theirs != mine && barrier.number == number && coll->shared != NULL)
            find_earlier(coll, rank, number);
    }
}

static void looked_in_vain(const pen_shared *shared, pen_shared_op *op)
{
    if (pen_unlikely(++op->looks % LOOKS_EACH == 0))
        look_around(shared, op);
}

/* ---- reading --------------------------------------------------------------------------------- */

pen_shared_slot *pen_shared_slot_of(pen_shared *shared, pen_shared_op *op, uint32_t rank)
{
    pen_shared_slot *slot = slot_at(shared->shares[rank], shared->turn);
    /* acquire: pairs with the release in pen_shared_post */
    uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
    if (turn < shared->base + shared->turn) {
        looked_in_vain(shared, op);
        return NULL;
    }
    __builtin_prefetch(slot_at(shared->shares[rank], shared->turn + SLOTS_READ_AHEAD));
    if (pen_unlikely(atomic_load_explicit(&slot->history, memory_order_relaxed) != op->history))
        (void)compare(shared, op, rank, slot);
    return slot;
}

bool pen_shared_all_posted(pen_shared *shared, pen_shared_op *op, uint32_t end)
{
    for (; op->peers + 1 < shared->size; op->peers++) {
        uint32_t rank = pen_shared_other(shared, op->peers);
        if (rank < end && pen_shared_slot_of(shared, op, rank) == NULL)
            return false;
    }
    op->peers = 0;
    return true;
}

static PEN_COLD _Noreturn void bad_place(const pen_shared *shared, uint32_t rank)
{
    pen_job_fatal(shared->job,
                  "team rank %u (job rank %u) offers memory that is not its own in a collective: "
                  "its memory is corrupt; look for stores out of bounds there",
                  rank, pen_team_jobrank(shared->coll->team, rank));
}

/* Do len bytes at `at` + offset lie in the first `whole` bytes? */
static bool within(uint64_t at, size_t offset, size_t len, uint64_t whole)
{
    return offset <= whole && len <= whole - offset && at <= whole - offset - len;
}

static const char *see_arena(const pen_shared *shared, uint32_t rank, uint64_t at, size_t offset,
                             size_t len)
{
    const char *memory = pen_reach_arena_at(shared->job, pen_team_jobrank(shared->coll->team, rank),
                                            at, offset, len);
    if (memory == NULL)
        bad_place(shared, rank);
    return memory;
}

/* NULL: in a different process. */
static const char *see_process(const pen_shared *shared, uint32_t rank, uint64_t at, size_t offset)
{
    const uint32_t jobrank = pen_team_jobrank(shared->coll->team, rank);
    return pen_reach_process(shared->job, jobrank) == shared->pid
               ? (const char *)(uintptr_t)at + offset
               : NULL;
}

const char *pen_shared_see(pen_shared *shared, uint32_t rank, const pen_shared_slot *slot,
                           uint64_t place, size_t offset, size_t len)
{
    uint64_t at = place & PEN_SHARED_PLACE_MASK;
    switch (place >> PEN_SHARED_PLACE_SHIFT) {
    case PEN_SHARED_IN_SLOT:
        if (!within(at, offset, len, PEN_SHARED_INLINE_LEN))
            bad_place(shared, rank);
        return (const char *)slot->words + offset;
    case PEN_SHARED_IN_BODY:
        if (!within(at, offset, len, PEN_SHARED_BODY_LEN))
            bad_place(shared, rank);
        return (const char *)shared->shares[rank] + PEN_SHARED_BODY_OFF + at + offset;
    case PEN_SHARED_IN_ARENA:
        return see_arena(shared, rank, at, offset, len);
    default:
        return see_process(shared, rank, at, offset);
    }
}

static PEN_COLD _Noreturn void cannot_read(const pen_shared *shared, uint32_t rank,
                                           pen_status status)
{
    pen_job_fatal(shared->job,
                  "cannot read team rank %u's buffer in a collective: process_vm_readv: %s; %s, or "
                  "set PENSTOCK_COLL_CMA=no",
                  rank, pen_status_text(status), pen_status_remedy(status));
}

void pen_shared_copy(pen_shared *shared, uint32_t rank, const pen_shared_slot *slot, uint64_t place,
                     size_t offset, size_t len, char *to)
{
    if (len == 0)
        return;
    const char *from = pen_shared_see(shared, rank, slot, place, offset, len);
    if (from != NULL) {
        pen_copy(&shared->job->copies, to, from, len);
        return;
    }
    uintptr_t at = (uintptr_t)(place & PEN_SHARED_PLACE_MASK) + offset;
    pen_status status = pen_reach_by_kernel(shared->job, pen_team_jobrank(shared->coll->team, rank),
                                            false, to, (void *)at, len);
    if (status != PEN_OK)
        cannot_read(shared, rank, status);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static uint64_t progress_word(const pen_shared *shared, uint32_t phase)
{
    return (shared->base + shared->turn) * PEN_SHARED_PHASES + phase;
}

void pen_shared_tell(pen_shared *shared, uint32_t phase)
{
    /* release: pairs with the acquire in pen_shared_reached, and in room_look */
    atomic_store_explicit(&shared->mine->progress, progress_word(shared, phase),
                          memory_order_release);
    shared->wake = true;
}

bool pen_shared_reached(const pen_shared *shared, uint32_t rank, uint32_t phase)
{
    /* acquire: pairs with the release in pen_shared_tell */
    return atomic_load_explicit(&shared->shares[rank]->progress, memory_order_acquire) >=
           progress_word(shared, phase);
}

bool pen_shared_all_reached(pen_shared *shared, pen_shared_op *op, uint32_t phase)
{
    for (; op->peers + 1 < shared->size; op->peers++)
        if (!pen_shared_reached(shared, pen_shared_other(shared, op->peers), phase)) {
            looked_in_vain(shared, op);
            return false;
        }
    op->peers = 0;
    return true;
}
