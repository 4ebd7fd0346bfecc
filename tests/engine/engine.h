/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h: many ranks of the whole engine in one process and one thread: job, progress, am, rma,
 * coll, atomic and reliable as they are, start-up and the exit handshake included. Made up are the
 * clock, the network (a conduit), the machine's scheduler (each rank is a fiber, which hands over
 * where it would wait: os/turns.h) and the supervisor, which plays the real exit rule over real
 * control sockets.
 *
 * Everything follows from a seed. Each rank sends active messages of every kind, puts and gets and
 * joins collectives, while the network loses, doubles, reorders, delays and damages frames, is
 * parted and heals, or takes no large frames for a while; ranks stop, or one dies. Checked: each
 * message is handled once and is what was sent, each answer likewise; memory read is memory
 * written; credits hold between every two ranks at any time and are conserved at the end; copies
 * and backlogs are bounded; after the last fault all ends in bounded time, with the right status.
 */
#ifndef PEN_TESTS_ENGINE_ENGINE_H
#define PEN_TESTS_ENGINE_ENGINE_H

#include "../sim/dice.h"

#include "boot/exit_rule.h"
#include "job/job.h"
#include "reliable/reliable.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

enum { RANKS_MAX = 1024, FAULTS_MAX = 5 };

#define US     UINT64_C(1000)
#define MS     UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

typedef struct eng_plan {
    uint64_t seed;
    uint32_t ranks, messages; /* of each rank */
    uint32_t frame_max, overhead, grain, stripe_len;
    size_t inbox_len;
    bool intact, has_death;
    double drop, duplicate, reorder, corrupt, refuse, defer, idle;
    uint64_t delay_ns, jitter_ns, reorder_ns, compute_ns;
} eng_plan;

eng_plan plan_of(uint64_t seed, uint32_t ranks); /* ranks 0: as the seed says */

typedef enum fault_kind { FAULT_PARTITION, FAULT_STOPPED, FAULT_NARROW, FAULT_DEAD } fault_kind;
typedef struct eng_fault {
    fault_kind kind;
    uint64_t from_ns, to_ns;
    uint32_t rank;
    uint64_t side;      /* of a partition: which half a rank is on hangs on it */
    uint32_t frame_max; /* of a narrow way */
} eng_fault;

typedef struct eng_world eng_world;
typedef struct eng_rank eng_rank;
typedef struct eng_datagram eng_datagram;

struct eng_datagram {
    eng_datagram *next;
    uint32_t from, to;
    pen_lane lane;
    uint32_t head_len, body_len;
    pen_op *op;        /* to be told once the body is read ... */
    const void *later; /* ... from here; NULL: it is here */
    unsigned char *head, *body;
};

typedef enum event_kind {
    EVENT_WAKE,
    EVENT_ARRIVE,
    EVENT_LEAVE,
    EVENT_DIE,
    EVENT_SUPERVISE
} event_kind;
typedef struct eng_event {
    uint64_t at_ns, order;
    event_kind kind;
    uint32_t rank;
    eng_datagram *datagram;
} eng_event;

/* What a rank was doing when time went on without it. */
typedef enum rank_phase { RANK_WAITS, RANK_COMPUTES, RANK_DEAD, RANK_OVER } rank_phase;

struct eng_rank {
    pen_job job; /* first */
    eng_world *world;
    pen_turns turns;
    pen_link link;      /* of the network, below the reliable one */
    ucontext_t context; /* where it begins, and ... */
    jmp_buf here;       /* ... where it was when it handed over */
    bool has_begun;
    char *stack;
    rank_phase phase;
    int status;                      /* once over */
    uint64_t wake_at_ns, wake_order; /* the wake-up that counts */
    uint64_t nap_ns;
    unsigned idle_polls;
    eng_datagram *inbox, **inbox_end, *left, **left_end; /* arrived; bodies read, to be reported */
    uint32_t inbox_count;
    int control;   /* the supervisor's end */
    sim_dice dice; /* of what it does; the network has its own */
    /* traffic */
    char *segment;
    uint64_t *segments; /* of all ranks, as each counts */
    uint32_t answers, answers_due, sent;
    uint32_t *longs; /* by rank: a Long of ours is under way there, its number + 1 */
    char buffer[1 << 15];
};

struct eng_world {
    eng_plan plan;
    sim_dice dice;
    uint64_t now_ns, order, events;
    eng_event *heap;
    size_t heap_count, heap_max;
    eng_rank *ranks, *running;
    ucontext_t context; /* of this thread itself */
    jmp_buf here;
    eng_fault faults[FAULTS_MAX];
    uint32_t fault_count, over;
    uint64_t faults_end_ns;
    char *arena;
    size_t arena_len;
    uint8_t *handled, *answered; /* by message: how often */
    uint64_t handled_count, datagrams, overflows, resent, duplicates;
    pen_exit_rule rule;
    pen_exit_rank *rule_ranks;
    bool is_settled; /* traffic is over, and all was checked */
};

/* Says what, the seed and the command that repeats it, and ends the process. */
_Noreturn void engine_fail(const eng_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One seed from start to end; what it did goes into totals. */
typedef struct eng_totals {
    uint64_t seeds, ranks, messages, faults, deaths, datagrams, resent, duplicates, virtual_ns;
} eng_totals;

void engine_run(const eng_plan *plan, eng_totals *totals);

/* Whether that fault is turned on, in copies of the sources that have some (../sim/mutate.py). */
bool sim_is(const char *name);

/* world.c */
void world_schedule(eng_world *world, uint64_t at_ns, event_kind kind, uint32_t rank,
                    eng_datagram *datagram);
void world_hand_over(eng_rank *rank);            /* from a fiber: comes back at its next turn */
_Noreturn void world_leave(eng_rank *rank);      /* likewise, and does not come back */
void world_compute(eng_rank *rank, uint64_t ns); /* likewise, whatever arrives meanwhile */
uint64_t world_stopped_until(const eng_world *world, uint32_t rank); /* 0: it runs */

/* network.c */
extern const pen_conduit engine_conduit;
void network_arrive(eng_world *world, eng_datagram *datagram);
void network_leave(eng_world *world, eng_datagram *datagram);
void network_free(eng_world *world, eng_datagram *datagram);

/* supervisor.c */
void supervisor_open(eng_world *world);
void supervisor_look(eng_world *world);
void supervisor_tell_death(eng_world *world, uint32_t rank);
void supervisor_tell_end(eng_world *world, uint32_t rank, int status);
void supervisor_close(eng_world *world);

/* rank.c: what a rank does from its start to its end. */
void rank_open(eng_world *world, uint32_t self);
void rank_main(eng_rank *rank);
void rank_close(eng_rank *rank);

/* check.c */
void check_pair(const eng_world *world, uint32_t self, uint32_t peer, bool is_end);
void check_rank(const eng_world *world, uint32_t self);
void check_end(eng_world *world);

#endif
