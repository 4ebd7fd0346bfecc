/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_internal.h: meetings, from which barriers are made.
 *
 * A meeting is a sequence of phases. In each phase every rank arrives once with a word. When all
 * have arrived, every rank learns the combination of all words. A rank arrives at a phase only
 * after it has seen the previous phase end, so no rank is more than one phase ahead. There are
 * two ways to meet: flag lines in memory that all ranks share (coll_lines.c), or the engine's
 * messages (dissemination.c). Neither takes a lock: the caller holds it. */
#ifndef PEN_COLL_COLL_INTERNAL_H
#define PEN_COLL_COLL_INTERNAL_H

#include "base/compiler.h"
#include "base/status.h"
#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/job.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "rma/event.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- words ----------------------------------------------------------------------------------- */

/* A word: a rank's contribution, or the combination of several. The low half is the name. Flags
 * follow, then the phase, which the ways to meet add. Combining is associative, commutative and
 * idempotent, because some ways count a rank twice. */
#define PEN_WORD_NAMED       ((uint64_t)1 << 32) /* the low half is a name */
#define PEN_WORD_MISMATCH    ((uint64_t)1 << 33) /* names differ, or a rank reported a mismatch */
#define PEN_WORD_PHASE_SHIFT 34
#define PEN_WORD_PHASE_MASK  (((uint64_t)1 << 30) - 1)
#define PEN_WORD_CONTENT     (((uint64_t)1 << PEN_WORD_PHASE_SHIFT) - 1)

static inline uint64_t pen_word_of(uint64_t content, uint32_t phase)
{
    return (content & PEN_WORD_CONTENT) | ((uint64_t)phase & PEN_WORD_PHASE_MASK)
                                              << PEN_WORD_PHASE_SHIFT;
}

/* Compares phases modulo 2^30. The oldest word that can arrive is from the phase before the
 * last. */
static inline bool pen_word_is_of(uint64_t word, uint32_t phase)
{
    return word >> PEN_WORD_PHASE_SHIFT == ((uint64_t)phase & PEN_WORD_PHASE_MASK);
}

uint64_t pen_word_combine(uint64_t a, uint64_t b); /* contents, without phases */
uint64_t pen_word_of_notice(int name, int flags);
/* Result for a wait that passes this name. A word without a name matches every name. So the
 * notify of this rank need not be looked at: if it had a name, the result has that name or is a
 * mismatch. */
pen_status pen_word_judge(uint64_t result, int name, int flags);
bool pen_word_name(uint64_t result, int *name_out);

/* ---- meetings -------------------------------------------------------------------------------- */

enum {
    PEN_MEET_NAMED, /* the GASNet-1 barrier's */
    PEN_MEET_PLAIN, /* the GASNet-EX barrier's */
    PEN_MEETS,
    PEN_MEET_ALL_SEE_ALL_MAX = 4, /* ranks; larger jobs use a combining tree */
    PEN_MEET_ROUNDS_MAX = 32,     /* rounds of dissemination: log2 of the largest job */
    PEN_MEET_ARGS = 5,            /* words in a message: meeting, phase, round, flags, name */
};

typedef enum pen_meet_way { PEN_MEET_BY_FLAGS, PEN_MEET_BY_MESSAGES } pen_meet_way;

typedef struct pen_meet {
    pen_job *job;
    uint32_t index;  /* PEN_MEET_... */
    uint32_t phase;  /* the last phase we arrived at; the first is 1 */
    bool underway;   /* the phase has not ended, as far as we have looked */
    bool met;        /* underway: all have arrived; a sweep handles their earlier messages ... */
    uint32_t sweep;  /* ... and this is its ticket */
    uint64_t result; /* content of the last phase that ended */
    pen_meet_way way;
    char *lines; /* BY_FLAGS: rank 0's line 0 */
    struct {     /* BY_MESSAGES: the phase underway and the next, by parity */
        uint64_t word[PEN_MEET_ROUNDS_MAX]; /* received in this round */
        uint32_t received;                  /* a bit per round */
    } slots[2];
    uint32_t round;    /* BY_MESSAGES: the round whose word we wait for */
    uint64_t combined; /* our word; BY_MESSAGES: combined with all received so far */
} pen_meet;

/* Called when all have arrived. Their earlier messages are here; the phase ends when the
 * handlers of those messages have run. */
