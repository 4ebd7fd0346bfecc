/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.h: collectives of a team whose members share memory.
 *
 * Every member has a *share* in the host arena: scratch that only it writes and all peers read.
 * No part of it is touched before the team's first collective. The members' collectives are cut
 * into *turns*, numbered alike on all members because all begin the same collectives in the same
 * order: a turn moves one piece, at most a section long, or lets members read straight from each
 * other's buffers. A member takes its turns strictly in order, so the collectives of a team end in
 * the order in which they were begun. Teams are independent of one another.
 *
 * A share, each line written by its owner only:
 *
 *   progress   8 * turn + phase. The owner has finished all turns before this one: it reads no
 *              bytes that peers offered in them. phase: its state in the current turn. After turns
 *              of little data, progress may lag by a few turns
 *   slots      one line for each turn, in a ring: the collective, where the owner's bytes for the
 *              turn lie, and up to PEN_SHARED_INLINE_LEN of them. The turn word is written last
 *   body       a ring of bytes for longer pieces
 *
 * In each turn every member *posts* its slot: it writes the bytes and the fields, then the turn
 * word with release. A reader that loads the word with acquire may read the rest. A member reuses
 * slot and bytes when the progress of all members has passed that turn. Readers store progress with
 * release after their last read; the owner loads it with acquire before its next write. Turn words
 * only grow, over all successive teams that use a share, so a share is never cleaned. If a slow
 * member of a closed team looks for its last turn, it finds a later one and knows that the turn is
 * over.
 *
 * A member may offer bytes in the slot, in the body, elsewhere in its part of the arena (an
 * attached segment), or anywhere in its memory, which peers then read by CMA. The last two need no
 * copy, but the owner must not end before all have read them. Before the first turn that would
 * profit, members test together whether all can use CMA. If one cannot, everything goes through
 * bodies, section by section.
 *
 * Each slot has a digest of all collectives that its owner has begun. Every reader compares it, and
 * so detects members that disagree.
 *
 * Bounds: a rank has PEN_HOST_SHARES shares of PEN_HOST_SHARE_LEN bytes; only used pages cost
 * memory. A team that finds no free share uses messages. The body is given back when the team is
 * destroyed. A member runs ahead by PEN_SHARED_SLOTS turns at most.
 *
 * The lock of the job's pen_coll guards the queue of a team's collectives. The thread that has
 * claimed the team runs the one at its front without the lock. Calls that begin collectives and
 * polls run all steps; no step waits. */
#ifndef PEN_COLL_SHARED_H
#define PEN_COLL_SHARED_H

#include "base/compiler.h"
#include "base/copy.h"
#include "boot/host_page.h"
#include "coll/engine.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "rma/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PEN_SHARED_SLOTS = 63,
    PEN_SHARED_INLINE_LEN = 24,
    PEN_SHARED_BODY_OFF = 4096,
    PEN_SHARED_BODY_LEN = PEN_HOST_SHARE_LEN - PEN_SHARED_BODY_OFF,
    PEN_SHARED_PIECE_MAX = 32 << 10,         /* bytes of the body that a turn takes at most */
    PEN_SHARED_PHASES = 8,                   /* a turn's progress values */
    PEN_SHARED_BLOCK_LEN = 32 << 10,         /* bytes that are combined at a time ... */
    PEN_SHARED_DIRECT_BLOCK_LEN = 128 << 10, /* ... straight from buffers */
};

/* Where bytes lie. The two highest bits hold this kind, the lower bits the position. */
enum { PEN_SHARED_IN_SLOT, PEN_SHARED_IN_BODY, PEN_SHARED_IN_ARENA, PEN_SHARED_IN_PROCESS };
#define PEN_SHARED_PLACE_SHIFT 62
#define PEN_SHARED_PLACE_MASK  (((uint64_t)1 << PEN_SHARED_PLACE_SHIFT) - 1)

/* The fields are atomic (relaxed) because the owner may overwrite them while a slow member of an
 * earlier team reads. The turn word tells which turn they belong to. */
typedef struct pen_shared_slot {
    PEN_CACHE_ALIGNED _Atomic uint64_t turn;
    _Atomic uint32_t history, number;
    _Atomic uint32_t kind, root; /* pen_coll_what */
    _Atomic uint64_t len;
    _Atomic uint64_t place;
    _Atomic uint64_t words[PEN_SHARED_INLINE_LEN / 8];
} pen_shared_slot;

