/* SPDX-License-Identifier: BSD-3-Clause */
/* net.c: see net.h. Links of the shape come first, then each card's way into the network, then
 * each card's way out. Each of them has two lanes, one for each channel: packets that wait in
 * front of it, and places in the buffer behind it. A packet that is in that buffer remembers the
 * lane (`via`), and gives the place back when it goes on. */
#include "virtual/net.h"

#include "base/compiler.h"

#include <string.h>

#define NONE UINT32_MAX

enum { CHANNELS = 2, LINE = 64 };

typedef enum event_kind {
    EVENT_ENTER,   /* a packet is in its sender's card */
    EVENT_HEAD,    /* a packet's head is in a router */
    EVENT_FREE,    /* a link is free again */
    EVENT_ARRIVED, /* a packet is in its target's card, whole */
    EVENT_PUT,     /* a packet goes to its target's list */
    EVENT_SLOTS    /* slots of a port's mailbox are free again */
} event_kind;

struct pen_virtual_net_state {
    pen_virtual_machine machine;
    pen_virtual_shape shape;
    uint32_t ports, packets, used, unused; /* unused: first of the packets that were freed */
    size_t events_off, lanes_off, links_off, nodes_off, ports_off, packets_off;
    pen_virtual_net_counts counts;
    uint64_t under_way; /* packets sent and not received */
    bool is_frozen;
};

typedef struct pen_virtual_lane {
    uint32_t first, last; /* packets that wait; 0: none */
    uint32_t places;      /* unused places in the buffer behind it */
} pen_virtual_lane;

/* Packets whose mailboxes are full; they block the node's card. */
typedef struct pen_virtual_node {
    uint32_t first, last;
} pen_virtual_node;

typedef struct pen_virtual_port {
    uint32_t node;
    uint32_t first, last; /* packets that have arrived */
    uint32_t slots, held; /* mailbox: all slots, and those in use */
    uint32_t freed;       /* slots that an event will give back; 0: there is no such event */
    uint32_t queued;      /* packets that its card has not passed on */
    bool wants_room;
} pen_virtual_port;

/* ---- making ---------------------------------------------------------------------------------- */

static size_t aligned(size_t len) { return pen_align_up(len, LINE); }

static uint32_t link_count(const pen_virtual_shape *shape)
{
    return shape->links + 2 * shape->nodes;
}

/* Each packet, each link and each port has at most one event. */
static uint32_t event_count(const pen_virtual_net_params *params)
{
    return params->packets + link_count(&params->shape) + params->ports;
}

static size_t lay_out(const pen_virtual_net_params *params, pen_virtual_net_state *out)
{
    size_t links = link_count(&params->shape);
    out->events_off = aligned(sizeof *out);
    out->lanes_off = out->events_off + aligned(pen_virtual_events_len(event_count(params)));
    out->links_off = out->lanes_off + aligned(links * CHANNELS * sizeof(pen_virtual_lane));
    out->nodes_off = out->links_off + aligned(links * sizeof(pen_virtual_link));
    out->ports_off = out->nodes_off + aligned(params->shape.nodes * sizeof(pen_virtual_node));
    out->packets_off = out->ports_off + aligned(params->ports * sizeof(pen_virtual_port));
    return out->packets_off + aligned(params->packets * sizeof(pen_virtual_packet));
}

size_t pen_virtual_net_len(const pen_virtual_net_params *params)
{
    pen_virtual_net_state state;
    return lay_out(params, &state);
}

void pen_virtual_net_init(void *memory, const pen_virtual_net_params *params)
{
    pen_virtual_net_state *state = memory;
    (void)lay_out(params, state);
    state->machine = params->machine;
    state->shape = params->shape;
    state->ports = params->ports;
    state->packets = params->packets;
    pen_virtual_net net;
    pen_virtual_net_open(memory, &net);
    pen_virtual_events_init(net.events, event_count(params));
    for (uint32_t i = 0; i < link_count(&params->shape) * CHANNELS; i++)
        net.lanes[i].places = params->machine.link_buffer;
    for (uint32_t port = 0; port < params->ports; port++)
        net.ports[port].node = params->nodes[port];
}

void pen_virtual_net_open(void *memory, pen_virtual_net *out)
{
    pen_virtual_net_state *state = memory;
    char *base = memory;
    *out = (pen_virtual_net){
        .state = state,
        .events = (void *)(base + state->events_off),
        .lanes = (void *)(base + state->lanes_off),
        .links = (void *)(base + state->links_off),
        .nodes = (void *)(base + state->nodes_off),
        .ports = (void *)(base + state->ports_off),
        .packets = (void *)(base + state->packets_off),
    };
}

