/* SPDX-License-Identifier: BSD-3-Clause */
/* shadow.h: the shadow-memory checker: every rank makes random operations, keeps a model of their
 * effects, and compares each result with it.
 *
 * Ownership. Each thread of each rank owns a stripe of every rank's segment. Only the owner writes
 * there, so its model is exact without agreement between ranks. A stripe is filled from its
 * beginning to its end; the bytes are read back, compared, and only then overwritten, so that
 * every put is checked. Gets read bytes of the thread's own finished puts, or the library of a
 * rank: memory that is constant between barriers. Active messages carry bytes and arguments that
 * follow from their number. The receiver compares them at once; at the end of each phase, counts
 * and sums of sent and received messages are compared. Atomics obey algebra. Collectives have
 * results that every rank can compute.
 *
 * Each rank has a second endpoint with its own memory of the same layout: stripes and the library
 * exist in both places.
 *
 * A run has phases: every thread makes its operations, then all threads meet, the owner of each
 * segment compares all of its stripes with their writers' rows, and all meet again.
 *
 * The operations of a thread follow from seed, rank and thread alone, never from time, so a run
 * can be repeated; a smaller --ops makes a prefix of it. */
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
    GUARD_LEN = 16, /* bytes around received data, which must not change */
    GAP_MAX = 40,   /* bytes between puts, which must not change either */
    POOL_LEN = 4 << 20,
    LIBRARY_LEN = LEN_MAX + (64 << 10),
    STRIPE_LEN = (2 << 20) + (256 << 10),
    LANDING_LEN = LEN_MAX + (64 << 10), /* for Long messages of one thread */
    DESK_LEN = 10 << 20,
    PENDING_MAX = 128,
    LOG_MAX = 4096, /* puts into a stripe before it is read back */
    KINDS_MAX = 48,
    TEAMS_MAX = 8,
    PLACES = 2 /* endpoints of a rank with memory for its peers: the primordial one, a second one */
};

typedef enum memory_mode { MEMORY_MIXED, MEMORY_ARENA, MEMORY_OWN } memory_mode;

typedef struct options {
    uint64_t seed, ops; /* ops: of the whole job */
    unsigned threads,
        burst; /* threads of a rank; operations at one length before the next is drawn */
    unsigned phase_ops,
        stall; /* operations of a thread and phase; seconds without progress that are a hang */
    memory_mode memory;
    bool quiet;
} options;

/* ---- a thread of a rank ---------------------------------------------------------------------- */

typedef struct put_record { /* the place of an operation's bytes, for the report of a mismatch */
    uint32_t at, len;
    uint64_t op;
} put_record;

/* This thread's part of one rank's segment. */
typedef struct stripe {
    gex_Rank_t target;
    unsigned place;
    unsigned char *model; /* its contents, all puts done */
    unsigned char *there; /* its address in the target's memory */
    size_t top;           /* bytes below were written since the stripe was last read back */
    size_t high;          /* bytes below were written at any time */
    size_t settled;       /* below this all puts are done, so it can be read */
    unsigned busy;        /* puts in flight */
    unsigned unchecked;   /* operations since the stripe was read back */
    unsigned log_count;
    put_record *log;
} stripe;

typedef enum pending_how {
    BY_EVENT,  /* an event of its own */
    BY_NBI,    /* the thread's implicit operations */
    BY_REGION, /* the event of an access region, itself a pending */
    BY_REPLY,  /* the reply to its message */
    BY_NOTHING /* finished */
} pending_how;

/* An operation, or access region, in flight. */
struct worker;
typedef struct pending {
    gex_Event_t event, leaf;
    pending_how how;
    gex_EC_t category;             /* BY_NBI: category to wait for it with */
    bool quick_source;             /* BY_NBI: GEX_EC_LC frees the source already */
    bool own_thread;               /* GASNet-1: only the thread that made a handle waits for it */
    uint64_t op;                   /* number of the operation */
    stripe *written;               /* puts */
    size_t at, at_len;             /* ... what they wrote of it */
    const unsigned char *expected; /* gets: what len bytes at found must be */
    unsigned char *found;
    size_t len;
    unsigned char *source; /* scribbled over as soon as the library releases it */
    size_t source_len;
    void (*check)(struct worker *w, struct pending *p); /* compares the result instead */
    uint64_t number; /* for check, as are the next three fields */
    unsigned target, cell;
    gex_OP_t operation;
    unsigned char *busy;     /* cleared when the operation is done: its cell is free */
    unsigned first, members; /* regions: which pendings are part of it */
} pending;