typedef struct pen_shared_share {
    PEN_CACHE_ALIGNED _Atomic uint64_t progress;
    PEN_CACHE_ALIGNED pen_shared_slot slots[PEN_SHARED_SLOTS];
} pen_shared_share;

_Static_assert(sizeof(pen_shared_slot) == PEN_CACHE_LINE, "a slot is a line");
_Static_assert(sizeof(pen_shared_share) == PEN_SHARED_BODY_OFF, "the body follows");

typedef struct pen_shared_op pen_shared_op;
typedef struct pen_shared pen_shared;

/* Advances the current turn as far as possible. Returns true if it is over. */
typedef bool (*pen_shared_step)(pen_shared *shared, pen_shared_op *op);

/* One act of a collective. It consists of turns of one kind, each for one section of all parts;
 * if section_max is 0, of one turn for everything. */
typedef struct pen_shared_act {
    pen_shared_step step;
    size_t section_max;
    bool wants_direct; /* one turn that reads buffers directly, if all members can */
} pen_shared_act;

enum { PEN_SHARED_ACTS_MAX = 6 };

struct pen_shared_op {
    pen_shared_op *next;
    pen_event *event; /* NULL: the call that began it has not returned */
    pen_coll_what what;
    uint32_t history;
    uint32_t root;
    char *dest;
    const char *source;
    size_t len; /* bytes of a part; in a reduction, of all elements */
    pen_reduction reduction;
    pen_shared_act acts[PEN_SHARED_ACTS_MAX];
    uint32_t act_count, act_i;
    /* the turn underway */
    size_t offset, section_len; /* its section of a part */
    bool direct;                /* reads buffers directly */
    bool sweeps;                /* a barrier: see pen_coll_finish_swept */
    uint32_t step, peers;       /* state of the turn; peers completed in this step */
    uint32_t looks;             /* fruitless looks */
    char *made;                 /* memory for our slice's result */
    char *temp, *temp_out;      /* memory owned by the collective, or NULL */
};

struct pen_shared {
    pen_coll_team *coll;
    pen_job *job;
    uint32_t rank, size;
    struct pen_shared *next_busy; /* in the list of teams with a collective queued */
    pen_shared_share *mine;
    uint64_t base;                 /* turn word = base + turn */
    uint64_t turn;                 /* the current one */
    uint64_t over;                 /* turns before this one are over for all, as last seen */
    uint64_t body_head, body_tail; /* bytes allocated and released so far */
    uint64_t body_end[PEN_SHARED_SLOTS];
    pen_copy_pace pace; /* how copies into the body are made */
    uint32_t history;
    uint32_t share_i; /* index among this rank's shares */
    pid_t pid;
    bool claimed;        /* a thread runs the front of the queue */
    bool busy;           /* in the list that polls run */
    bool wake;           /* peers may wait for our last store */
    bool cma_known, cma; /* all members can read each other's memory, by pen_reach_by_kernel */
    bool used_body;
    pen_shared_op *first, **end, *free;
    uint64_t begun, ended;      /* collectives */
    uint64_t probe;             /* peers read this word to test CMA */
    char *blocks;               /* memory for partial results ... */
    size_t block_len;           /* ... and the length of each */
    pen_shared_share *shares[]; /* by rank */
};

/* ---- shares of a rank ------------------------------------------------------------------------ */

/* Offers a share of this rank for a team that is being made. Returns false if no share is free
 * or if sharing is switched off; the team then uses messages. */
bool pen_shared_offer(pen_job *job, pen_coll_offer *out);
void pen_shared_withdraw(pen_job *job, const pen_coll_offer *offer);

/* ---- a team's part --------------------------------------------------------------------------- */

/* offers: by rank, all valid. Returns NULL, after printing a line, if there is no memory. */
pen_shared *pen_shared_open(pen_coll_team *coll, const pen_coll_offer *offers);
void pen_shared_close(pen_shared *shared); /* frees the share for the next team */
/* Called before pen_shared_close, when all members have finished all collectives. Gives back the
 * memory of our share's body. */
void pen_shared_give_back(const pen_shared *shared);
/* Have all members a share? */
bool pen_shared_believable(const pen_team *team, const pen_coll_offer *offers);