const pen_virtual_machine *pen_virtual_net_machine(const pen_virtual_net *net)
{
    return &net->state->machine;
}

const pen_virtual_shape *pen_virtual_net_shape(const pen_virtual_net *net)
{
    return &net->state->shape;
}

const pen_virtual_net_counts *pen_virtual_net_count(const pen_virtual_net *net)
{
    return &net->state->counts;
}

void pen_virtual_net_mailbox(pen_virtual_net *net, uint32_t port, uint32_t slots)
{
    net->ports[port].slots = slots;
}

void pen_virtual_net_freeze(pen_virtual_net *net) { net->state->is_frozen = true; }

static void count(const pen_virtual_net *net, uint64_t *counter)
{
    *counter += !net->state->is_frozen;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void append(const pen_virtual_net *net, uint32_t *first, uint32_t *last, uint32_t number)
{
    pen_virtual_net_packet(net, number)->next = 0;
    if (*first == 0)
        *first = number;
    else
        pen_virtual_net_packet(net, *last)->next = number;
    *last = number;
}

static uint32_t take_first(const pen_virtual_net *net, uint32_t *first)
{
    uint32_t number = *first;
    if (number != 0)
        *first = pen_virtual_net_packet(net, number)->next;
    return number;
}

uint32_t pen_virtual_net_take(pen_virtual_net *net, uint32_t port)
{
    pen_virtual_net_state *state = net->state;
    pen_virtual_port *from = &net->ports[port];
    uint32_t number = 0;
    if (from->queued < state->machine.nic_queue) {
        number = take_first(net, &state->unused);
        if (number == 0 && state->used < state->packets)
            number = ++state->used;
    }
    if (number == 0) {
        from->wants_room = true;
        count(net, &state->counts.card_full);
        return 0;
    }
    pen_virtual_packet *packet = pen_virtual_net_packet(net, number);
    memset(packet, 0, offsetof(pen_virtual_packet, payload));
    packet->via = NONE;
    packet->from = port;
    return number;
}

void pen_virtual_net_free(pen_virtual_net *net, uint32_t number)
{
    pen_virtual_net_packet(net, number)->next = net->state->unused;
    net->state->unused = number;
}

static void schedule(const pen_virtual_net *net, uint64_t time_ns, event_kind kind, uint32_t what)
{
    bool added = pen_virtual_events_add(net->events, time_ns, (uint32_t)kind, what);
    PEN_INVARIANT(added); /* see event_count */
}

/* ---- links ----------------------------------------------------------------------------------- */

static uint32_t way_in(const pen_virtual_net *net, uint32_t node)
{
    return net->state->shape.links + node;
}

static uint32_t way_out(const pen_virtual_net *net, uint32_t node)
{
    return net->state->shape.links + net->state->shape.nodes + node;
}

/* Puts the packet, whose head is in packet->router, in front of its next link. Returns the link. */
static uint32_t join(const pen_virtual_net *net, uint32_t number)
{
    pen_virtual_packet *packet = pen_virtual_net_packet(net, number);
    uint32_t node = net->ports[packet->to].node;
    pen_virtual_step step = pen_virtual_shape_route(&net->state->shape, packet->router, node,
                                                    packet->axis, packet->channel);
    if (step.link == NONE)
        step = (pen_virtual_step){ .link = way_out(net, node), .router = node };
    packet->router = step.router;
    packet->axis = step.axis;
    packet->channel = step.channel;
    pen_virtual_lane *lane = &net->lanes[step.link * CHANNELS + step.channel];
    append(net, &lane->first, &lane->last, number);
    return step.link;
}

/* Chooses a lane with a packet and a place for it, the channels in turn. Returns NONE if no lane
 * has both. *waits: some lane has a packet. */
static uint32_t choose_lane(const pen_virtual_net *net, uint32_t link_i, bool *waits)
{
    const pen_virtual_link *link = &net->links[link_i];
    uint32_t chosen = NONE;
    *waits = false;
    for (uint32_t i = 0; i < CHANNELS; i++) {
        uint32_t lane_i = link_i * CHANNELS + (link->next_channel + i) % CHANNELS;
        const pen_virtual_lane *lane = &net->lanes[lane_i];
        *waits = *waits || lane->first != 0;
        if (chosen == NONE && lane->first != 0 && lane->places != 0)
            chosen = lane_i;
    }
    return chosen;
}

static void arm(const pen_virtual_net *net, uint32_t link_i)
{
    pen_virtual_link *link = &net->links[link_i];
    if (link->is_armed)
        return;
    link->is_armed = true;
    schedule(net, link->free_ns, EVENT_FREE, link_i);
}

/* Moves a packet that begins to go over a link. Returns the link that can go on because of this, or
 * NONE. */
static uint32_t pass(const pen_virtual_net *net, uint32_t link_i, uint32_t lane_i, uint32_t number)
{
    const pen_virtual_net_state *state = net->state;
    const pen_virtual_shape *shape = &state->shape;
    const pen_virtual_machine *machine = &state->machine;
    pen_virtual_packet *packet = pen_virtual_net_packet(net, number);
    uint64_t now_ns = net->events->now_ns;
    uint32_t before = packet->via;
    packet->via = lane_i;
    if (link_i >= shape->links + shape->nodes) { /* the way out */
        schedule(net, now_ns + packet->link_ns + machine->nic_receive, EVENT_ARRIVED, number);
    } else if (link_i >= shape->links) { /* the way in */
        pen_virtual_port *from = &net->ports[packet->from];
        from->queued--;
        if (from->wants_room) {
            from->wants_room = false;
            net->notify(net->ctx, packet->from);
        }
        return join(net, number);
    } else {
        bool has_router = pen_virtual_shape_has_router(shape, packet->router);
        schedule(net, now_ns + (has_router ? machine->router : 0), EVENT_HEAD, number);
    }
    if (before == NONE)
        return NONE;
    net->lanes[before].places++;
    return before / CHANNELS;
}

/* Sends what can go over the link now, then over the link that this sets free, and so on. */
static void start(const pen_virtual_net *net, uint32_t link_i)
{
    uint64_t now_ns = net->events->now_ns;
    while (link_i != NONE) {
        pen_virtual_link *link = &net->links[link_i];
        bool waits;
        uint32_t lane_i = choose_lane(net, link_i, &waits);
        if (lane_i == NONE)
            return;
        if (link->free_ns > now_ns) {
            arm(net, link_i);
            return;
        }
        uint32_t number = take_first(net, &net->lanes[lane_i].first);
        const pen_virtual_packet *packet = pen_virtual_net_packet(net, number);
        net->lanes[lane_i].places--;
        uint32_t busy_ns = link_i < net->state->shape.links ? packet->link_ns : packet->card_ns;
        link->free_ns = now_ns + busy_ns;
        link->busy_ns += net->state->is_frozen ? 0 : busy_ns;
        count(net, &link->packets);
        link->next_channel = (lane_i + 1) % CHANNELS;
        if (choose_lane(net, link_i, &waits) != NONE)
            arm(net, link_i);
        link_i = pass(net, link_i, lane_i, number);
    }
}

/* ---- arriving -------------------------------------------------------------------------------- */

static void hand_in(const pen_virtual_net *net, uint32_t number)
{
    const pen_virtual_packet *packet = pen_virtual_net_packet(net, number);
    pen_virtual_port *to = &net->ports[packet->to];
    append(net, &to->first, &to->last, number);
    net->notify(net->ctx, packet->to);
}

/* The packet goes back to its sender. */
static void turn_round(const pen_virtual_net *net, uint32_t number)
{
    pen_virtual_packet *packet = pen_virtual_net_packet(net, number);
    const pen_virtual_machine *machine = &net->state->machine;
    uint32_t from = packet->from;
    packet->from = packet->to;
    packet->to = from;
    packet->card_ns =
        (uint32_t)((uint64_t)packet->back_link_ns * machine->nic_gap / machine->link_packet);
    packet->link_ns = packet->back_link_ns;
    packet->back_link_ns = 0;
    packet->via = NONE;
    net->ports[packet->from].queued++;
    schedule(net, net->events->now_ns + machine->read_memory, EVENT_ENTER, number);
}

/* Gives the place in the card back. */
static void leave_card(const pen_virtual_net *net, const pen_virtual_packet *packet)
{
    net->lanes[packet->via].places++;
    start(net, packet->via / CHANNELS);
}

/* Whether the target's mailbox has a slot for the packet, which it then takes. */
static bool take_slot(const pen_virtual_net *net, const pen_virtual_packet *packet)
{
    pen_virtual_port *to = &net->ports[packet->to];
    if (!packet->is_counted)
        return true;
    if (to->held >= to->slots)
        return false;
    to->held++;
    return true;
}

static void arrive(const pen_virtual_net *net, uint32_t number)
{
    const pen_virtual_packet *packet = pen_virtual_net_packet(net, number);
    pen_virtual_node *node = &net->nodes[net->ports[packet->to].node];
    if (node->first != 0 || !take_slot(net, packet)) {
        count(net, &net->state->counts.mailbox_full);
        append(net, &node->first, &node->last, number);
        return;
    }
    leave_card(net, packet);
    if (packet->back_link_ns != 0)
        turn_round(net, number);
    else
        hand_in(net, number);
}

static void free_slots(const pen_virtual_net *net, uint32_t port)
{
    pen_virtual_node *node = &net->nodes[net->ports[port].node];
    net->ports[port].held -= net->ports[port].freed;
    net->ports[port].freed = 0;
    while (node->first != 0 && take_slot(net, pen_virtual_net_packet(net, node->first))) {
        uint32_t number = take_first(net, &node->first);
        const pen_virtual_packet *packet = pen_virtual_net_packet(net, number);
        leave_card(net, packet);
        if (packet->back_link_ns != 0)
            turn_round(net, number);
        else
            hand_in(net, number);
    }
}

/* ---- the caller's side ----------------------------------------------------------------------- */

void pen_virtual_net_send(pen_virtual_net *net, uint32_t number, uint64_t time_ns)
{
    const pen_virtual_packet *packet = pen_virtual_net_packet(net, number);
    count(net, &net->state->counts.sent);
    net->state->under_way++;
    net->ports[packet->from].queued++;
    schedule(net, time_ns + net->state->machine.nic_send, EVENT_ENTER, number);
}

void pen_virtual_net_put(pen_virtual_net *net, uint32_t number, uint64_t time_ns)
{
    count(net, &net->state->counts.sent);
    net->state->under_way++;
    schedule(net, time_ns, EVENT_PUT, number);
}

void pen_virtual_net_release(pen_virtual_net *net, uint32_t port, uint32_t slots, uint64_t time_ns)
{
    if (net->ports[port].freed == 0)
        schedule(net, time_ns, EVENT_SLOTS, port);
    net->ports[port].freed += slots;
}

uint32_t pen_virtual_net_first(const pen_virtual_net *net, uint32_t port)
{
    return net->ports[port].first;
}

uint32_t pen_virtual_net_receive(pen_virtual_net *net, uint32_t port)
{
    uint32_t number = take_first(net, &net->ports[port].first);
    if (number != 0) {
        count(net, &net->state->counts.received);
        net->state->under_way--;
    }
    return number;
}

static void enter(const pen_virtual_net *net, uint32_t number)
{
    pen_virtual_packet *packet = pen_virtual_net_packet(net, number);
    packet->router = net->ports[packet->from].node;
    packet->axis = NONE;
    packet->channel = 0;
    uint32_t link_i = way_in(net, packet->router);
    pen_virtual_lane *lane = &net->lanes[(size_t)link_i * CHANNELS];
    append(net, &lane->first, &lane->last, number);
    start(net, link_i);
}

void pen_virtual_net_go_on(pen_virtual_net *net)
{
    pen_virtual_event event = { 0 };
    bool taken = pen_virtual_events_take(net->events, &event);
    PEN_INVARIANT(taken);
    count(net, &net->state->counts.events);
    switch ((event_kind)event.kind) {
    case EVENT_ENTER:
        enter(net, event.what);
        break;
    case EVENT_HEAD:
        start(net, join(net, event.what));
        break;
    case EVENT_FREE:
        net->links[event.what].is_armed = false;
        start(net, event.what);
        break;
    case EVENT_ARRIVED:
        arrive(net, event.what);
        break;
    case EVENT_PUT:
        hand_in(net, event.what);
        break;
    case EVENT_SLOTS:
        free_slots(net, event.what);
        break;
    }
}

bool pen_virtual_net_is_quiet(const pen_virtual_net *net)
{
    const pen_virtual_net_state *state = net->state;
    for (uint32_t i = 0; i < link_count(&state->shape) * CHANNELS; i++)
        if (net->lanes[i].first != 0 || net->lanes[i].places != state->machine.link_buffer)
            return false;
    for (uint32_t port = 0; port < state->ports; port++)
        if (net->ports[port].queued != 0 || net->ports[port].first != 0)
            return false;
    return state->under_way == 0;
}
