/* SPDX-License-Identifier: BSD-3-Clause */
/* shadow.h: the shadow-memory checker: every rank makes random operations, keeps a model of what
 * they must do, and compares each result with it.
 *
 * Ownership. Each thread of each rank owns a stripe of every rank's segment: nobody else writes
 * there, so its model is exact without any agreement between ranks. A stripe is filled from its
 * beginning to its end; what was put is read back, compared, and only then written over, so that no
 * put escapes. Gets read what the thread's own finished puts wrote, or the library of a rank:
 * memory that is constant between barriers. Active messages carry bytes and arguments that follow
 * from their number; the receiver compares them at once, and counts and sums of what was sent and
 * what was seen are compared at the end of each phase. Atomics obey algebra, collectives results
 * that every rank can work out.
 *
 * Each rank has a second endpoint, with memory of its own, laid out alike: what is said above of
 * stripes and the library holds for both places.
 *
 * A run is phases: every thread makes its operations, then all meet, the owner of each segment
 * compares all of its stripes with what their writers say they hold, and all meet again.
 *
 * What a thread does follows from seed, rank and thread alone, never from time, so a run repeats;
 * --ops makes a shorter one, a prefix of it. */
#ifndef PEN_TESTS_SHADOW_SHADOW_H
#define PEN_TESTS_SHADOW_SHADOW_H

#include <gasnet.h>
#include <gasnet_ratomic.h>

#include "random.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    RANKS_MAX = 16,
    THREADS_MAX = 8,
    OCTAVES = 20, /* lengths are 1 .. 2^OCTAVES bytes */
    LEN_MAX = 1 << OCTAVES,
    GUARD_LEN = 16, /* bytes around what is received, which nobody may touch */
    GAP_MAX = 40,   /* bytes between puts, which nobody may touch either */
    POOL_LEN = 4 << 20,
    LIBRARY_LEN = LEN_MAX + (64 << 10),
    STRIPE_LEN = (2 << 20) + (256 << 10),
    LANDING_LEN = LEN_MAX + (64 << 10), /* for Long messages of one thread */
    DESK_LEN = 10 << 20,
    PENDING_MAX = 128,
    LOG_MAX = 4096, /* puts into a stripe before it is read back */
    KINDS_MAX = 48,
    TEAMS_MAX = 8,
    PLACES = 2 /* endpoints of a rank whose memory others use: the primordial one, another */
};

typedef enum memory_mode { MEMORY_MIXED, MEMORY_ARENA, MEMORY_OWN } memory_mode;

typedef struct options {
    uint64_t seed, ops;        /* ops: of the whole job */
    unsigned threads, burst;   /* of a rank; operations at one length before the next is drawn */
    unsigned phase_ops, stall; /* of a thread and phase; seconds without progress that are a hang */
    memory_mode memory;
    bool quiet;
} options;

/* ---- a thread of a rank ---------------------------------------------------------------------- */

typedef struct put_record { /* where an operation wrote, for those who read about a mismatch */
    uint32_t at, len;
    uint64_t op;
} put_record;

/* This thread's part of one rank's segment. */
typedef struct stripe {
    gex_Rank_t target;
    unsigned place;
    unsigned char *model; /* what it must hold */
    unsigned char *there; /* its address in the target's memory */
    size_t top;           /* below: written since it was last read back */
    size_t high;          /* below: ever written */
    size_t settled;       /* below: all puts are done, so it can be read */
    unsigned busy;        /* puts in flight */
    unsigned unchecked;   /* operations since it was read back */
    unsigned log_count;
    put_record *log;
} stripe;

typedef enum pending_how {
    BY_EVENT,  /* an event of its own */
    BY_NBI,    /* the thread's implicit operations */
    BY_REGION, /* the event of an access region, itself a pending */
    BY_REPLY,  /* the reply to the message it is */
    BY_NOTHING /* finished */
} pending_how;

