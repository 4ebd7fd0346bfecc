/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h: how collectives run. Each member turns its part of a collective into a list of steps:
 * send a piece of memory to a member, receive one, combine two, copy. A step starts when what it
 * names has happened; all receives of a list stand open from its beginning. A long reduction is
 * done in sections, each with a list of its own, so that what it needs beside the client's buffers
 * is bounded; everything else is one section.
 *
 * A transfer is named by collective, section, sender and tag. Its first piece goes as soon as it
 * can, the rest when the receiver has answered READY, which it does when it has begun. So what a
 * receiver keeps for a collective that it has not begun is one piece for each transfer; and a
 * member sends for no collective more than PEN_COLL_WINDOW beyond those that it knows the receiver
 * to have begun (ASK, CREDIT).
 *
 * The lock of the job's pen_coll guards all of it. Who runs a collective's steps claims it; steps
 * that take long, or that run the client's code, run under the claim, not under the lock; under a
 * port's poll lock they may run, when a message brought them about. */
#ifndef PEN_COLL_ENGINE_H
#define PEN_COLL_ENGINE_H

#include "am/am.h"
#include "coll/coll.h"
#include "coll/coll_internal.h"

enum {
    PEN_COLL_WINDOW = 64,                             /* collectives; a power of two */
    PEN_COLL_SECTIONS = 2,                            /* of one collective, underway at once */
    PEN_COLL_UNSOLICITED_MAX = 2 * PEN_COLL_SECTIONS, /* messages of one collective that one member
                                                         may send another before it has begun */
    PEN_COLL_FIRST_LEN = 8 << 10,    /* bytes: the longest first piece of a transfer */
    PEN_COLL_SECTION_LEN = 64 << 10, /* bytes of a long reduction that go together */
    PEN_COLL_EXCLUSIVE = 1 << 4,     /* in pen_coll_what.kind ... */
    PEN_COLL_TOGETHER_SHIFT = 5,     /* ... where PEN_COLL_..._TOGETHER stand from this bit on */
    PEN_COLL_ORPHANS_MAX = 1024, /* messages of one member to another of a team not made here yet */
    PEN_COLL_ORPHANS_PEER_MAX = 16 * PEN_COLL_ORPHANS_MAX, /* ... and of one rank for all teams */
    PEN_COLL_ARGS = 11,                                    /* of a data message, the longest */
};

/* What a collective is, as far as its members have to agree. Travels with every piece of data. */
typedef struct pen_coll_what {
    uint32_t number; /* on its team, from 0 on, modulo 2^32 */
    uint32_t root;
    uint64_t len;
    uint32_t kind; /* pen_coll_kind | exclusive << 4 | together << 5 | number of type's bit << 8 |
                      of operation's << 16 */
} pen_coll_what;

/* "a reduction of 16 bytes (I32, ADD) to rank 3": of length PEN_COLL_WHAT_TEXT_MAX at most. */
enum { PEN_COLL_WHAT_TEXT_MAX = 128 };
void pen_coll_what_text(const pen_coll_what *what, char *text);

/* ---- steps ---------------------------------------------------------------------------------- */

typedef enum pen_coll_action {
    PEN_COLL_SEND,
    PEN_COLL_RECEIVE,
    PEN_COLL_COMBINE,
    PEN_COLL_COPY
} pen_coll_action;

/* When a step may start: the number of an earlier step, whose bytes it hands on as they become
 * valid (SEND only), or one of these. */
enum {
    PEN_COLL_AT_ONCE = -1,
    PEN_COLL_AFTER_DATA = -2, /* all earlier steps but sends are complete */
    PEN_COLL_AFTER_ALL = -3,
};

typedef struct pen_coll_step {
    uint8_t action; /* pen_coll_action */
    uint8_t tag;
    bool complete;
    bool ready; /* SEND: the receiver said so; RECEIVE: we did */
    int32_t after;
    uint32_t peer; /* rank in the team */
    char *to;
    const char *from; /* COMBINE: the left operand; to is right operand and result */
    size_t len;
    size_t done;     /* so many bytes from the start are sent, received, made */
    uint64_t *early; /* RECEIVE: pieces that came out of order, a bit each; else NULL */
} pen_coll_step;

