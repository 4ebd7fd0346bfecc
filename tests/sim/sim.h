/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.h: many ranks of src/reliable in one process, with a simulated clock and network.
 *
 * Everything follows from a seed: sizes, traffic, faults, delays. rank.c plays the engine above:
 * requests are answered from deliver; while replies are backlogged, no requests are taken; control
 * frames are sent at intervals. The network is that of network.h, and faults last for minutes; one
 * rank may send nonsense. Checked throughout: each frame arrives once and unchanged, credits are
 * kept, memory is bounded. Checked at the end: all frames have arrived in bounded time after the
 * last fault, no memory is held, and no rank sends any more. */
#ifndef PEN_TESTS_SIM_SIM_H
#define PEN_TESTS_SIM_SIM_H

#include "sim/network.h"

#include "reliable/protocol.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_RANKS_MAX = 64, SIM_WHAT_MAX = 160 };

/* The parameters that follow from a seed. */
typedef struct sim_plan {
    uint64_t seed;
    bool is_long;
    uint32_t ranks, messages; /* messages of each rank */
    uint32_t body_max, borrow_len;
    size_t memory_max;
    bool near_wrap, has_hostile;
    double unasked; /* polls that ask for some lanes only */
    pen_sim_way way;
} sim_plan;

sim_plan sim_plan_of(uint64_t seed, bool is_long);

typedef struct sim_world sim_world;
typedef struct sim_rank sim_rank;

struct sim_world {
    sim_plan plan;
    pen_sim_network network;
    pen_sim_dice *dice; /* the network's */
    sim_rank *ranks;
    uint64_t posted, delivered, ops_open, events;
    size_t allocated;
    jmp_buf failed;
    char what[SIM_WHAT_MAX];
};

/* Ends the run; the text is reported with the seed. */
_Noreturn void sim_fail(sim_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns true if the seed passed; else *what has the reason. */
bool sim_run(const sim_plan *plan, char what[SIM_WHAT_MAX]);

/* world.c */
void *sim_alloc(sim_world *world, size_t len, size_t align);
void sim_release(sim_world *world, void *memory);

/* rank.c */
void sim_ranks_open(sim_world *world);
void sim_ranks_close(sim_world *world);
void sim_rank_arrive(void *world, pen_sim_datagram *datagram);
void sim_rank_left(void *world, pen_peer self, pen_op *op);
void sim_rank_poll(sim_world *world, pen_peer rank);
bool sim_ranks_are_done(const sim_world *world);
void sim_ranks_check_end(sim_world *world);

/* The mutant of this run, set by main. NULL: no mutant. */
extern const char *sim_mutant;
bool sim_is(const char *name);

#endif
