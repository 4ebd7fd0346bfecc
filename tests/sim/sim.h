/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.h: many ranks of src/reliable in one process, with a clock and a network that are made up.
 *
 * Everything follows from a seed: sizes, traffic, faults, delays. The engine above is played by
 * rank.c: requests answered from deliver, a backlog of replies during which no requests are taken,
 * control now and then. The network loses, doubles, reorders, delays and damages frames, is parted
 * and healed; ranks stop for minutes; one may send nonsense. Checked throughout: each frame once
 * and as it was, credits kept, memory bounded; at the end: all has arrived in bounded time after
 * the faults are over, nothing is held, and nobody talks any more. */
#ifndef PEN_TESTS_SIM_SIM_H
#define PEN_TESTS_SIM_SIM_H

#include "dice.h"
#include "reliable/protocol.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_RANKS_MAX = 64, SIM_WHAT_MAX = 160 };

#define SIM_MS     UINT64_C(1000000)
#define SIM_SECOND UINT64_C(1000000000)

/* What a seed means. */
typedef struct sim_plan {
    uint64_t seed;
    bool is_long;
    uint32_t ranks, messages; /* of each rank */
    uint32_t frame_max, grain, overhead, body_max, borrow_len;
    size_t inbox_len, memory_max;
    bool intact, near_wrap, has_hostile;
    double drop, duplicate, reorder, corrupt, refuse, defer;
    double unasked; /* polls that ask for some lanes only */
    uint64_t delay_ns, jitter_ns, reorder_ns;
    uint64_t faults_end_ns; /* no partition and no stopped rank after it */
} sim_plan;

sim_plan sim_plan_of(uint64_t seed, bool is_long);

typedef struct sim_world sim_world;
typedef struct sim_rank sim_rank;
typedef struct sim_datagram sim_datagram;

struct sim_datagram {
    sim_datagram *next;
    pen_peer from, to;
    pen_lane lane;
    uint32_t head_len, body_len;
    const void *later; /* the body, when it is read only as the frame leaves */
    pen_op *op;        /* to be told then */
    bool corrupt;
    unsigned char *head, *body;
};

typedef enum sim_event_kind { SIM_POLL, SIM_LEAVE, SIM_ARRIVE } sim_event_kind;

typedef struct sim_event {
    uint64_t at_ns, order;
    sim_event_kind kind;
    pen_peer rank;
    sim_datagram *datagram;
} sim_event;

typedef struct sim_fault { /* of one rank, or between the halves of a partition */
    uint64_t from_ns, to_ns;
    pen_peer rank;
    uint64_t side; /* bit for each rank of one half; 0: the rank is stopped */
} sim_fault;

enum { SIM_FAULTS_MAX = 4 };

struct sim_world {
    sim_plan plan;
    sim_dice dice;
    uint64_t now_ns, order;
    sim_event *heap;
    size_t heap_count, heap_max;
    sim_rank *ranks;
    sim_fault faults[SIM_FAULTS_MAX];
    uint32_t fault_count;
    uint64_t posted, delivered, ops_open, datagrams, events;
    size_t allocated;
    jmp_buf failed;
    char what[SIM_WHAT_MAX];
};

/* Ends the run: what is said goes with the seed. */
_Noreturn void sim_fail(sim_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* True if the seed passed; else *what says why not. */
bool sim_run(const sim_plan *plan, char what[SIM_WHAT_MAX]);

/* world.c */
void sim_schedule(sim_world *world, uint64_t at_ns, sim_event_kind kind, pen_peer rank,
                  sim_datagram *datagram);
void *sim_alloc(sim_world *world, size_t len, size_t align);
void sim_release(sim_world *world, void *memory);
pen_post sim_send(sim_world *world, pen_peer from, pen_peer to, pen_lane lane,
                  const pen_frame *frame, pen_op *op);
void sim_datagram_free(sim_world *world, sim_datagram *datagram);
uint64_t sim_stopped_until(const sim_world *world, pen_peer rank); /* 0: it runs */

/* rank.c */
void sim_ranks_open(sim_world *world);
void sim_ranks_close(sim_world *world);
void sim_rank_arrive(sim_world *world, sim_datagram *datagram);
void sim_rank_poll(sim_world *world, pen_peer rank);
bool sim_ranks_are_done(const sim_world *world);
void sim_ranks_check_end(sim_world *world);

/* Which mutant this run has; NULL: none. Set by main. */
extern const char *sim_mutant;
bool sim_is(const char *name);

#endif
