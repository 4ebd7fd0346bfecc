/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.h: collectives of a team whose members share memory.
 *
 * Every member has a *share* in the host arena: scratch that it alone writes and all others read.
 * Nothing of it is touched before the team's first collective. The members' collectives are cut
 * into *turns*, numbered alike on all members because all begin the same collectives in the same
 * order: a turn moves one piece, at most a section long, or lets members read straight from each
 * other's buffers. A member takes its turns strictly in order, so the collectives of a team end in
 * the order in which they were begun; teams know nothing of one another.
 *
 * A share, each line written by its owner only:
 *
 *   progress   8 * turn + phase: all turns before this one are over for the owner, which no longer
 *              reads what others offered in them; phase: how far it is in the current one. After
 *              turns of little data it may lag by a few of them
 *   slots      one line for each turn, in a ring: what the collective is, where the owner's bytes
 *              for the turn lie, and up to PEN_SHARED_INLINE_LEN of them; its turn word comes last
 *   body       a ring of bytes for longer pieces
 *
 * In each turn every member *posts* its slot: it writes the bytes and the fields, then the turn
 * word with release; who reads the word with acquire may read the rest. A member reuses slot and
 * bytes when the progress of all members has passed that turn: it stores progress with release
 * after its last read, the owner loads it with acquire before its next write. Turn words only grow,
 * over all teams that use a share one after the other, so a share is never cleaned: a slow member
 * of a team that is no more, looking for its last turn, finds a later one and is content.
 *
 * What is offered: bytes in the slot, in the body, elsewhere in the owner's part of the arena (an
 * attached segment), or anywhere in its memory, which others then read by CMA. The last two need
 * no copy, but their owner must not end before all have read them. Whether all members can use CMA
 * they find out together before the first turn that would profit; where they cannot, everything
 * goes through bodies, section by section.
 *
 * Members that disagree are found out by a digest of all collectives that the poster has begun,
 * in each slot, which every reader compares.
 *
 * Bounds: PEN_HOST_SHARES shares of PEN_HOST_SHARE_LEN bytes a rank, of which only what is used
 * costs memory: a team that finds none left goes by messages. The body is given back when the team
 * is destroyed. A poster runs ahead by PEN_SHARED_SLOTS turns at most.
 *
 * The lock of the job's pen_coll guards the queue of a team's collectives; who has claimed the team
 * runs the one at its front without the lock. All steps are taken by whoever begins or polls, none
 * waits. */
#ifndef PEN_COLL_SHARED_H
#define PEN_COLL_SHARED_H

#include "base/copy.h"
#include "coll/engine.h"

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

/* Where bytes lie: in the two highest bits, the rest says where there. */
enum { PEN_SHARED_IN_SLOT, PEN_SHARED_IN_BODY, PEN_SHARED_IN_ARENA, PEN_SHARED_IN_PROCESS };
#define PEN_SHARED_PLACE_SHIFT 62
#define PEN_SHARED_PLACE_MASK  (((uint64_t)1 << PEN_SHARED_PLACE_SHIFT) - 1)

/* The fields are atomic (relaxed) because the owner may write them anew while a slow member of an
 * earlier team looks; the turn word says what they are worth. */
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

/* Does what can be done of the current turn; true: it is over. */
typedef bool (*pen_shared_step)(pen_shared *shared, pen_shared_op *op);

/* What a collective does, one after the other: turns of the same kind, a section of the parts each;
 * or one for all, where section_max is 0. */
typedef struct pen_shared_act {
    pen_shared_step step;
    size_t section_max;
    bool wants_direct; /* one turn, straight from buffers, if all members can */
} pen_shared_act;

enum { PEN_SHARED_ACTS_MAX = 6 };

struct pen_shared_op {
    pen_shared_op *next;
    pen_event *event; /* NULL: whoever began it has not left yet */
    pen_coll_what what;
    uint32_t history;
    uint32_t root;
    char *dest;
    const char *source;
    size_t len; /* of a part; of a reduction: of all */
    pen_reduction reduction;
    pen_shared_act acts[PEN_SHARED_ACTS_MAX];
    uint32_t act_count, act_i;
    /* of the turn underway */
    size_t offset, section_len; /* what it covers, of a part */
    bool direct;                /* straight from buffers */
    bool sweeps;                /* a barrier: see pen_coll_finish_swept */
    uint32_t step, peers;       /* how far it is; so many others are dealt with in this step */
    uint32_t looks;             /* in vain */
    char *made;                 /* where we make our slice */
    char *temp, *temp_out;      /* memory of the collective's own; NULL: none */
};