typedef struct pen_coll_section {
    bool open;
    uint32_t number;
    size_t offset, len;                  /* which part of the buffers it is */
    uint32_t entrance;                   /* so many steps come before all others but receives */
    uint32_t count, count_max, complete; /* steps; so many from the start are complete */
    uint32_t free_count; /* incomplete ones that may run whatever earlier receives wait for */
    uint32_t *places;    /* of steps in a long list, by a hash of their transfers; see engine.c */
    uint32_t places_len;
    pen_coll_step *steps;
    char *scratch;
    size_t scratch_len, scratch_used;
} pen_coll_section;

/* ---- a collective --------------------------------------------------------------------------- */

typedef struct pen_coll_op {
    struct pen_coll_team *coll;
    struct pen_coll_op *next; /* free ones; stalled ones */
    pen_coll_what what;
    pen_event *event;
    bool claimed, again;   /* somebody runs it; somebody else wants it run once more */
    bool no_room, stalled; /* a link took no more; stands in the job's list of such ops */
    bool short_of_credit;
    unsigned together; /* PEN_COLL_..._TOGETHER */
    bool settles;      /* its end shows that all members have begun it */
    bool sweeps;       /* a barrier: see pen_coll_finish_swept */
    char *dest;
    const char *source;
    size_t len; /* of a part; of a reduction: of all */
    uint32_t root;
    pen_reduction reduction;
    void (*build)(struct pen_coll_op *op, pen_coll_section *section);
    size_t section_len;
    uint32_t section_count, sections_opened, sections_closed;
    pen_coll_section sections[PEN_COLL_SECTIONS]; /* section n at n % PEN_COLL_SECTIONS */
} pen_coll_op;

/* ---- a team's part -------------------------------------------------------------------------- */

typedef struct pen_coll_peer {
    uint32_t begun;  /* it has begun at least so many collectives */
    uint32_t asked;  /* the one for which we asked for credit, and it for which it did: numbers; */
    uint32_t wanted; /* valid if ... */
    bool has_asked, has_wanted;
    uint32_t kept; /* messages of it that wait here for a collective or section to begin */
} pen_coll_peer;

typedef struct pen_coll_kept pen_coll_kept; /* a message that came early */

typedef struct pen_coll_team {
    struct pen_coll_team *next; /* of the job */
    pen_team *team;
    pen_job *job;
    uint32_t begun;        /* number of the next collective */
    uint32_t all_begun;    /* all members have begun so many */
    uint32_t wanted_count; /* peers with has_wanted */
    uint32_t open_count, table_len;
    pen_coll_op **table; /* those underway, by number modulo table_len, a power of two */
    pen_coll_op *free;
    pen_coll_what recent[PEN_COLL_WINDOW]; /* what the last ones begun were, by number */
    pen_coll_peer *peers;                  /* by rank */
    struct {                               /* the split-phase barrier of a team not primordial */
        bool notified;
        pen_event *event;
        uint64_t word, last_result; /* what was brought and what comes back; of the last one */
    } split;
    uint32_t kept_count;
    pen_coll_kept *kept[PEN_COLL_WINDOW]; /* by number modulo that: the last ones; early.h */
    struct pen_shared *shared;            /* NULL: its members send messages */
} pen_coll_team;

/* Where the job's list of such teams begins. */
static inline uint32_t pen_coll_team_bucket(uint64_t id)
{
    return (uint32_t)(id ^ id >> 32) % PEN_COLL_TEAM_BUCKETS;
}

/* ---- engine.c (all under the lock) ---------------------------------------------------------- */

void pen_coll_team_end(pen_coll_team *coll); /* frees it and everything of it */

/* Counts a collective of the team that is about to begin, and answers its number. */
uint32_t pen_coll_count(pen_coll_team *coll, const pen_coll_what *what);

/* An op to be filled in by the caller: dest, source, len, root, reduction, build, section_len,
 * section_count, settles; and its what but for the number. */
