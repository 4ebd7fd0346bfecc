/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h: many ranks of the whole engine in one process and one thread: job, progress, am, rma,
 * coll, atomic and reliable as they are, start-up and the exit handshake included. Made up are the
 * clock, the network (a conduit), the machine's scheduler (each rank is a fiber, which hands over
 * where it would wait: os/turns.h) and the supervisor, which plays the real exit rule over real
 * control sockets.
 *
 * Everything follows from a seed. Each rank sends active messages of every kind, puts and gets and
 * joins collectives, while the network does what ../sim/network.h says; ranks stop, or one dies.
 * Checked: each
 * message is handled once and is what was sent, each answer likewise; memory read is memory
 * written; credits hold between every two ranks at any time and are conserved at the end; copies
 * and backlogs are bounded; after the last fault all ends in bounded time, with the right status.
 */
#ifndef PEN_TESTS_ENGINE_ENGINE_H
#define PEN_TESTS_ENGINE_ENGINE_H

#include "../sim/network.h"

#include "boot/exit_rule.h"
#include "job/job.h"
#include "reliable/reliable.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

enum { RANKS_MAX = 1024, MESSAGES_LEAST = 1000, BUFFER_LEN = 1 << 15 };

typedef struct eng_plan {
    uint64_t seed;
    uint32_t ranks, messages; /* of each rank */
    uint32_t stripe_len;
    bool has_death, near_wrap;
    double idle;
    uint64_t compute_ns, look_ns; /* who waits looks so often */
    sim_way way;
} eng_plan;

eng_plan plan_of(uint64_t seed, uint32_t ranks); /* ranks 0: as the seed says */

typedef struct eng_world eng_world;
typedef struct eng_rank eng_rank;

#define NAP_NS_MIN (2 * SIM_US)

enum { EVENT_DIE = SIM_OWN, EVENT_SUPERVISE };

/* What a rank was doing when time went on without it. */
typedef enum rank_phase { RANK_WAITS, RANK_COMPUTES, RANK_DEAD, RANK_OVER } rank_phase;

typedef struct eng_left {
    pen_op *op;
} eng_left;

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
    int status;          /* once over */
    uint64_t wake_at_ns; /* while it waits */
    uint32_t meetings;   /* that it has come to */
    uint64_t nap_ns;     /* how long it waits before it tries something again */
    bool is_restless;    /* there is such a thing: the network had no room, say */
    unsigned idle_polls;
    sim_queue inbox;
    eng_left *left; /* bodies that the network has read, to be reported */
    uint32_t left_count, left_max;
    int control;   /* the supervisor's end */
    sim_dice dice; /* of what it does; the network has its own */
    /* traffic */
    char *segment;
    uint64_t *segments; /* of all ranks, as each counts */
    uint32_t answers, answers_due, sent;
    uint32_t *longs; /* by rank: a Long of ours is under way there, its number + 1 */
    char buffer[BUFFER_LEN];
};

struct eng_world {
    eng_plan plan;
    sim_network network;
    uint64_t events;
    eng_rank *ranks, *running;
    ucontext_t context; /* of this thread itself */
    jmp_buf here;
    uint32_t over, boot_generation;
    char *arena;
    size_t arena_len;
    uint8_t *handled, *answered; /* by message: how often */
    uint64_t handled_count, overflows, resent, duplicates;
    pen_exit_rule rule;
    pen_exit_rank *rule_ranks;
    int lines;       /* an epoll of all control sockets */
    bool is_talking; /* somebody has begun to */
    bool is_settled; /* traffic is over, and all was checked */
};

/* Says what, the seed and the command that repeats it, and ends the process. */
_Noreturn void engine_fail(const eng_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One seed from start to end; what it did goes into totals. */
typedef struct eng_totals {
    uint64_t seeds, ranks, messages, faults, deaths, datagrams, resent, duplicates, virtual_ns;
    uint32_t messages_least,
        faults_least; /* of a rank, of a seed; jobs that end by a death left out */
} eng_totals;

void engine_run(const eng_plan *plan, eng_totals *totals);

/* Whether that fault is turned on, in copies of the sources that have some (../sim/mutate.py). */
bool sim_is(const char *name);

/* world.c */
void world_hand_over(eng_rank *rank);            /* from a fiber: comes back at its next turn */
_Noreturn void world_leave(eng_rank *rank);      /* likewise, and does not come back */
void world_compute(eng_rank *rank, uint64_t ns); /* likewise, whatever arrives meanwhile */
void world_rouse(eng_rank *rank);                /* there is news for it */
void world_talk_begins(eng_world *world);

/* conduit.c */
extern const pen_conduit engine_conduit;
void conduit_arrive(void *world, sim_datagram *datagram);
void conduit_left(void *world, uint32_t from, pen_op *op);

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