/* Returns an op that the caller fills in: what (except the number), root, dest, source, len,
 * reduction. Under the lock, as are the functions below. */
pen_shared_op *pen_shared_op_new(pen_shared *shared);
pen_event *pen_shared_begin(pen_thread *thread, pen_shared *shared, pen_shared_op *op);
/* Counts a barrier of the team that was begun through a different mechanism. */
void pen_shared_count(pen_shared *shared, const pen_coll_what *what);
/* Checked builds: called when all ranks have arrived by flags at the primordial team's barrier
 * with that number. Ends the job if a member began different collectives before it. Under the
 * lock. */
void pen_shared_check_barrier(const pen_coll_team *coll, uint32_t number);
/* Advances the collectives of all teams. Returns how many ended. */
unsigned pen_shared_poll(pen_coll *jobs);

/* ---- for acts (under the claim) -------------------------------------------------------------- */

/* Tests for room for a turn's slot and body_len bytes of body. False: not yet. */
bool pen_shared_room(pen_shared *shared, size_t body_len);
/* Allocates a part of that room. */
char *pen_shared_body(pen_shared *shared, size_t len, uint64_t *place_out);
/* words: contents of the slot, or NULL. */
void pen_shared_post(pen_shared *shared, const pen_shared_op *op, uint64_t place,
                     const uint64_t *words);
/* Posts a copy of len bytes, in the slot or the body. Returns false if there is no room yet. */
bool pen_shared_post_bytes(pen_shared *shared, const pen_shared_op *op, const char *from,
                           size_t len);
/* The place of memory of this rank. Peers may read it until they have reached phase 2. */
uint64_t pen_shared_place_of(const pen_shared *shared, const char *memory);
/* The member's slot of the turn, or NULL if it has not posted. */
pen_shared_slot *pen_shared_slot_of(pen_shared *shared, pen_shared_op *op, uint32_t rank);
/* Have all members before `end`, except this one, posted? */
bool pen_shared_all_posted(pen_shared *shared, pen_shared_op *op, uint32_t end);
/* Address of [offset, offset + len) of a member's bytes, for reading. NULL: only pen_shared_copy
 * can read them. */
const char *pen_shared_see(pen_shared *shared, uint32_t rank, const pen_shared_slot *slot,
                           uint64_t place, size_t offset, size_t len);
void pen_shared_copy(pen_shared *shared, uint32_t rank, const pen_shared_slot *slot, uint64_t place,
                     size_t offset, size_t len, char *to);
/* tell: publishes that this member has reached a phase of the turn. reached: has that member?
 * all_reached: have all the members? */
void pen_shared_tell(pen_shared *shared, uint32_t phase);
bool pen_shared_reached(const pen_shared *shared, uint32_t rank, uint32_t phase);
bool pen_shared_all_reached(pen_shared *shared, pen_shared_op *op, uint32_t phase);
void *pen_shared_memory(const pen_shared *shared,
                        size_t len); /* from the heap; ends the job on failure */
/* The peer that this member serves as number i; its neighbour is number 0. */
static inline uint32_t pen_shared_other(const pen_shared *shared, uint32_t i)
{
    uint32_t rank = shared->rank + 1 + i;
    return rank < shared->size ? rank : rank - shared->size;
}

/* ---- what collectives do --------------------------------------------------------------------- */

void pen_shared_plan(pen_shared *shared, pen_shared_op *op);
bool pen_shared_meet(pen_shared *shared, pen_shared_op *op);
bool pen_shared_probe(pen_shared *shared, pen_shared_op *op);
bool pen_shared_agree(pen_shared *shared, pen_shared_op *op);
bool pen_shared_broadcast(pen_shared *shared, pen_shared_op *op);
bool pen_shared_gather(pen_shared *shared, pen_shared_op *op);
bool pen_shared_scatter(pen_shared *shared, pen_shared_op *op);
bool pen_shared_exchange(pen_shared *shared, pen_shared_op *op);
bool pen_shared_reduce_whole(pen_shared *shared, pen_shared_op *op);
bool pen_shared_reduce_by_one(pen_shared *shared, pen_shared_op *op);
bool pen_shared_reduce_slices(pen_shared *shared, pen_shared_op *op);
bool pen_shared_reduce_collected(pen_shared *shared, pen_shared_op *op);

#endif