pen_coll_op *pen_coll_op_new(pen_coll_team *coll);
/* Begins it. May drop the lock meanwhile. */
void pen_coll_op_begin(pen_coll_op *op);
/* Does what can be done; frees it when it is over. May drop the lock meanwhile. */
void pen_coll_op_run(pen_coll_op *op);
/* Of the team, underway, with that number; or NULL. */
pen_coll_op *pen_coll_op_find(const pen_coll_team *coll, uint32_t number);
/* The section's step for that transfer that is not complete; NULL: there is none. */
pen_coll_step *pen_coll_step_find(const pen_coll_section *section, pen_coll_action action,
                                  uint32_t peer, uint32_t tag);
/* Runs those that wait for credit. */
void pen_coll_run_short(pen_coll_team *coll);
unsigned pen_coll_run_stalled(pen_coll *jobs);

/* Building lists of steps. */
/* Room for what the list will need; then parts of it, on a cache line each. */
void pen_coll_scratch_reserve(pen_coll_op *op, pen_coll_section *section, size_t len);
char *pen_coll_scratch(pen_coll_section *section, size_t len);
int32_t pen_coll_send(pen_coll_op *op, pen_coll_section *section, uint32_t peer, uint8_t tag,
                      const char *from, size_t len, int32_t after);
int32_t pen_coll_receive(pen_coll_op *op, pen_coll_section *section, uint32_t peer, uint8_t tag,
                         char *to, size_t len);
int32_t pen_coll_copy(pen_coll_op *op, pen_coll_section *section, char *to, const char *from,
                      size_t len, int32_t after);
/* After all data before it; len in bytes. */
int32_t pen_coll_combine(pen_coll_op *op, pen_coll_section *section, const char *left, char *right,
                         size_t len);

/* ---- message.c (all under the lock) --------------------------------------------------------- */

void pen_coll_messages_open(pen_job *job);
void pen_coll_orphans_adopt(pen_coll_team *coll); /* messages that came before the team was made */
void pen_coll_kept_free(pen_coll_team *coll);
/* Hands over what has come for a section that was opened just now. */
void pen_coll_kept_take(pen_coll_op *op, pen_coll_section *section);
/* Checks what has come for a collective that begins against what it is. */
void pen_coll_kept_check(pen_coll_team *coll, const pen_coll_what *what);
/* The send's next piece; false: there is no room, or it has to wait for READY or credit. */
bool pen_coll_send_piece(pen_coll_op *op, const pen_coll_section *section, pen_coll_step *step,
                         size_t limit);
/* Ends the job: team rank `rank` believes otherwise. */
PEN_COLD _Noreturn void pen_coll_disagree(const pen_coll_team *coll, uint32_t rank,
                                          const pen_coll_what *theirs, const pen_coll_what *ours);
/* After a collective was begun: answers those who asked for credit. */
void pen_coll_answer_asked(pen_coll_team *coll);

/* ---- barrier.c ------------------------------------------------------------------------------ */

pen_event *pen_coll_world_barrier_nb(pen_thread *thread);

/* ---- combine.c ------------------------------------------------------------------------------ */

/* right = left operation right, element by element. */
void pen_coll_combine_elements(const pen_reduction *reduction, const void *left, void *right,
                               size_t count);
/* Operations we know: out = left operation right; out may be either of them. */
void pen_coll_combine_into(const pen_reduction *reduction, const void *left, const void *right,
                           void *out, size_t count);

/* ---- lists of steps ------------------------------------------------------------------------- */

/* Dissemination, at the end of the list; its tags count from this one on. */
void pen_coll_meet(pen_coll_op *op, pen_coll_section *section, uint8_t tag);
void pen_coll_build_barrier(pen_coll_op *op, pen_coll_section *section);
void pen_coll_build_broadcast(pen_coll_op *op, pen_coll_section *section);
void pen_coll_build_gather(pen_coll_op *op, pen_coll_section *section);
void pen_coll_build_scatter(pen_coll_op *op, pen_coll_section *section);
void pen_coll_build_exchange(pen_coll_op *op, pen_coll_section *section);
/* A part of a list: the section from `from` at the root to `to` at all others. */
void pen_coll_build_down(pen_coll_op *op, pen_coll_section *section, uint32_t root, uint8_t tag,
                         const char *from, char *to);
void pen_coll_build_reduce(pen_coll_op *op, pen_coll_section *section);
void pen_coll_build_scan(pen_coll_op *op, pen_coll_section *section);

#endif