static inline void pen_meet_complete(pen_meet *meet, uint64_t result)
{
    pen_progress *progress = &meet->job->progress;
    meet->result = result & PEN_WORD_CONTENT;
    meet->met = true;
    if (meet->way == PEN_MEET_BY_MESSAGES) /* from here on polls have to look */
        pen_progress_add_work(progress, 1);
    meet->sweep = pen_progress_ask_sweep(progress);
}

/* arrive: starts the next phase; the last one must have ended. look: ends the phase if all ranks
 * have arrived and their earlier messages have been handled. Both update underway and result. */
void pen_meet_arrive(pen_meet *meet, uint64_t content);
void pen_meet_look(pen_meet *meet);

void pen_lines_arrive(pen_meet *meet, uint64_t content);
void pen_lines_look(pen_meet *meet);
/* For diagnosis. note: stores the number of this rank's latest collective that is a meeting, and
 * a digest of the collectives before it. noted: tests whether a rank stored that number.
 * note_of: a rank's note, with the digest above and number + 1 below. */
void pen_lines_note(const pen_meet *meet, uint32_t number, uint32_t history);
uint64_t pen_lines_note_of(const pen_meet *meet, uint32_t rank);
bool pen_lines_noted(const pen_meet *meet, uint32_t rank, uint32_t number);

void pen_dissemination_arrive(pen_meet *meet, uint64_t content);
void pen_dissemination_look(pen_meet *meet);
/* Takes a peer's word. Returns false if no valid phase and round can have sent it. */
bool pen_dissemination_receive(pen_meet *meet, pen_peer from, uint32_t phase, uint32_t round,
                               uint64_t content);

/* ---- the job's part -------------------------------------------------------------------------- */

enum { PEN_COLL_TEAM_BUCKETS = 64 };

/* A barrier that was begun and has not ended. */
typedef struct pen_coll_waiting {
    pen_event *event;
    uint32_t number; /* primordial team: number among its collectives; other teams: the sweep's
                      * ticket */
} pen_coll_waiting;

typedef struct pen_coll_queue { /* a ring; len: a power of two, or 0 */
    pen_coll_waiting *items;
    uint32_t first, count, len;
} pen_coll_queue;

typedef struct pen_coll {
    pen_job *job;
    /* Barriers that this rank has entered, in its row of the host page; see wait_state.h. */
    _Atomic uint32_t *entered, own_entered[PEN_ENTERED_KINDS];
    pen_lock lock; /* guards all fields */
    pen_meet meets[PEN_MEETS];

    /* the GASNet-1 barrier */
    bool notified;
    uint64_t last_result; /* content of the last barrier that a wait or try finished */

    /* the GASNet-EX barrier: events of barriers begun, the oldest first. Only the phase of the
     * oldest is underway; the rest arrive one by one. */
    pen_coll_queue queue;

    /* barriers of other teams that all members have reached; each ends when its sweep is over */
    pen_coll_queue swept;

    /* collectives: engine.h */
    struct pen_coll_team *teams[PEN_COLL_TEAM_BUCKETS]; /* by a hash of their ids */
    struct pen_coll_op *stalled;                        /* a link had no room for their message */
    struct pen_coll_orphans *orphans; /* messages for teams not made here yet; may be NULL */
    uint64_t pieces_sent;

    /* scratch for teams that share memory: shared.h */
    bool shares_usable, cma_allowed;
    uint64_t shares_taken; /* a bit each */
    uint64_t share_turns[PEN_HOST_SHARES];
    struct pen_shared *busy, **busy_end; /* teams with a collective underway */
} pen_coll;

/* Called before a rank enters a barrier, without the lock. Hands everything that the rank has
 * sent to the network, or returns if it is there already. May poll. */
void pen_coll_hand_over(pen_job *job, bool by_messages);
/* Called under the lock. Finishes the event of a barrier when all messages that have arrived by
 * now are handled. */
void pen_coll_finish_swept(pen_coll *coll, pen_event *event);

/* explain.c: lets reports of waits name the collective that this rank waits for. */
void pen_coll_explain_open(pen_job *job);
/* Traces that this rank enters a barrier or collective. kind: pen_coll_what.kind */
PEN_COLD void pen_coll_trace_entered(const pen_job *job, pen_trace_meet meet, uint64_t team,
                                     uint32_t kind, uint32_t number);
/* For reports: records that this rank enters a barrier. */
static inline void pen_coll_note_entered(const pen_coll *coll, uint32_t kind, uint32_t number)
{
    /* relaxed: nothing is read through it */
    atomic_store_explicit(&coll->entered[kind], number + 1, memory_order_relaxed);
}

#endif
