/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_internal.h: meetings, of which barriers are made. A meeting is a sequence of phases; in
 * each, every rank arrives once with a word, and when all have, every rank learns the combination
 * of all words. A rank arrives at a phase only after it has seen the one before end, so no rank is
 * ever more than one phase ahead.
 *
 * Two ways to meet: flag lines in memory that all ranks share (lines.c), or the engine's messages
 * (dissemination.c). Neither locks: the caller does. */
#ifndef PEN_COLL_COLL_INTERNAL_H
#define PEN_COLL_COLL_INTERNAL_H

#include "coll/barrier.h"

/* ---- words ----------------------------------------------------------------------------------- */

/* What a rank brings, and what all brought together: low half the name, then these flags, then the
 * phase, which the ways to meet add. Combining is associative, commutative and idempotent: some
 * ways count a rank twice. */
#define PEN_WORD_NAMED       ((uint64_t)1 << 32) /* the low half is a name */
#define PEN_WORD_MISMATCH    ((uint64_t)1 << 33) /* names differ, or a rank said so */
#define PEN_WORD_PHASE_SHIFT 34
#define PEN_WORD_PHASE_MASK  (((uint64_t)1 << 30) - 1)
#define PEN_WORD_CONTENT     (((uint64_t)1 << PEN_WORD_PHASE_SHIFT) - 1)

static inline uint64_t pen_word_of(uint64_t content, uint32_t phase)
{
    return (content & PEN_WORD_CONTENT) | ((uint64_t)phase & PEN_WORD_PHASE_MASK)
                                              << PEN_WORD_PHASE_SHIFT;
}

/* Phases are compared modulo 2^30; a word of the phase before the last is the oldest one can meet.
 */
static inline bool pen_word_is_of(uint64_t word, uint32_t phase)
{
    return word >> PEN_WORD_PHASE_SHIFT == ((uint64_t)phase & PEN_WORD_PHASE_MASK);
}

uint64_t pen_word_combine(uint64_t a, uint64_t b); /* contents, without phases */
uint64_t pen_word_of_notice(int name, int flags);
/* For a wait that names this. A word without a name matches every name, and so the notify of this
 * rank need not be asked: where it had a name, the result has that name too or is a mismatch. */
pen_status pen_word_judge(uint64_t result, int name, int flags);
bool pen_word_name(uint64_t result, int *name_out);

/* ---- meetings -------------------------------------------------------------------------------- */

enum {
    PEN_MEET_NAMED, /* the GASNet-1 barrier's */
    PEN_MEET_PLAIN, /* the GASNet-EX barrier's */
    PEN_MEETS,
    PEN_MEET_ALL_SEE_ALL_MAX = 4, /* ranks; beyond, a combining tree */
    PEN_MEET_ROUNDS_MAX = 32,     /* of dissemination: log2 of the largest job */
    PEN_MEET_ARGS = 5,            /* of its messages: meeting, phase, round, flags, name */
};

typedef enum pen_meet_way { PEN_MEET_BY_FLAGS, PEN_MEET_BY_MESSAGES } pen_meet_way;

typedef struct pen_meet {
    pen_job *job;
    uint32_t index;  /* PEN_MEET_... */
    uint32_t phase;  /* the last one we arrived at; the first is 1 */
    bool underway;   /* it has not ended, or we have not looked */
    bool met;        /* underway: all have arrived, and now what they sent before is handled: ... */
    uint32_t sweep;  /* ... the ticket of that sweep */
    uint64_t result; /* of the last one that ended: contents */
    pen_meet_way way;
    char *lines; /* BY_FLAGS: rank 0's line 0 */
    struct {     /* BY_MESSAGES: the phase underway and the next, by parity */
        uint64_t word[PEN_MEET_ROUNDS_MAX]; /* received in this round */
        uint32_t received;                  /* a bit per round */
    } slots[2];
    uint32_t round;    /* BY_MESSAGES: the one whose word we wait for */
    uint64_t combined; /* ours; BY_MESSAGES: and all received so far */
} pen_meet;

