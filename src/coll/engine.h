/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h: how collectives run.
 *
 * Each member turns its part of a collective into a list of steps: send a piece of memory to a
 * member, receive one, combine two, copy. A step starts when the step it names has completed. All
 * receives of a list are open from the beginning. A long reduction runs in sections, each with its
 * own list, so that the memory it needs beside the client's buffers is bounded. A collective
 * of any other kind is one section.
 *
 * A transfer is named by collective, section, sender and tag. Its first piece is sent as soon as
 * possible. The remaining pieces follow after the receiver's READY, which it sends when it has
 * begun. So a receiver keeps one piece per transfer for a collective that it has not begun. A
 * member sends for at most PEN_COLL_WINDOW collectives beyond those that the receiver is known to
 * have begun (ASK, CREDIT).
 *
 * The lock of the job's pen_coll guards all of it. A thread that runs a collective's steps
 * claims the collective. Steps that take long, or that run the client's code, run under the
 * claim without the lock. If a message started them, they may run under a port's poll lock. */
#ifndef PEN_COLL_ENGINE_H
#define PEN_COLL_ENGINE_H

#include "base/compiler.h"
#include "coll/coll.h"
#include "coll/coll_internal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "rma/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PEN_COLL_WINDOW = 64,                             /* collectives; a power of two */
    PEN_COLL_SECTIONS = 2,                            /* sections of one collective underway at
                                                       * once */
    PEN_COLL_UNSOLICITED_MAX = 2 * PEN_COLL_SECTIONS, /* messages of one collective that a member
                                                       * may send to a peer before the peer has
                                                       * begun */
    PEN_COLL_FIRST_LEN = 8 << 10,    /* bytes: the longest first piece of a transfer */
    PEN_COLL_SECTION_LEN = 64 << 10, /* bytes of a long reduction per section */
    PEN_COLL_EXCLUSIVE = 1 << 4,     /* in pen_coll_what.kind; ... */
    PEN_COLL_TOGETHER_SHIFT = 5,     /* ... there, PEN_COLL_..._TOGETHER begin at this bit */
    PEN_COLL_ORPHANS_MAX = 1024,     /* messages from one member for a team not made here yet */
    PEN_COLL_ORPHANS_PEER_MAX = 16 * PEN_COLL_ORPHANS_MAX, /* ... and from one rank for all teams */
    PEN_COLL_ARGS = 11,                                    /* arguments of the longest message,
                                                            * DATA */
};

/* The properties of a collective on which its members have to agree. Sent with every piece of
 * data. */
typedef struct pen_coll_what {
    uint32_t number; /* on its team, from 0 on, modulo 2^32 */
    uint32_t root;
    uint64_t len;
    uint32_t kind; /* pen_coll_kind | exclusive << 4 | together << 5 | bit number of the type <<
                    * 8 | bit number of the operation << 16 */
} pen_coll_what;

/* Writes for example "a reduction of 16 bytes (I32, ADD) to rank 3", at most
 * PEN_COLL_WHAT_TEXT_MAX long. */
enum { PEN_COLL_WHAT_TEXT_MAX = 128 };
void pen_coll_what_text(const pen_coll_what *what, char *text);

/* ---- steps ---------------------------------------------------------------------------------- */

typedef enum pen_coll_action {
    PEN_COLL_SEND,
    PEN_COLL_RECEIVE,
    PEN_COLL_COMBINE,
    PEN_COLL_COPY
} pen_coll_action;

/* When a step may start: one of these, or the number of an earlier step. A SEND with a number
 * forwards that step's bytes as they become valid. */
enum {
    PEN_COLL_AT_ONCE = -1,
    PEN_COLL_AFTER_DATA = -2, /* all earlier steps but sends are complete */
    PEN_COLL_AFTER_ALL = -3,
};

typedef struct pen_coll_step {
    uint8_t action; /* pen_coll_action */
    uint8_t tag;
    bool complete;
    bool ready; /* SEND: the receiver has sent READY; RECEIVE: we have */
    int32_t after;
    uint32_t peer; /* rank in the team */
    char *to;
    const char *from; /* COMBINE: the left operand; to holds right operand and result */
    size_t len;
    size_t done;     /* bytes from the start that are sent, received or computed */
    uint64_t *early; /* RECEIVE: a bit for each piece received out of order, or NULL */
} pen_coll_step;

