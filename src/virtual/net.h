/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h: a network in virtual time, packet by packet. A packet goes through the card of its
 * sender's node, the links of its route, and the card of its target's node, into the list of its
 * target port. Ports of one node share its card.
 *
 * Each card and link is a queue, first in, first out. It takes a packet when it is free and when
 * the buffer behind it has a place; so a full buffer stops the links before it, and at last the
 * sender's card. Packets are cut through: a router passes the head on after the machine's
 * `router` time, and the time that a link is busy counts once, at the end. A packet's place in a
 * buffer is free when its head has left. A message of many packets is one burst: one event for
 * each hop, and it keeps each link busy for as long as all its packets.
 *
 * The state is one piece of memory that the processes of a job share. Only the process whose turn
 * it is uses it (turn.h), so it has no locks. */
#ifndef PEN_VIRTUAL_NET_H
#define PEN_VIRTUAL_NET_H

#include "virtual/events.h"
#include "virtual/machine.h"
#include "virtual/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_VIRTUAL_PAYLOAD_MAX = 128 };

typedef struct pen_virtual_packet {
    uint32_t next;     /* number of the next packet in a list; 0: none */
    uint32_t from, to; /* ports */
    uint32_t link_ns;  /* how long it keeps a link busy */
    uint32_t card_ns;  /* how long it keeps a card busy */
    /* Not 0: at its target's card the packet turns round, and goes back to its sender as a burst
     * that keeps links busy for that time; the machine's read_memory lies in between. */
    uint32_t back_link_ns;
    bool is_counted; /* takes a slot of its target's mailbox */
    uint8_t kind;    /* the card's */
    uint16_t len;
    uint64_t word[2]; /* the card's */
    unsigned char payload[PEN_VIRTUAL_PAYLOAD_MAX];
    /* The network's own fields. */
    uint32_t via, router, axis, channel;
} pen_virtual_packet;

/* A link, or a card's way in or out. */
typedef struct pen_virtual_link {
    uint64_t free_ns;
    uint64_t packets, busy_ns; /* so far */
    uint32_t next_channel;
    bool is_armed; /* an event waits until it is free */
} pen_virtual_link;

typedef struct pen_virtual_net_counts {
    uint64_t sent, received, events;
    uint64_t mailbox_full; /* packets that waited for a slot */
    uint64_t card_full;    /* packets that a sender's card refused */
} pen_virtual_net_counts;

typedef struct pen_virtual_net_state pen_virtual_net_state;

/* A process's view of the network. */
typedef struct pen_virtual_net {
    pen_virtual_net_state *state;
    pen_virtual_events *events;
    struct pen_virtual_lane *lanes;
    pen_virtual_link *links;
    struct pen_virtual_node *nodes;
    struct pen_virtual_port *ports;
    pen_virtual_packet *packets;
    /* Called when a port has a new packet, or when a card that has refused one has room. */
    void (*notify)(void *ctx, uint32_t port);
    void *ctx;
} pen_virtual_net;

typedef struct pen_virtual_net_params {
    pen_virtual_machine machine;
    pen_virtual_shape shape;
    uint32_t ports;
    const uint32_t *nodes; /* the node of each port */
    uint32_t packets;      /* the most that are under way or not yet received */
} pen_virtual_net_params;

size_t pen_virtual_net_len(const pen_virtual_net_params *params);

/* Makes a network in zeroed memory of that length, aligned to 64. */
void pen_virtual_net_init(void *memory, const pen_virtual_net_params *params);

/* Makes a view of it. The caller sets `notify` and `ctx`. */
void pen_virtual_net_open(void *memory, pen_virtual_net *out);

const pen_virtual_machine *pen_virtual_net_machine(const pen_virtual_net *net);
const pen_virtual_shape *pen_virtual_net_shape(const pen_virtual_net *net);
const pen_virtual_net_counts *pen_virtual_net_count(const pen_virtual_net *net);

/* Sets the slots of a port's mailbox. A port has no mailbox before. */
void pen_virtual_net_mailbox(pen_virtual_net *net, uint32_t port, uint32_t slots);

/* Takes an unused packet. Returns 0 if the card of the port has no room now, or if there is no
 * unused packet; notify() follows for this port. */
uint32_t pen_virtual_net_take(pen_virtual_net *net, uint32_t port);

static inline pen_virtual_packet *pen_virtual_net_packet(const pen_virtual_net *net,
                                                         uint32_t number)
{
    return &net->packets[number - 1];
}

/* Gives the packet to its sender's card at this time, which has not passed. */
void pen_virtual_net_send(pen_virtual_net *net, uint32_t number, uint64_t time_ns);

/* Puts the packet into its target's list at this time, without using the network. */
void pen_virtual_net_put(pen_virtual_net *net, uint32_t number, uint64_t time_ns);

/* Returns the next packet of a port's list, and takes it out; 0 if there is none. */
uint32_t pen_virtual_net_receive(pen_virtual_net *net, uint32_t port);
/* Returns the same packet without taking it. */
uint32_t pen_virtual_net_first(const pen_virtual_net *net, uint32_t port);
void pen_virtual_net_free(pen_virtual_net *net, uint32_t number);

/* Frees slots of a port's mailbox at this time, which has not passed, or when slots freed before
 * it are free. */
void pen_virtual_net_release(pen_virtual_net *net, uint32_t port, uint32_t slots, uint64_t time_ns);

/* Carries out the next event, which exists. */
void pen_virtual_net_go_on(pen_virtual_net *net);

/* Ends all counting, in counts and links: what follows depends on real time. */
void pen_virtual_net_freeze(pen_virtual_net *net);

/* Whether nothing is under way: all packets sent have been received, and no place is taken. */
bool pen_virtual_net_is_quiet(const pen_virtual_net *net);

#endif