/* All have arrived. What they sent to us before is here; the phase ends when it is handled, too. */
static inline void pen_meet_complete(pen_meet *meet, uint64_t result)
{
    pen_progress *progress = &meet->job->progress;
    meet->result = result & PEN_WORD_CONTENT;
    meet->met = true;
    if (meet->way == PEN_MEET_BY_MESSAGES) /* from now on polls have to look */
        pen_progress_add_work(progress, 1);
    meet->sweep = pen_progress_ask_sweep(progress);
}

/* Arrive: starts the next phase (the last one has ended). Look: ends it if everybody has arrived
 * and what they sent before has been handled. Both leave underway and result behind. */
void pen_meet_arrive(pen_meet *meet, uint64_t content);
void pen_meet_look(pen_meet *meet);

void pen_lines_arrive(pen_meet *meet, uint64_t content);
void pen_lines_look(pen_meet *meet);
/* For diagnosis: the number of the latest collective that is a meeting, and a digest of those
 * before it; whether a rank's has that number; what a rank noted: the digest, and below it its
 * number + 1. */
void pen_lines_note(const pen_meet *meet, uint32_t number, uint32_t history);
uint64_t pen_lines_note_of(const pen_meet *meet, uint32_t rank);
bool pen_lines_noted(const pen_meet *meet, uint32_t rank, uint32_t number);

void pen_dissemination_arrive(pen_meet *meet, uint64_t content);
void pen_dissemination_look(pen_meet *meet);
/* A peer's word; false: it fits no phase and round that can be. */
bool pen_dissemination_receive(pen_meet *meet, pen_peer from, uint32_t phase, uint32_t round,
                               uint64_t content);

/* ---- the job's part -------------------------------------------------------------------------- */

enum { PEN_COLL_TEAM_BUCKETS = 64 };

/* A barrier that was begun. */
typedef struct pen_coll_waiting {
    pen_event *event;
    uint32_t number; /* of the primordial team: among its collectives; of others: the sweep's */
} pen_coll_waiting;

typedef struct pen_coll_queue { /* a ring; len: a power of two, or 0 */
    pen_coll_waiting *items;
    uint32_t first, count, len;
} pen_coll_queue;

typedef struct pen_coll {
    pen_job *job;
    /* In this rank's row of the host page: barriers that it has entered; see wait_state.h. */
    _Atomic uint32_t *entered, own_entered[PEN_ENTERED_KINDS];
    pen_lock lock; /* guards all of it */
    pen_meet meets[PEN_MEETS];

    /* the GASNet-1 barrier */
    bool notified;
    uint64_t last_result; /* of the last one that a wait or try finished; contents */

    /* the GASNet-EX barrier: events of barriers begun, the oldest first; only the oldest has its
     * phase underway, the others arrive in turn */
    pen_coll_queue queue;

    /* barriers of other teams that all members have reached, until a sweep is over */
    pen_coll_queue swept;

    /* collectives: engine.h */
    struct pen_coll_team *teams[PEN_COLL_TEAM_BUCKETS]; /* by a hash of their ids */
    struct pen_coll_op *stalled;                        /* a link has no room for what they send */
    struct pen_coll_orphans *orphans; /* for teams that are not made here yet; NULL: none yet */
    uint64_t pieces_sent;

    /* scratch for teams that share memory: shared.h */
    bool shares_usable, cma_allowed;
    uint64_t shares_taken; /* a bit each */
    uint64_t share_turns[PEN_HOST_SHARES];
    struct pen_shared *busy, **busy_end; /* teams that have something underway */
} pen_coll;

/* Before a rank enters a barrier, under no lock: what it has sent so far is on its way, or there.
 * May poll. */
void pen_coll_hand_over(pen_job *job, bool by_messages);
/* Under the lock: finishes the event of a barrier, when what has arrived by now is handled. */
void pen_coll_finish_swept(pen_coll *coll, pen_event *event);

/* explain.c: tells reports of waits what this rank waits for. */
void pen_coll_explain_open(pen_job *job);
/* For reports: notes that this rank enters a barrier. */
static inline void pen_coll_note_entered(const pen_coll *coll, uint32_t kind, uint32_t number)
{
    /* relaxed: nothing is read through it */
    atomic_store_explicit(&coll->entered[kind], number + 1, memory_order_relaxed);
}

#endif