typedef struct pen_coll_section {
    bool open;
    uint32_t number;
    size_t offset, len;                  /* its part of the buffers */
    uint32_t entrance;                   /* leading steps that run before all steps but receives */
    uint32_t count, count_max, complete; /* steps; complete: leading steps that are complete */
    uint32_t free_count; /* incomplete steps that do not depend on earlier receives */
    uint32_t *places;    /* hash table of steps in a long list; see engine.c */
    uint32_t places_len;
    pen_coll_step *steps;
    char *scratch;
    size_t scratch_len, scratch_used;
} pen_coll_section;

/* ---- a collective --------------------------------------------------------------------------- */

typedef struct pen_coll_op {
    struct pen_coll_team *coll;
    struct pen_coll_op *next; /* in the list of free or of stalled ops */
    pen_coll_what what;
    pen_event *event;
    bool claimed, again;   /* claimed: a thread runs it; again: it must run once more */
    bool no_room, stalled; /* no_room: a link was full; stalled: in the job's list */
    bool short_of_credit;
    unsigned together; /* PEN_COLL_..._TOGETHER */
    bool settles;      /* when it ends, all members have begun it */
    bool sweeps;       /* a barrier: see pen_coll_finish_swept */
    char *dest;
    const char *source;
    size_t len; /* bytes of a part; in a reduction, of all elements */
    uint32_t root;
    pen_reduction reduction;
    void (*build)(struct pen_coll_op *op, pen_coll_section *section);
    size_t section_len;
    uint32_t section_count, sections_opened, sections_closed;
    pen_coll_section sections[PEN_COLL_SECTIONS]; /* section n at n % PEN_COLL_SECTIONS */
} pen_coll_op;

/* ---- a team's part -------------------------------------------------------------------------- */

typedef struct pen_coll_peer {
    uint32_t begun;  /* collectives that the peer is known to have begun, at least */
    uint32_t asked;  /* the one for which we asked for credit, and it for which it did: numbers; */
    uint32_t wanted; /* valid if ... */
    bool has_asked, has_wanted;
    uint32_t kept; /* messages of the peer kept here for a later collective or section */
} pen_coll_peer;

typedef struct pen_coll_kept pen_coll_kept; /* a message that arrived early */

typedef struct pen_coll_team {
    struct pen_coll_team *next; /* in the job's list */
    pen_team *team;
    pen_job *job;
    uint32_t begun;        /* number of the next collective */
    uint32_t all_begun;    /* collectives that all members have begun */
    uint32_t wanted_count; /* peers with has_wanted */
    uint32_t open_count, table_len;
    pen_coll_op **table; /* collectives underway, at number modulo table_len (a power of two) */
    pen_coll_op *free;
    pen_coll_what recent[PEN_COLL_WINDOW]; /* the last ones begun, at number modulo
                                            * PEN_COLL_WINDOW */
    pen_coll_peer *peers;                  /* by rank */
    struct {                               /* the split-phase barrier of a non-primordial team */
        bool notified;
        pen_event *event;
        uint64_t word, last_result; /* this rank's word; the result of the last one */
    } split;
    uint32_t kept_count;
    pen_coll_kept *kept[PEN_COLL_WINDOW]; /* lists at number modulo PEN_COLL_WINDOW; early.h */
    struct pen_shared *shared;            /* NULL: its members send messages */
} pen_coll_team;

/* The bucket of the job's table of teams that holds this id. */
static inline uint32_t pen_coll_team_bucket(uint64_t id)
{
    return (uint32_t)(id ^ id >> 32) % PEN_COLL_TEAM_BUCKETS;
}

/* ---- engine.c (all under the lock) ---------------------------------------------------------- */

void pen_coll_team_end(pen_coll_team *coll); /* frees the team's part and everything in it */

/* Assigns the next number to a collective that is about to begin, and returns it. */
uint32_t pen_coll_count(pen_coll_team *coll, const pen_coll_what *what);

/* Returns an op that the caller fills in: dest, source, len, root, reduction, build,
 * section_len, section_count, settles, and what except its number. */
pen_coll_op *pen_coll_op_new(pen_coll_team *coll);
/* Begins the op. May drop the lock and take it again. */
void pen_coll_op_begin(pen_coll_op *op);
/* Runs all steps that can run, and frees the op if it is complete. May drop the lock and take it
 * again. */
