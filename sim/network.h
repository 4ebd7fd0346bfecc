/* SPDX-License-Identifier: BSD-3-Clause */
/* network.h: simulated time and network, for simulations of whole jobs and of a session: ordered
 * events, frames under way, and their faults. Frames are lost, doubled, late, damaged, refused, or
 * read only as they leave. For a while the ranks are parted, one of them is stopped, or large
 * frames are lost. All of it follows from a seed. */
#ifndef PEN_SIM_NETWORK_H
#define PEN_SIM_NETWORK_H

#include "conduit/conduit.h"
#include "sim/dice.h"

#include <stddef.h>

#define PEN_SIM_US     UINT64_C(1000)
#define PEN_SIM_MS     UINT64_C(1000000)
#define PEN_SIM_SECOND UINT64_C(1000000000)

/* The permanent properties of the network. */
typedef struct pen_sim_way {
    uint32_t frame_max, grain, overhead;
    size_t inbox_len;
    bool intact; /* damaged frames do not arrive */
    double drop, duplicate, reorder, corrupt, refuse, defer;
    uint64_t delay_ns, jitter_ns, reorder_ns;
} pen_sim_way;

pen_sim_way pen_sim_way_draw(pen_sim_dice *dice);
/* Draws 0 in a third of all cases, else a chance below `most`. */
double pen_sim_chance(pen_sim_dice *dice, double most);

/* A fault of limited time. */
typedef enum pen_sim_fault_kind {
    PEN_SIM_PARTITION,
    PEN_SIM_STOPPED,
    PEN_SIM_NARROW,
    PEN_SIM_DEAD
} pen_sim_fault_kind;
typedef struct pen_sim_fault {
    pen_sim_fault_kind kind;
    uint64_t from_ns, to_ns;
    uint32_t rank;      /* rank that is stopped, or dies */
    uint64_t side;      /* partition: the bits that give each rank its half */
    uint32_t frame_max; /* the longest frame that passes a narrow path */
    uint64_t felt;      /* frames that it swallowed, turns that it took */
    bool is_certain;    /* lasts past to_ns until it is felt, and then for a while */
} pen_sim_fault;

enum { PEN_SIM_FAULTS_MAX = 5 };
/* The least time that a certain fault lasts after it is first felt. */
#define PEN_SIM_CERTAIN_NS PEN_SIM_MS
/* Small frames pass a narrow path, and cause the large ones to be resent once a round trip, as
 * long as the fault lasts. */
#define PEN_SIM_NARROW_NS_MAX (20 * PEN_SIM_MS)

typedef struct pen_sim_datagram pen_sim_datagram;
struct pen_sim_datagram {
    pen_sim_datagram *next;
    uint32_t from, to;
    pen_lane lane;
    uint32_t head_len, body_len;
    const void *later; /* the body stays here until the frame leaves ... */
    pen_op *op;        /* ... and its owner is notified then */
    unsigned char *head, *body;
};

typedef struct pen_sim_queue {
    pen_sim_datagram *first, **end;
    uint32_t count;
} pen_sim_queue;

/* The network handles the kinds before PEN_SIM_OWN; all later kinds belong to its owner. */
typedef enum pen_sim_event_kind {
    PEN_SIM_ARRIVE,
    PEN_SIM_LEAVE,
    PEN_SIM_WAKE,
    PEN_SIM_OWN
} pen_sim_event_kind;

typedef struct pen_sim_network_event {
    uint64_t at_ns, order;
    uint32_t kind, rank;
    pen_sim_datagram *datagram;
} pen_sim_network_event;

/* The time of a rank's next turn. A rank has at most one, which may be moved. */
typedef struct pen_sim_alarm {
    uint64_t at_ns, order; /* UINT64_MAX: never */
} pen_sim_alarm;

typedef struct pen_sim_network {
    pen_sim_way way;
    pen_sim_dice dice;
    uint64_t now_ns, order;
    pen_sim_network_event *heap;
    size_t heap_count, heap_max;
    uint32_t ranks, leaves;
    pen_sim_alarm *alarms; /* one for each leaf */
    uint32_t *earliest;    /* a tree of ranks: below node i are the nodes 2i and 2i + 1 */
    pen_sim_fault faults[PEN_SIM_FAULTS_MAX];
    uint32_t fault_count;
    uint64_t faults_end_ns; /* all faults are over then */
    uint64_t sent, alive;   /* datagrams, ever and now */
    void *ctx;
    void (*arrive)(void *ctx, pen_sim_datagram *datagram); /* receives the datagram, and owns it */
    void (*left)(void *ctx, uint32_t from, pen_op *op);
} pen_sim_network;

/* Opens a network. The owner sets `ctx` and the functions after that. */
void pen_sim_network_open(pen_sim_network *network, const pen_sim_way *way, uint64_t seed,
                          uint32_t ranks);
void pen_sim_network_close(pen_sim_network *network); /* frees the datagrams under way, too */

/* Draws one more fault, which begins after at most latest_ns. The owner carries out a death. */
pen_sim_fault *pen_sim_fault_draw(pen_sim_network *network, pen_sim_fault_kind kind,
                                  uint64_t latest_ns, uint64_t longest_ns);
uint64_t pen_sim_stopped_until(pen_sim_network *network, uint32_t rank); /* 0: it runs */
/* Returns whether the rank was stopped at any time from since_ns to now. */
bool pen_sim_was_stopped(const pen_sim_network *network, uint32_t rank, uint64_t since_ns);

void pen_sim_schedule(pen_sim_network *network, uint64_t at_ns, uint32_t kind, uint32_t rank,
                      pen_sim_datagram *datagram);
void pen_sim_wake(pen_sim_network *network, uint32_t rank, uint64_t at_ns);
bool pen_sim_has_event(const pen_sim_network *network);
/* Takes the next event, which must exist, and sets the time to it. The owner passes events of the
 * network's kinds to pen_sim_handle. */
pen_sim_network_event pen_sim_next_event(pen_sim_network *network);
void pen_sim_handle(pen_sim_network *network, const pen_sim_network_event *event);

/* Returns whether a link must accept the frame. */
bool pen_sim_is_sound(const pen_sim_way *way, const pen_frame *frame);
pen_post pen_sim_send(pen_sim_network *network, uint32_t from, uint32_t to, pen_lane lane,
                      const pen_frame *frame, pen_op *op);
void pen_sim_forget(pen_sim_network *network,
                    uint32_t from); /* stops reading the bodies of `from` */
void pen_sim_datagram_free(pen_sim_network *network, pen_sim_datagram *datagram);

void pen_sim_queue_init(pen_sim_queue *queue);
void pen_sim_queue_add(pen_sim_queue *queue, pen_sim_datagram *datagram);
pen_sim_datagram *pen_sim_queue_take(pen_sim_queue *queue); /* NULL: the queue is empty */

#endif
