/* SPDX-License-Identifier: BSD-3-Clause */
/* network.h: time and a network that are made up, for the simulations here and in tests/engine:
 * events in their order, frames on their way, and what happens to them. Frames are lost, doubled,
 * late, damaged, refused, or read only as they leave; for a while the ranks are parted, one of them
 * is stopped, or no large frame comes through. All of it follows from a seed. */
#ifndef PEN_TESTS_SIM_NETWORK_H
#define PEN_TESTS_SIM_NETWORK_H

#include "dice.h"

#include "conduit/conduit.h"

#include <stddef.h>

#define SIM_US     UINT64_C(1000)
#define SIM_MS     UINT64_C(1000000)
#define SIM_SECOND UINT64_C(1000000000)

/* What it does to frames, always. */
typedef struct sim_way {
    uint32_t frame_max, grain, overhead;
    size_t inbox_len;
    bool intact; /* damaged frames do not arrive */
    double drop, duplicate, reorder, corrupt, refuse, defer;
    uint64_t delay_ns, jitter_ns, reorder_ns;
} sim_way;

sim_way sim_way_draw(sim_dice *dice);
/* Nought in a third of all draws, else anything below most. */
double sim_chance(sim_dice *dice, double most);

/* What it does for a while. */
typedef enum sim_fault_kind { SIM_PARTITION, SIM_STOPPED, SIM_NARROW, SIM_DEAD } sim_fault_kind;
typedef struct sim_fault {
    sim_fault_kind kind;
    uint64_t from_ns, to_ns;
    uint32_t rank;      /* that is stopped, or dies */
    uint64_t side;      /* of a partition: which half a rank is on hangs on it */
    uint32_t frame_max; /* of a narrow way */
    uint64_t felt;      /* frames that it swallowed, turns that it took away */
    bool is_certain;    /* it goes on past to_ns until it is felt, and then for a while */
} sim_fault;

enum { SIM_FAULTS_MAX = 5 };
/* A certain fault lasts for so long at least after it is first felt. */
#define SIM_CERTAIN_NS SIM_MS
/* Small frames pass a narrow way, and tell once a round trip that the large ones are to be sent
 * again: that goes on for as long as this does. */
#define SIM_NARROW_NS_MAX (20 * SIM_MS)

typedef struct sim_datagram sim_datagram;
struct sim_datagram {
    sim_datagram *next;
    uint32_t from, to;
    pen_lane lane;
    uint32_t head_len, body_len;
    const void *later; /* the body is here until the frame leaves ... */
    pen_op *op;        /* ... and who owns it wants to know then */
    unsigned char *head, *body;
};

typedef struct sim_queue {
    sim_datagram *first, **end;
    uint32_t count;
} sim_queue;

/* The first two are the network's business, from SIM_OWN on events mean what their owner likes. */
typedef enum sim_event_kind { SIM_ARRIVE, SIM_LEAVE, SIM_WAKE, SIM_OWN } sim_event_kind;

typedef struct sim_event {
    uint64_t at_ns, order;
    uint32_t kind, rank;
    sim_datagram *datagram;
} sim_event;

/* When a rank's turn comes: it has one such time at most, which may be moved. */
typedef struct sim_alarm {
    uint64_t at_ns, order; /* UINT64_MAX: never */
} sim_alarm;

typedef struct sim_network {
    sim_way way;
    sim_dice dice;
    uint64_t now_ns, order;
    sim_event *heap;
    size_t heap_count, heap_max;
    uint32_t ranks, leaves;
    sim_alarm *alarms;  /* as many as leaves */
    uint32_t *earliest; /* of a tree over them: node i has the nodes 2i and 2i + 1 below it */
    sim_fault faults[SIM_FAULTS_MAX];
    uint32_t fault_count;
    uint64_t faults_end_ns; /* no fault is on after it */
    uint64_t sent, alive;   /* datagrams, ever and now */
    void *ctx;
    void (*arrive)(void *ctx, sim_datagram *datagram); /* whose it is from then on */
    void (*left)(void *ctx, uint32_t from, pen_op *op);
} sim_network;

/* Its owner fills in whom it tells. */
void sim_network_open(sim_network *network, const sim_way *way, uint64_t seed, uint32_t ranks);
void sim_network_close(sim_network *network); /* with all that is on its way */

/* One more, which begins after at most latest_ns. A death is its owner's business. */
sim_fault *sim_fault_draw(sim_network *network, sim_fault_kind kind, uint64_t latest_ns,
                          uint64_t longest_ns);
uint64_t sim_stopped_until(sim_network *network, uint32_t rank); /* 0: it runs */
/* Whether the rank was stopped at any time from since_ns until now. */
bool sim_was_stopped(const sim_network *network, uint32_t rank, uint64_t since_ns);

void sim_schedule(sim_network *network, uint64_t at_ns, uint32_t kind, uint32_t rank,
                  sim_datagram *datagram);
void sim_wake(sim_network *network, uint32_t rank, uint64_t at_ns);
bool sim_has_event(const sim_network *network);
/* The next one, which there has to be; it is that late then. Those of the network are to be given
 * back to it. */
sim_event sim_next_event(sim_network *network);
void sim_handle(sim_network *network, const sim_event *event);

/* Whether a frame is one that a link has to take. */
bool sim_is_sound(const sim_way *way, const pen_frame *frame);
pen_post sim_send(sim_network *network, uint32_t from, uint32_t to, pen_lane lane,
                  const pen_frame *frame, pen_op *op);
void sim_forget(sim_network *network, uint32_t from); /* bodies of its are not read any more */
void sim_datagram_free(sim_network *network, sim_datagram *datagram);

void sim_queue_init(sim_queue *queue);
void sim_queue_add(sim_queue *queue, sim_datagram *datagram);
sim_datagram *sim_queue_take(sim_queue *queue); /* NULL: it is empty */

#endif