typedef struct am_tally { /* messages: their number, and the sum of their digests */
    uint64_t count, sum;
} am_tally;

enum {
    CELL_TYPES = 6,  /* types of remote atomics */
    CELLS_EACH = 8,  /* cells of each type that one thread owns in one rank's memory */
    CELLS_SHARED = 7 /* cells that all threads change */
};

/* A thread's knowledge of the cells in one rank's memory. */
typedef struct atomic_cells {
    uint64_t own[CELL_TYPES][CELLS_EACH]; /* values of the first bytes */
    unsigned char busy[CELL_TYPES][CELLS_EACH];
    uint64_t shared[CELLS_SHARED], increments; /* contributions of this thread */
    uint64_t last_seen;                        /* last value seen in the CAS cell */
    unsigned char bit_busy;
} atomic_cells;

/* The endpoints that an operation between two ranks uses. */
typedef enum elsewhere {
    ELSEWHERE_NOT,  /* the primordial ones */
    ELSEWHERE_HERE, /* a second one here */
    ELSEWHERE_THERE /* a second one there, any here */
} elsewhere;

typedef struct worker {
    unsigned index;
    random_state random;
    unsigned kind;         /* kind of the operation being made */
    uint64_t op;           /* operations so far; the number of the last one */
    _Atomic uint64_t sign; /* sign of life: changes with each operation */
    uint64_t unchecked;    /* operations whose result is still to be compared */
    uint64_t remote;       /* operations of `op` that went to other ranks */
    uint64_t counts[KINDS_MAX], lens[OCTAVES + 1];
    stripe stripes[PLACES][RANKS_MAX];
    elsewhere elsewhere; /* endpoints of the operations being made */
    bool tells_target;   /* the scattered put being made notifies its target */
    pending pendings[PENDING_MAX];
    unsigned pending_count;
    stripe *last_written; /* stripe of the last finished put; NULL: read back already */
    size_t last_at, last_len;
    unsigned char *desk; /* buffers of operations in flight; freed when all are done */
    size_t desk_used;
    gex_TM_t team; /* all ranks; this thread's collectives use it */
    /* active messages */
    uint32_t am_sequence;
    am_tally sent[RANKS_MAX], sent_bare[RANKS_MAX], told[RANKS_MAX];
    am_tally replies; /* expected */
    size_t landing_used[RANKS_MAX], reply_used;
    unsigned bare_longs[RANKS_MAX];
    unsigned unchecked_until_end; /* part of unchecked: compared at the end of the phase */
    /* atomics */
    atomic_cells cells[RANKS_MAX];
    uint64_t results[PENDING_MAX]; /* operations in flight, by number of the pending */
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
    unsigned char *bases[RANKS_MAX];   /* team of the ranks' shared memory */
    unsigned char *seconds[RANKS_MAX]; /* team of the ranks' second endpoints */
    unsigned char *mine;               /* ours */
    size_t shared_len;
    unsigned char *pool; /* POOL_LEN random bytes, the same on every rank */
    worker *workers;
    uint64_t phase;
} shadow_state;

extern shadow_state shadow;

/* ---- kinds of operations --------------------------------------------------------------------- */

/* share: thousandths of all operations, at least SHARE_MIN. run: makes at least one operation, at
 * most `most`. */
typedef struct kind {
    const char *name;
    unsigned share;
    void (*run)(worker *w, unsigned most);
} kind;

enum { SHARE_MIN = 20 };

extern const kind kinds[];
extern const unsigned kind_count, kind_alone_count; /* the first ones: a thread makes them alone */

/* ---- mismatch.c ------------------------------------------------------------------------------ */

