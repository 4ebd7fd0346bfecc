/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h: many ranks of the whole engine in one process and one thread: the real job, progress,
 * am, rma, coll, atomic and reliable, including start-up and the exit handshake. Simulated are the
 * clock, the network (a conduit), the machine's scheduler (each rank is a fiber, which hands over
 * where it would wait: os/turns.h) and the supervisor, which applies the real exit rule to real
 * control sockets.
 *
 * Everything follows from a seed. Each rank sends active messages of every kind, puts and gets and
 * joins collectives, while the network behaves as sim/network.h describes; ranks stop, or one
 * dies. Checked: each message, and each answer, is handled once and equals the one that was sent;
 * memory read is memory written; credits hold between every two ranks at any time and are
 * conserved at the end; copies and backlogs are bounded; after the last fault the job ends in
 * bounded time, with the right status. */
#ifndef PEN_TESTS_ENGINE_ENGINE_H
#define PEN_TESTS_ENGINE_ENGINE_H

#include "job/job.h"
#include "launch/exit_rule.h"
#include "reliable/reliable.h"
#include "sim/dice.h"
#include "sim/fibers.h"
#include "sim/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RANKS_MAX = 1024, MESSAGES_LEAST = 1000, BUFFER_LEN = 1 << 15 };

typedef struct eng_plan {
    uint64_t seed;
    uint32_t ranks, messages; /* messages of each rank */
    uint32_t stripe_len;
    bool has_death, near_wrap;
    double idle;
    uint64_t compute_ns, look_ns; /* interval at which a waiting rank looks */
    pen_sim_way way;
} eng_plan;

eng_plan plan_of(uint64_t seed, uint32_t ranks); /* ranks 0: the seed decides */

typedef struct eng_world eng_world;
typedef struct eng_rank eng_rank;

#define NAP_NS_MIN (2 * PEN_SIM_US)

enum { EVENT_DIE = PEN_SIM_OWN, EVENT_SUPERVISE };

/* The state of a rank while it does not run. */
typedef enum rank_phase { RANK_WAITS, RANK_COMPUTES, RANK_DEAD, RANK_OVER } rank_phase;

typedef struct eng_left {
    pen_op *op;
} eng_left;

struct eng_rank {
    pen_job job; /* first */
    eng_world *world;
    pen_turns turns;
    pen_link link; /* the network's link, below the reliable one */
    pen_sim_fiber fiber;
    rank_phase phase;
    int status;          /* once over */
    uint64_t wake_at_ns; /* while it waits */
    uint32_t meetings;   /* meetings that it has joined */
    uint64_t nap_ns;     /* delay before its next attempt */
    bool is_restless;    /* an attempt is due: the network had no room, for example */
    unsigned idle_polls;
    pen_sim_queue inbox;
    eng_left *left; /* bodies that the network has read, to be reported */
    uint32_t left_count, left_max;
    int control;       /* the supervisor's end */
    pen_sim_dice dice; /* its own choices; the network has other dice */
    /* traffic */
    char *segment;
    uint64_t *segments; /* addresses of all ranks, as this rank sees them */
    uint32_t answers, answers_due, sent;
    uint32_t *longs; /* by rank: number + 1 of this rank's Long under way there */
    char buffer[BUFFER_LEN];
};

struct eng_world {
    eng_plan plan;
    pen_sim_network network;
    uint64_t events;
    eng_rank *ranks, *running;
    pen_sim_stage stage;
    uint32_t over, boot_generation;
    char *arena;
    size_t arena_len;
    uint8_t *handled, *answered; /* by message: how often */
    uint64_t handled_count, overflows, resent, duplicates;
    pen_exit_rule rule;
    pen_exit_rank *rule_ranks;
    int lines;       /* an epoll of all control sockets */
    bool is_talking; /* a rank has begun to send */
    bool is_settled; /* traffic is over, and all was checked */
};

/* Reports the failure, the seed and the command that repeats it, and ends the process. */
_Noreturn void engine_fail(const eng_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs one seed from start to end, and adds its counts to totals. */
typedef struct eng_totals {
    uint64_t seeds, ranks, messages, faults, deaths, datagrams, resent, duplicates, virtual_ns;
    uint32_t messages_least,
        faults_least; /* per rank, per seed; without jobs that end by a death */
} eng_totals;

void engine_run(const eng_plan *plan, eng_totals *totals);

/* Returns whether that fault is turned on in copies of the sources (../sim/mutate.py). */
bool sim_is(const char *name);

/* world.c */
void world_hand_over(eng_rank *rank);       /* called by a fiber: returns at its next turn */
_Noreturn void world_leave(eng_rank *rank); /* called by a fiber: does not return */
void world_compute(eng_rank *rank,
                   uint64_t ns);  /* called by a fiber: returns after that time in any case */
void world_rouse(eng_rank *rank); /* wakes a waiting rank */
void world_talk_begins(eng_world *world);

/* conduit.c */
extern const pen_conduit engine_conduit;
void conduit_arrive(void *world, pen_sim_datagram *datagram);
void conduit_left(void *world, uint32_t from, pen_op *op);

/* supervisor.c */
void supervisor_open(eng_world *world);
void supervisor_look(eng_world *world);
void supervisor_tell_death(eng_world *world, uint32_t rank);
void supervisor_tell_end(eng_world *world, uint32_t rank, int status);
void supervisor_close(eng_world *world);

/* rank.c: the work of a rank from its start to its end. */
void rank_open(eng_world *world, uint32_t self);
void rank_main(eng_rank *rank);
void rank_close(eng_rank *rank);

/* check.c */
void check_pair(const eng_world *world, uint32_t self, uint32_t peer, bool is_end);
void check_rank(const eng_world *world, uint32_t self);
void check_end(eng_world *world);

#endif