/* An operation, or access region, in flight. */
struct worker;
typedef struct pending {
    gex_Event_t event, leaf;
    pending_how how;
    gex_EC_t category;             /* BY_NBI: what it is waited for with */
    bool quick_source;             /* BY_NBI: source is free with GEX_EC_LC already */
    bool own_thread;               /* GASNet-1's handles are for who made them */
    uint64_t op;                   /* number of the operation */
    stripe *written;               /* puts */
    size_t at, at_len;             /* ... what they wrote of it */
    const unsigned char *expected; /* gets: what len bytes at found must be */
    unsigned char *found;
    size_t len;
    unsigned char *source; /* scribbled over as soon as that is allowed */
    size_t source_len;
    void (*check)(struct worker *w, struct pending *p); /* or this says whether it is right */
    uint64_t number;                                    /* for check, as are the next three */
    unsigned target, cell;
    gex_OP_t operation;
    unsigned char *busy;     /* cleared when it is done: a cell that may be used again */
    unsigned first, members; /* regions: which pendings are part of it */
} pending;

typedef struct am_tally { /* messages: how many, and the sum of what identifies them */
    uint64_t count, sum;
} am_tally;

enum {
    CELL_TYPES = 6,  /* of remote atomics */
    CELLS_EACH = 8,  /* that one thread owns in one rank's memory, of each type */
    CELLS_SHARED = 7 /* that all change together */
};

/* What a thread knows of the cells in one rank's memory. */
typedef struct atomic_cells {
    uint64_t own[CELL_TYPES][CELLS_EACH]; /* values of the first bytes */
    unsigned char busy[CELL_TYPES][CELLS_EACH];
    uint64_t shared[CELLS_SHARED], increments; /* what this thread contributed */
    uint64_t last_seen;                        /* of the cell that is changed by CAS */
    unsigned char bit_busy;
} atomic_cells;

/* Which of its endpoints an operation between two ranks uses. */
typedef enum elsewhere {
    ELSEWHERE_NOT,  /* the primordial ones */
    ELSEWHERE_HERE, /* here another one */
    ELSEWHERE_THERE /* there another one, here any */
} elsewhere;

typedef struct worker {
    unsigned index;
    random_state random;
    unsigned kind;         /* of the operation being made */
    uint64_t op;           /* operations so far; the number of the last one */
    _Atomic uint64_t sign; /* of life: changes with each operation */
    uint64_t unchecked;    /* operations whose result is still to be compared */
    uint64_t remote;       /* of op: went to other ranks */
    uint64_t counts[KINDS_MAX], lens[OCTAVES + 1];
    stripe stripes[PLACES][RANKS_MAX];
    elsewhere elsewhere; /* where the operations being made begin and end */
    bool tells_target;   /* the scattered put being made tells its target when it is there */
    pending pendings[PENDING_MAX];
    unsigned pending_count;
    stripe *last_written; /* by a put that is done; NULL: read back already */
    size_t last_at, last_len;
    unsigned char *desk; /* buffers of operations in flight, freed when none is */
    size_t desk_used;
    gex_TM_t
        team; /* of all ranks; the collectives of this thread are on it, and those made of it */
    /* active messages */
    uint32_t am_sequence;
    am_tally sent[RANKS_MAX], sent_bare[RANKS_MAX], told[RANKS_MAX];
    am_tally replies; /* expected */
    size_t landing_used[RANKS_MAX], reply_used;
    unsigned bare_longs[RANKS_MAX];
    unsigned unchecked_until_end; /* of unchecked: those that the end of the phase compares */
    /* atomics */
    atomic_cells cells[RANKS_MAX];
    uint64_t results[PENDING_MAX]; /* of operations in flight, by number of the pending */
} worker;

/* ---- a rank: constant while threads run ------------------------------------------------------ */

typedef struct team_entry { /* a team for operations between two ranks */
    gex_TM_t team;
    gex_Rank_t ranks[RANKS_MAX]; /* by job rank; GEX_RANK_INVALID: not a member */
} team_entry;

typedef struct shadow_state {
    options options;
    const char *program;
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t world;
    gex_Rank_t rank, size;
    team_entry teams[TEAMS_MAX];
    unsigned team_count;
    unsigned char *bases[RANKS_MAX];   /* of the ranks' shared memory, as they see it */
    unsigned char *seconds[RANKS_MAX]; /* of that of their second endpoints */
    unsigned char *mine;               /* ours */
    size_t shared_len;
    unsigned char *pool; /* POOL_LEN random bytes, the same on every rank */
    worker *workers;
    uint64_t phase;
} shadow_state;

extern shadow_state shadow;

/* ---- kinds of operations --------------------------------------------------------------------- */

/* share: of all operations, in thousandths, at least SHARE_MIN. run: makes at least one operation,
 * at most `most`. */