struct pen_shared {
    pen_coll_team *coll;
    pen_job *job;
    uint32_t rank, size;
    struct pen_shared *next_busy; /* teams with something in their queue */
    pen_shared_share *mine;
    uint64_t base;                 /* turn words are this more than turns */
    uint64_t turn;                 /* the current one */
    uint64_t over;                 /* turns before this one are over for all, as far as seen */
    uint64_t body_head, body_tail; /* bytes ever taken and ever given back */
    uint64_t body_end[PEN_SHARED_SLOTS];
    pen_copy_pace pace; /* into the body */
    uint32_t history;
    uint32_t share_i; /* of our shares */
    pid_t pid;
    bool claimed;        /* somebody runs the front of the queue */
    bool busy;           /* polls look after it */
    bool wake;           /* others may wait for what we did */
    bool cma_known, cma; /* all members can read each other's memory */
    bool used_body;
    pen_shared_op *first, **end, *free;
    uint64_t begun, ended;      /* collectives */
    uint64_t probe;             /* what others read to find out whether they can */
    char *blocks;               /* room for partial results ... */
    size_t block_len;           /* ... of this length each */
    pen_shared_share *shares[]; /* by rank */
};

/* ---- shares of a rank ------------------------------------------------------------------------ */

/* Offers one of ours for a team that is being made; false: there is none, or it is switched off,
 * and the team goes by messages. */
bool pen_shared_offer(pen_job *job, pen_coll_offer *out);
void pen_shared_withdraw(pen_job *job, const pen_coll_offer *offer);

/* ---- a team's part --------------------------------------------------------------------------- */

/* offers: by rank, all valid. NULL: no memory, which a line has said. */
pen_shared *pen_shared_open(pen_coll_team *coll, const pen_coll_offer *offers);
void pen_shared_close(pen_shared *shared); /* its share is free for the next team */
/* Before that, when all members are over with all collectives: the memory of our share's body. */
void pen_shared_give_back(const pen_shared *shared);
/* Have all members a share? */
bool pen_shared_believable(const pen_team *team, const pen_coll_offer *offers);

/* One to be filled in: what (but for the number), root, dest, source, len, reduction. Under the
 * lock, as those that follow. */
pen_shared_op *pen_shared_op_new(pen_shared *shared);
pen_event *pen_shared_begin(pen_thread *thread, pen_shared *shared, pen_shared_op *op);
/* A barrier of the team's that goes another way was begun. */
void pen_shared_count(pen_shared *shared, const pen_coll_what *what);
/* Checked builds: all have arrived at the primordial team's barrier with that number, by flags.
 * Ends the job if a member began other collectives before it. Under the lock. */
void pen_shared_check_barrier(const pen_coll_team *coll, uint32_t number);
/* Goes on with all teams' collectives; answers how many ended. */
unsigned pen_shared_poll(pen_coll *jobs);

/* ---- for acts (under the claim) -------------------------------------------------------------- */

/* Room for a turn's slot and so many bytes of body; false: not yet. */
bool pen_shared_room(pen_shared *shared, size_t body_len);
/* Takes part of that room. */
char *pen_shared_body(pen_shared *shared, size_t len, uint64_t *place_out);
/* words: those of a slot, NULL: none. */
void pen_shared_post(pen_shared *shared, const pen_shared_op *op, uint64_t place,
                     const uint64_t *words);
/* A copy of len bytes, in the slot or the body; false: no room yet. */
bool pen_shared_post_bytes(pen_shared *shared, const pen_shared_op *op, const char *from,
                           size_t len);
/* Of memory of our own, which others may read until they have reached phase 2. */
uint64_t pen_shared_place_of(const pen_shared *shared, const char *memory);
/* The member's slot of the turn; NULL: it has not posted. */
pen_shared_slot *pen_shared_slot_of(pen_shared *shared, pen_shared_op *op, uint32_t rank);
/* Have the members before `end` posted, but for us? */
bool pen_shared_all_posted(pen_shared *shared, pen_shared_op *op, uint32_t end);
/* [offset, offset + len) of what a member has there, to read; NULL: by pen_shared_copy only. */
const char *pen_shared_see(pen_shared *shared, uint32_t rank, const pen_shared_slot *slot,
                           uint64_t place, size_t offset, size_t len);
void pen_shared_copy(pen_shared *shared, uint32_t rank, const pen_shared_slot *slot, uint64_t place,
                     size_t offset, size_t len, char *to);
pid_t pen_shared_pid_of(const pen_shared *shared, uint32_t rank);
/* Tells that we have come so far in the turn, asks whether a member has, or all others. */
void pen_shared_tell(pen_shared *shared, uint32_t phase);
bool pen_shared_reached(const pen_shared *shared, uint32_t rank, uint32_t phase);
bool pen_shared_all_reached(pen_shared *shared, pen_shared_op *op, uint32_t phase);
void *pen_shared_memory(const pen_shared *shared,
                        size_t len); /* of the heap; fatal if there is none */
/* Whom we deal with as number i of the others: our neighbour first. */
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