/* Reports a mismatch and how to repeat it, and ends the job. */
_Noreturn void mismatch(const worker *w, uint64_t op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void mismatch_at(gex_Rank_t rank, unsigned thread, uint64_t op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- model.c --------------------------------------------------------------------------------- */

void compare(const worker *w, uint64_t op, const char *what, const void *found,
             const void *expected, size_t len);
uint64_t hash_bytes(const unsigned char *bytes, size_t len);

/* Begins an operation and gives it its number. Every operation calls it. */
void op_begin(worker *w, gex_Rank_t target, size_t len);
/* Notes that the results of `count` operations have been compared. */
static inline void op_checked(worker *w, unsigned count) { w->unchecked -= count; }

/* Polls; at intervals yields the processor to threads that this one waits for. */
void poll_once(unsigned *polls);

gex_Rank_t draw_target(worker *w); /* another rank, seven times of eight */
/* Draws a team that has the target, and its rank there. */
gex_TM_t draw_team(worker *w, gex_Rank_t target, gex_Rank_t *rank);

/* The common parameters of the next few operations. */
typedef struct burst {
    gex_Rank_t target;
    unsigned octave, count;
} burst;

/* Draws a length and a target, and makes room for `factor` buffers of that length on the desk for
 * each operation. May finish operations in flight. */
burst burst_begin(worker *w, unsigned most, unsigned factor);
burst burst_of(worker *w, unsigned most, unsigned factor, unsigned octave);

/* Takes a guarded buffer of any alignment. burst_begin must have made room. */
unsigned char *desk_take(worker *w, size_t len);
unsigned char *desk_take_aligned(worker *w, size_t len); /* ... for numbers of any type */
void desk_check(const worker *w, uint64_t op, const unsigned char *buffer, size_t len);

/* Makes room for puts of `len` bytes in all; may finish operations in flight. */
void stripe_reserve(worker *w, gex_Rank_t target, size_t len, unsigned count);
/* Returns the stripe that operations on the target write to now. */
stripe *stripe_for(worker *w, gex_Rank_t target);
/* Takes the next part of the stripe in the target's memory for the operation being made. */
size_t stripe_take(worker *w, stripe *s, size_t len);
/* Finds a readable part of that length. *expected is its contents. Returns its address at the
 * target. */
unsigned char *readable(worker *w, gex_Rank_t target, size_t len, const unsigned char **expected);
void stripe_settled(stripe *s); /* the operation on a part of it is done */
void stripe_read_back(worker *w, stripe *s);
/* Gets the bytes of the last finished put: a thread that learns of its end must see them. */
void stripe_read_last(worker *w);
const unsigned char *pool_draw(worker *w, size_t len);
/* Draws random bytes. If they lie at the desk, *scribble is their address: they must be
 * overwritten as soon as the operation releases them. */
const unsigned char *source_draw(worker *w, size_t len, unsigned char **scribble);

void model_open(worker *w);
void model_close(worker *w);

/* Draws numbers that are equal for the threads of one number on all ranks, for collectives. */
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
/* Marks an operation that is done, or will be with its event, for threads that wait for it
 * themselves. */
void pending_done(worker *w, pending *p);
void scribble(unsigned char *source, size_t len);

/* ---- memory.c: what every rank's shared memory has where ------------------------------------- */

/* A writer's report about its part of a segment, put there at the end of a phase. */
typedef struct row {
    uint64_t phase;
    uint64_t extents[PLACES], hashes[PLACES]; /* for the stripes */
    am_tally sent, sent_bare, told;
    uint64_t shared[CELLS_SHARED], increments; /* contributions to the shared cells */
} row;

/* A thread's results, put to rank 0 in the place of its row at the end. */
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
/* Returns the contents of a rank's library in this phase. */
const unsigned char *library_bytes(unsigned place, gex_Rank_t target);
void library_write(void);
void memory_open(void);
/* Makes a segment of the library's memory, or of the client's; returns its address. */
void *segment_make(gex_EP_t endpoint, size_t len, bool own);
bool mine_is_own(unsigned place);
size_t second_len(void);

/* ---- meet.c: threads of a rank, and ranks ---------------------------------------------------- */

void meet_threads(void);
void meet_ranks(const worker *w); /* all threads of all ranks */
void phase_end(worker *w);        /* all compare what they own */
void watch_start(void);           /* ends the job if there is no progress */

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
void am_wait_replies(worker *w); /* all replies to this thread */
void am_check(const worker *w, gex_Rank_t from, unsigned thread, const row *said);
void am_check_bare(gex_Rank_t from, const am_tally *said);
void am_check_bare_replies(void);
void atomics_own_open(void);
void atomics_own_close(void);
void atomics_open(void);
void atomics_close(void);
void atomics_check_own(worker *w); /* as the writer, after all changes */
void atomics_check_shared(void);   /* as the owner, after all changes */
void vis_told_register(void);
void vis_told_wait(const worker *w); /* until targets have checked all puts that notified them */
void vis_told_check(gex_Rank_t from, unsigned thread, const row *said);
void endpoints_open(void);
void endpoints_close(void);
/* Returns the team for reading the second memory of a rank, by job rank. */
gex_TM_t endpoint_reader(void);
/* Returns a team with the endpoints that were drawn, and the target's rank there. */
gex_TM_t endpoint_team(worker *w, gex_Rank_t target, gex_Rank_t *rank);
void teams_open(void);
void teams_close(void);

#endif