typedef struct kind {
    const char *name;
    unsigned share;
    void (*run)(worker *w, unsigned most);
} kind;

enum { SHARE_MIN = 20 };

extern const kind kinds[];
extern const unsigned kind_count, kind_alone_count; /* those in front: a thread makes them alone */

/* ---- mismatch.c ------------------------------------------------------------------------------ */

/* Says what is wrong, and how to repeat it, and ends the job. */
_Noreturn void mismatch(const worker *w, uint64_t op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void mismatch_at(gex_Rank_t rank, unsigned thread, uint64_t op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- model.c --------------------------------------------------------------------------------- */

void compare(const worker *w, uint64_t op, const char *what, const void *found,
             const void *expected, size_t len);
uint64_t hash_bytes(const unsigned char *bytes, size_t len);

/* Every operation begins with this: it gets its number. */
void op_begin(worker *w, gex_Rank_t target, size_t len);
/* The results of so many operations have been compared. */
static inline void op_checked(worker *w, unsigned count) { w->unchecked -= count; }

/* Polls; now and then gives the processor to whoever has to do something for us. */
void poll_once(unsigned *polls);

gex_Rank_t draw_target(worker *w); /* another rank, seven times of eight */
/* A team that has the target, and its rank there. */
gex_TM_t draw_team(worker *w, gex_Rank_t target, gex_Rank_t *rank);

/* What the next few operations have in common. */
typedef struct burst {
    gex_Rank_t target;
    unsigned octave, count;
} burst;

/* Draws a length and a target, and makes room for `factor` buffers of that length on the desk for
 * each operation. May finish what is in flight. */
burst burst_begin(worker *w, unsigned most, unsigned factor);
burst burst_of(worker *w, unsigned most, unsigned factor, unsigned octave);

/* Buffers of the thread, guarded, of any alignment; room has been made by burst_begin. */
unsigned char *desk_take(worker *w, size_t len);
unsigned char *desk_take_aligned(worker *w, size_t len); /* ... for numbers of any type */
void desk_check(const worker *w, uint64_t op, const unsigned char *buffer, size_t len);

/* Room for puts of so many bytes in all; may finish what is in flight. */
void stripe_reserve(worker *w, gex_Rank_t target, size_t len, unsigned count);
/* That which operations on the target write to now. */
stripe *stripe_for(worker *w, gex_Rank_t target);
/* The next part of the stripe in the target's memory; belongs to the operation being made. */
size_t stripe_take(worker *w, stripe *s, size_t len);
/* A readable part of that length: *expected is what it holds. Its address at the target. */
unsigned char *readable(worker *w, gex_Rank_t target, size_t len, const unsigned char **expected);
void stripe_settled(stripe *s); /* the operation that took a part of it is done */
void stripe_read_back(worker *w, stripe *s);
/* Gets what the last finished put wrote: whoever is told that it is done has to see it. */
void stripe_read_last(worker *w);
const unsigned char *pool_draw(worker *w, size_t len);
/* Random bytes; sometimes at the desk, and then *scribble is their address: they are to be
 * overwritten as soon as the operation lets go of them. */
const unsigned char *source_draw(worker *w, size_t len, unsigned char **scribble);

void model_open(worker *w);
void model_close(worker *w);

/* Numbers that are the same for the threads of one number on all ranks: what they do together. */
static inline random_state random_together(const worker *w)
{
    return (random_state){ random_mix2(random_mix2(shadow.options.seed, w->op), 1000 + w->index) };
}

/* ---- pending.c ------------------------------------------------------------------------------- */

pending *pending_add(worker *w, pending_how how);
/* Synchronises everything in flight, in ways drawn at random, and compares. */
void pending_finish_all(worker *w);
void pending_finish_some(worker *w);                /* explicit or implicit ones, or neither */
void pending_finish_for(worker *by, worker *owner); /* events of another thread */
/* One that is over already, or will be with its event: for those who wait for it themselves. */
void pending_done(worker *w, pending *p);
void scribble(unsigned char *source, size_t len);

/* ---- memory.c: what every rank's shared memory has where ------------------------------------- */

/* What the writer says about its part of a segment, put there at the end of a phase. */
typedef struct row {
    uint64_t phase;
    uint64_t extents[PLACES], hashes[PLACES]; /* of the stripes */
    am_tally sent, sent_bare, told;
    uint64_t shared[CELLS_SHARED], increments; /* contributions to the shared cells */
} row;

/* What a thread did, put to rank 0 in the place of its row when all is over. */
typedef struct report {
    uint64_t ops, remote, counts[KINDS_MAX], lens[OCTAVES + 1];
} report;

enum { ROW_LEN = 1024, COMPLAINT_AT = 768 }; /* a complaint is a phase, counted from 1 */

size_t memory_len(gex_Rank_t size, unsigned threads);
unsigned char *row_of(gex_Rank_t target, gex_Rank_t writer, unsigned thread);
unsigned char *library_of(unsigned place, gex_Rank_t target);
unsigned char *cells_of(gex_Rank_t target, gex_Rank_t writer, unsigned thread);
unsigned char *shared_cells_of(gex_Rank_t target);
void row_read(row *said, gex_Rank_t from, unsigned thread);
unsigned char *stripe_of(unsigned place, gex_Rank_t target, gex_Rank_t writer, unsigned thread);
unsigned char *landing_of(gex_Rank_t target, gex_Rank_t writer, unsigned thread);
unsigned char *replies_of(gex_Rank_t target, unsigned thread);
/* What the library of a rank holds in this phase. */
const unsigned char *library_bytes(unsigned place, gex_Rank_t target);
void library_write(void);
void memory_open(void);
/* A segment of the library's memory, or of the client's own; its address. */
void *segment_make(gex_EP_t endpoint, size_t len, bool own);
bool mine_is_own(unsigned place);
size_t second_len(void);

/* ---- meet.c: threads of a rank, and ranks ---------------------------------------------------- */

void meet_threads(void);
void meet_ranks(const worker *w); /* all threads of all ranks */
void phase_end(worker *w);        /* all compare what they own */
void watch_start(void);           /* ends the job when nothing happens any more */

/* ---- kinds ----------------------------------------------------------------------------------- */

void rma_put_blocking(worker *w, unsigned most);
void rma_put_nb(worker *w, unsigned most);
void rma_put_nbi(worker *w, unsigned most);
void rma_put_value(worker *w, unsigned most);
void rma_get_blocking(worker *w, unsigned most);
void rma_get_nb(worker *w, unsigned most);
void rma_get_nbi(worker *w, unsigned most);
void rma_get_value(worker *w, unsigned most);
void rma_region(worker *w, unsigned most);
void legacy_put(worker *w, unsigned most);
void legacy_get(worker *w, unsigned most);
void vis_vector(worker *w, unsigned most);
void vis_indexed(worker *w, unsigned most);
void vis_strided(worker *w, unsigned most);
void vis_legacy(worker *w, unsigned most);
void vis_told(worker *w, unsigned most);
void other_endpoints(worker *w, unsigned most);
void am_short(worker *w, unsigned most);
void am_medium(worker *w, unsigned most);
void am_long(worker *w, unsigned most);
void am_long_async(worker *w, unsigned most);
void am_negotiated(worker *w, unsigned most);
void atomic_own(worker *w, unsigned most);
void atomic_shared(worker *w, unsigned most);
void coll_barrier(worker *w, unsigned most);
void coll_broadcast(worker *w, unsigned most);
void coll_parts(worker *w, unsigned most);
void coll_reduce(worker *w, unsigned most);
void team_life(worker *w, unsigned most);

void am_register(void);
void am_wait_replies(worker *w); /* all that this thread expects */
void am_check(const worker *w, gex_Rank_t from, unsigned thread, const row *said);
void am_check_bare(gex_Rank_t from, const am_tally *said);
void am_check_bare_replies(void);
void atomics_own_open(void);
void atomics_own_close(void);
void atomics_open(void);
void atomics_close(void);
void atomics_check_own(worker *w); /* as the writer, when nobody changes them */
void atomics_check_shared(void);   /* as the owner, likewise */
void vis_told_register(void);
void vis_told_wait(const worker *w); /* until targets have looked at what they were told of */
void vis_told_check(gex_Rank_t from, unsigned thread, const row *said);
void endpoints_open(void);
void endpoints_close(void);
/* The team by which to read the second memory of a rank, by job rank. */
gex_TM_t endpoint_reader(void);
/* A team with the endpoints that are asked for, and the target's rank there. */
gex_TM_t endpoint_team(worker *w, gex_Rank_t target, gex_Rank_t *rank);
void teams_open(void);
void teams_close(void);

#endif