void pen_coll_op_run(pen_coll_op *op);
/* Finds the team's collective underway with that number, or NULL. */
pen_coll_op *pen_coll_op_find(const pen_coll_team *coll, uint32_t number);
/* Finds the section's incomplete step for that transfer, or NULL. */
pen_coll_step *pen_coll_step_find(const pen_coll_section *section, pen_coll_action action,
                                  uint32_t peer, uint32_t tag);
/* Runs the collectives that wait for credit. */
void pen_coll_run_short(pen_coll_team *coll);
unsigned pen_coll_run_stalled(pen_coll *jobs);

/* Functions that build lists of steps. */
/* reserve: makes room for all scratch of the list. scratch: takes a part of it, aligned to a
 * cache line. */
void pen_coll_scratch_reserve(pen_coll_op *op, pen_coll_section *section, size_t len);
char *pen_coll_scratch(pen_coll_section *section, size_t len);
int32_t pen_coll_send(pen_coll_op *op, pen_coll_section *section, uint32_t peer, uint8_t tag,
                      const char *from, size_t len, int32_t after);
int32_t pen_coll_receive(pen_coll_op *op, pen_coll_section *section, uint32_t peer, uint8_t tag,
                         char *to, size_t len);
int32_t pen_coll_copy(pen_coll_op *op, pen_coll_section *section, char *to, const char *from,
                      size_t len, int32_t after);
/* Starts after all earlier data. len in bytes. */
int32_t pen_coll_combine(pen_coll_op *op, pen_coll_section *section, const char *left, char *right,
                         size_t len);

/* ---- coll_message.c (all under the lock) ----------------------------------------------------- */

void pen_coll_messages_open(pen_job *job);
void pen_coll_orphans_adopt(pen_coll_team *coll); /* takes up messages that came before the team
                                                   * was made */
void pen_coll_kept_free(pen_coll_team *coll);
/* Delivers the kept messages of a section that was just opened. */
void pen_coll_kept_take(pen_coll_op *op, pen_coll_section *section);
/* Compares the kept messages of a collective with the collective that begins. A mismatch ends
 * the job. */
void pen_coll_kept_check(pen_coll_team *coll, const pen_coll_what *what);
/* Sends the next piece. Returns false if there is no room, or if it has to wait for READY or
 * credit. */
bool pen_coll_send_piece(pen_coll_op *op, const pen_coll_section *section, pen_coll_step *step,
                         size_t limit);
/* Ends the job, because team rank `rank` began a different collective. */
PEN_COLD _Noreturn void pen_coll_disagree(const pen_coll_team *coll, uint32_t rank,
                                          const pen_coll_what *theirs, const pen_coll_what *ours);
/* Called after a collective was begun: sends CREDIT to the members that asked for it. */
void pen_coll_answer_asked(pen_coll_team *coll);

/* ---- coll_barrier.c -------------------------------------------------------------------------- */

pen_event *pen_coll_world_barrier_nb(pen_thread *thread);

/* ---- combine.c ------------------------------------------------------------------------------ */

/* Computes right = left operation right, element by element. */
void pen_coll_combine_elements(const pen_reduction *reduction, const void *left, void *right,
                               size_t count);
/* Built-in operations only: out = left operation right. out may be equal to left or right. */
void pen_coll_combine_into(const pen_reduction *reduction, const void *left, const void *right,
                           void *out, size_t count);

/* ---- lists of steps ------------------------------------------------------------------------- */

/* Appends a dissemination to the list. Its tags begin with `tag`. */
void pen_coll_meet(pen_coll_op *op, pen_coll_section *section, uint8_t tag);
void pen_coll_build_barrier(pen_coll_op *op, pen_coll_section *section);
void pen_coll_build_broadcast(pen_coll_op *op, pen_coll_section *section);
void pen_coll_build_gather(pen_coll_op *op, pen_coll_section *section);
void pen_coll_build_scatter(pen_coll_op *op, pen_coll_section *section);
void pen_coll_build_exchange(pen_coll_op *op, pen_coll_section *section);
/* Appends a broadcast of the section, from `from` on the root to `to` on all other members. */
void pen_coll_build_down(pen_coll_op *op, pen_coll_section *section, uint32_t root, uint8_t tag,
                         const char *from, char *to);
void pen_coll_build_reduce(pen_coll_op *op, pen_coll_section *section);
void pen_coll_build_scan(pen_coll_op *op, pen_coll_section *section);

#endif
