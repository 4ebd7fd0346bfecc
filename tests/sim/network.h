/* SPDX-License-Identifier: BSD-3-Clause */
/* network.h: simulated time and network, for the simulations here and in tests/engine: ordered
 * events, frames under way, and their faults. Frames are lost, doubled, late, damaged, refused, or
 * read only as they leave. For a while the ranks are parted, one of them is stopped, or large
 * frames are lost. All of it follows from a seed. */
#ifndef PEN_TESTS_SIM_NETWORK_H
#define PEN_TESTS_SIM_NETWORK_H

#include "dice.h"

#include "conduit/conduit.h"

#include <stddef.h>

#define SIM_US     UINT64_C(1000)
#define SIM_MS     UINT64_C(1000000)
#define SIM_SECOND UINT64_C(1000000000)

/* The permanent properties of the network. */
typedef struct sim_way {
    uint32_t frame_max, grain, overhead;
    size_t inbox_len;
    bool intact; /* damaged frames do not arrive */
    double drop, duplicate, reorder, corrupt, refuse, defer;
    uint64_t delay_ns, jitter_ns, reorder_ns;
} sim_way;

sim_way sim_way_draw(sim_dice *dice);
/* Draws 0 in a third of all cases, else a chance below `most`. */
double sim_chance(sim_dice *dice, double most);

/* A fault of limited time. */
typedef enum sim_fault_kind { SIM_PARTITION, SIM_STOPPED, SIM_NARROW, SIM_DEAD } sim_fault_kind;
typedef struct sim_fault {
    sim_fault_kind kind;
    uint64_t from_ns, to_ns;
    uint32_t rank;      /* rank that is stopped, or dies */
    uint64_t side;      /* partition: the bits that give each rank its half */
    uint32_t frame_max; /* the longest frame that passes a narrow path */
    uint64_t felt;      /* frames that it swallowed, turns that it took */
    bool is_certain;    /* lasts past to_ns until it is felt, and then for a while */
} sim_fault;

enum { SIM_FAULTS_MAX = 5 };
/* The least time that a certain fault lasts after it is first felt. */
#define SIM_CERTAIN_NS SIM_MS
/* Small frames pass a narrow path, and cause the large ones to be resent once a round trip, as
 * long as the fault lasts. */
#define SIM_NARROW_NS_MAX (20 * SIM_MS)

typedef struct sim_datagram sim_datagram;
struct sim_datagram {
    sim_datagram *next;
    uint32_t from, to;
    pen_lane lane;
    uint32_t head_len, body_len;
    const void *later; /* the body stays here until the frame leaves ... */
    pen_op *op;        /* ... and its owner is notified then */
    unsigned char *head, *body;
};

typedef struct sim_queue {
    sim_datagram *first, **end;
    uint32_t count;
} sim_queue;

/* The network handles the kinds before SIM_OWN; all later kinds belong to its owner. */
typedef enum sim_event_kind { SIM_ARRIVE, SIM_LEAVE, SIM_WAKE, SIM_OWN } sim_event_kind;

typedef struct sim_event {
    uint64_t at_ns, order;
    uint32_t kind, rank;
    sim_datagram *datagram;
} sim_event;

/* The time of a rank's next turn. A rank has at most one, which may be moved. */
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
    sim_alarm *alarms;  /* one for each leaf */
    uint32_t *earliest; /* a tree of ranks: below node i are the nodes 2i and 2i + 1 */
    sim_fault faults[SIM_FAULTS_MAX];
    uint32_t fault_count;
    uint64_t faults_end_ns; /* all faults are over then */
    uint64_t sent, alive;   /* datagrams, ever and now */
    void *ctx;
    void (*arrive)(void *ctx, sim_datagram *datagram); /* receives the datagram, and owns it */
    void (*left)(void *ctx, uint32_t from, pen_op *op);
} sim_network;

/* Opens a network. The owner sets `ctx` and the functions after that. */
void sim_network_open(sim_network *network, const sim_way *way, uint64_t seed, uint32_t ranks);
void sim_network_close(sim_network *network); /* frees the datagrams under way, too */

/* Draws one more fault, which begins after at most latest_ns. The owner carries out a death. */
sim_fault *sim_fault_draw(sim_network *network, sim_fault_kind kind, uint64_t latest_ns,
                          uint64_t longest_ns);
uint64_t sim_stopped_until(sim_network *network, uint32_t rank); /* 0: it runs */
/* Returns whether the rank was stopped at any time from since_ns to now. */
bool sim_was_stopped(const sim_network *network, uint32_t rank, uint64_t since_ns);

void sim_schedule(sim_network *network, uint64_t at_ns, uint32_t kind, uint32_t rank,
                  sim_datagram *datagram);
void sim_wake(sim_network *network, uint32_t rank, uint64_t at_ns);
bool sim_has_event(const sim_network *network);
/* Takes the next event, which must exist, and sets the time to it. The owner passes events of the
 * network's kinds to sim_handle. */
sim_event sim_next_event(sim_network *network);
void sim_handle(sim_network *network, const sim_event *event);

/* Returns whether a link must accept the frame. */
bool sim_is_sound(const sim_way *way, const pen_frame *frame);
pen_post sim_send(sim_network *network, uint32_t from, uint32_t to, pen_lane lane,
                  const pen_frame *frame, pen_op *op);
void sim_forget(sim_network *network, uint32_t from); /* stops reading the bodies of `from` */
void sim_datagram_free(sim_network *network, sim_datagram *datagram);

void sim_queue_init(sim_queue *queue);
void sim_queue_add(sim_queue *queue, sim_datagram *datagram);
sim_datagram *sim_queue_take(sim_queue *queue); /* NULL: the queue is empty */

#endif
