/* SPDX-License-Identifier: BSD-3-Clause */
/* net_test.c: the network against closed forms: the latency of one packet, the rate of a link, and
 * the saturation of meshes under uniform traffic. Every packet that was sent arrives once and in
 * order, links are never busy twice at a time, and full mailboxes and buffers stop the senders
 * without a deadlock. */
#include "virtual/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LINK_NS = 128, PORTS_MAX = 1024 };

typedef struct world {
    pen_virtual_net net;
    void *memory;
    uint32_t ports, under_way[PORTS_MAX], last[PORTS_MAX][8];
    uint64_t received, random, notices;
} world;

static pen_virtual_machine machine_of_the_papers(void)
{
    char path[512], problem[256];
    pen_virtual_machine machine;
    const char *source = getenv("PENSTOCK_SOURCE_DIR");
    (void)snprintf(path, sizeof path, "%s/src/virtual/machines/extoll-r1",
                   source != NULL ? source : ".");
    if (!pen_virtual_machine_read(path, &machine, problem, sizeof problem))
        fail_msg("%s", problem);
    return machine;
}

static void notify(void *ctx, uint32_t port)
{
    world *w = ctx;
    w->notices++;
    assert_true(port < w->ports);
}

static world *open_world(const char *topology, uint32_t nodes, uint32_t per_node,
                         const pen_virtual_machine *machine)
{
    static uint32_t node_of[PORTS_MAX];
    char problem[256];
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->ports = nodes * per_node;
    w->random = 1;
    pen_virtual_net_params params = {
        .machine = *machine, .ports = w->ports, .nodes = node_of, .packets = 1 << 16
    };
    for (uint32_t port = 0; port < w->ports; port++)
        node_of[port] = port / per_node;
    assert_true(pen_virtual_shape_parse(topology, nodes, &params.shape, problem, sizeof problem));
    size_t len = pen_virtual_net_len(&params);
    w->memory = aligned_alloc(64, (len + 63) / 64 * 64);
    assert_non_null(w->memory);
    memset(w->memory, 0, len);
    pen_virtual_net_init(w->memory, &params);
    pen_virtual_net_open(w->memory, &w->net);
    w->net.notify = notify;
    w->net.ctx = w;
    return w;
}

static void close_world(world *w)
{
    free(w->memory);
    free(w);
}

static uint32_t draw(world *w, uint32_t bound)
{
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((w->random >> 33) % bound);
}

/* Sends a packet at a time; its first word is that time. Returns false if there is no room. */
static bool send_at(world *w, uint32_t from, uint32_t to, uint64_t time_ns)
{
    uint32_t number = pen_virtual_net_take(&w->net, from);
    if (number == 0)
        return false;
    pen_virtual_packet *packet = pen_virtual_net_packet(&w->net, number);
    const pen_virtual_machine *machine = pen_virtual_net_machine(&w->net);
    packet->to = to;
    packet->link_ns = machine->link_packet;
    packet->card_ns = machine->nic_gap;
    packet->word[0] = time_ns;
    pen_virtual_net_send(&w->net, number, time_ns);
    return true;
}

static uint64_t now_ns(const world *w) { return w->net.events->now_ns; }

/* Runs until the port has a packet, and takes it. Returns the time from sending to then. */
static uint64_t time_to(world *w, uint32_t port)
{
    while (pen_virtual_net_first(&w->net, port) == 0) {
        assert_true(pen_virtual_events_next_ns(w->net.events) != UINT64_MAX);
        pen_virtual_net_go_on(&w->net);
    }
    uint32_t number = pen_virtual_net_receive(&w->net, port);
    uint64_t took_ns = now_ns(w) - pen_virtual_net_packet(&w->net, number)->word[0];
    pen_virtual_net_free(&w->net, number);
    return took_ns;
}

static void run_out(world *w)
{
    while (pen_virtual_events_next_ns(w->net.events) != UINT64_MAX)
        pen_virtual_net_go_on(&w->net);
}

/* ---- closed forms ---------------------------------------------------------------------------- */

static void one_packet_takes_what_the_machine_says(void **state)
{
    (void)state;
    pen_virtual_machine m = machine_of_the_papers();
    const uint64_t processor_ns = m.send_packet + m.poll_packet;
    const struct {
        const char *topology;
        uint32_t nodes, to;
        uint64_t expected_ns;
    } rows[] = {
        { "mesh:2", 2, 1, 970 },
        { "crossbar", 2, 1, 970 },
        { "torus:4x4x4", 64, 3, 970 },
        { "mesh:4x4x4", 64, 63, 970 + 8 * 300 },
        { "fat-tree:4x4", 16, 15, 970 + 2 * 300 },
        { "fat-tree:4x4", 16, 3, 970 },
        { "mesh:2", 2, 0, 970 - 300 }, /* to the own node: no router */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world *w = open_world(rows[i].topology, rows[i].nodes, 1, &m);
        assert_true(send_at(w, 0, rows[i].to, 1000));
        assert_int_equal(time_to(w, rows[i].to) + processor_ns, rows[i].expected_ns);
        run_out(w);
        assert_true(pen_virtual_net_is_quiet(&w->net));
        close_world(w);
    }
}

static void link_carries_a_packet_each_link_time(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    pen_virtual_machine m = machine_of_the_papers();
    world *w = open_world("mesh:2", 2, 1, &m);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_true(send_at(w, 0, 1, 0));
    uint64_t first_ns = time_to(w, 1), last_ns = 0;
    for (uint32_t i = 1; i < COUNT; i++)
        last_ns = time_to(w, 1);
    assert_int_equal(last_ns - first_ns, (COUNT - 1) * LINK_NS);
    close_world(w);
}

/* A burst takes as long on the links as its packets, but its head is cut through. */
static void burst_pays_its_length_once(void **state)
{
    (void)state;
    pen_virtual_machine m = machine_of_the_papers();
    world *w = open_world("mesh:4", 4, 1, &m);
    uint32_t number = pen_virtual_net_take(&w->net, 0);
    pen_virtual_packet *packet = pen_virtual_net_packet(&w->net, number);
    packet->to = 3;
    packet->link_ns = 1000 * LINK_NS;
    packet->card_ns = 1000 * m.nic_gap;
    pen_virtual_net_send(&w->net, number, 0);
    assert_int_equal(time_to(w, 3), m.nic_send + 3 * m.router + 1000 * LINK_NS + m.nic_receive);
    assert_true(pen_virtual_net_count(&w->net)->events <= 6);
    close_world(w);
}

static void get_turns_round_at_the_card(void **state)
{
    (void)state;
    pen_virtual_machine m = machine_of_the_papers();
    world *w = open_world("mesh:2", 2, 1, &m);
    uint32_t number = pen_virtual_net_take(&w->net, 0);
    pen_virtual_packet *packet = pen_virtual_net_packet(&w->net, number);
    packet->to = 1;
    packet->link_ns = LINK_NS;
    packet->card_ns = m.nic_gap;
    packet->back_link_ns = 10 * LINK_NS;
    pen_virtual_net_send(&w->net, number, 0);
    uint64_t once = m.nic_send + m.router + m.nic_receive;
    uint64_t between = m.read_memory + m.nic_send - m.nic_send;
    assert_int_equal(time_to(w, 0), 2 * once - m.nic_send + LINK_NS + between + 10 * LINK_NS);
    run_out(w);
    assert_true(pen_virtual_net_is_quiet(&w->net));
    close_world(w);
}

/* Each port keeps `window` packets under way to ports drawn at random, those of its own node
 * included. Returns packets in `total` times the link time, over the time: the capacity in units of
 * a link. */
static double load(world *w, uint32_t window, uint32_t total)
{
    uint32_t sent = 0;
    for (uint32_t i = 0; i < window; i++)
        for (uint32_t port = 0; port < w->ports; port++, sent++)
            assert_true(send_at(w, port, draw(w, w->ports), 0));
    uint64_t begin_ns = 0;
    for (uint64_t received = 0; received < total;) {
        pen_virtual_net_go_on(&w->net);
        for (uint32_t port = 0; port < w->ports; port++) {
            uint32_t number;
            while ((number = pen_virtual_net_receive(&w->net, port)) != 0) {
                uint32_t from = pen_virtual_net_packet(&w->net, number)->from;
                pen_virtual_net_free(&w->net, number);
                if (++received == total / 4)
                    begin_ns = now_ns(w);
                assert_true(send_at(w, from, draw(w, w->ports), now_ns(w)));
            }
        }
    }
    uint64_t counted = total - total / 4;
    return (double)(counted * LINK_NS) / (double)(now_ns(w) - begin_ns);
}

/* The table of the papers' meshes: node k of n is the k-th position of the filled part. A part of a
 * mesh saturates as a mesh of that size. */
static void uniform_traffic_saturates_meshes_at_their_bisection(void **state)
{
    (void)state;
    const struct {
        const char *topology;
        uint32_t nodes, total;
        double expected;
    } rows[] = {
        { "mesh:4", 4, 40000, 4 },        { "mesh:4x2", 8, 40000, 8 },
        { "mesh:8", 8, 40000, 4 },        { "mesh:8x2", 16, 60000, 8 },
        { "mesh:4x4", 16, 60000, 16 },    { "mesh:8x4", 32, 60000, 16 },
        { "mesh:4x8", 32, 60000, 16 },    { "mesh:4x4x2", 32, 100000, 32 },
        { "mesh:4x16", 64, 60000, 16 },   { "mesh:8x8", 64, 100000, 32 },
        { "mesh:4x4x4", 64, 150000, 64 },
    };
    pen_virtual_machine m = machine_of_the_papers();
    m.link_buffer = 4096; /* deep buffers: no packet waits for one that goes elsewhere */
    m.nic_queue = 4096;
    m.nic_gap = 64; /* the cards of 16 ranks are no bottleneck */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world *w = open_world(rows[i].topology, rows[i].nodes, 1, &m);
        double found = load(w, 256, rows[i].total);
        print_message("%-12s %6.2f of %g\n", rows[i].topology, found, rows[i].expected);
        if (found < 0.95 * rows[i].expected || found > 1.05 * rows[i].expected)
            fail_msg("%s saturates at %.2f, not at %g", rows[i].topology, found, rows[i].expected);
        close_world(w);
    }
}

/* ---- laws ------------------------------------------------------------------------------------ */

typedef struct flow {
    uint32_t sent, received;
} flow;

/* Floods small buffers and mailboxes at random, and takes packets out slowly. */
static void flood(const char *topology, uint32_t nodes, uint32_t per_node, uint32_t total)
{
    static flow flows[64][64];
    pen_virtual_machine m = machine_of_the_papers();
    m.link_buffer = 2;
    m.nic_queue = 4;
    world *w = open_world(topology, nodes, per_node, &m);
    memset(flows, 0, sizeof flows);
    for (uint32_t port = 0; port < w->ports; port++)
        pen_virtual_net_mailbox(&w->net, port, 3);
    uint32_t sent = 0, received = 0;
    uint32_t held[64] = { 0 };
    while (received < total) {
        for (uint32_t i = 0; i < 4 && sent < total; i++) {
            uint32_t from = draw(w, w->ports), to = draw(w, w->ports);
            uint32_t number = pen_virtual_net_take(&w->net, from);
            if (number == 0)
                continue;
            pen_virtual_packet *packet = pen_virtual_net_packet(&w->net, number);
            packet->to = to;
            packet->link_ns = m.link_packet;
            packet->card_ns = m.nic_gap;
            packet->is_counted = true;
            packet->word[0] = flows[from][to].sent++;
            pen_virtual_net_send(&w->net, number, now_ns(w));
            sent++;
        }
        if (pen_virtual_events_next_ns(w->net.events) != UINT64_MAX)
            pen_virtual_net_go_on(&w->net);
        uint32_t port = draw(w, w->ports), number = pen_virtual_net_receive(&w->net, port);
        if (number != 0) {
            const pen_virtual_packet *packet = pen_virtual_net_packet(&w->net, number);
            assert_int_equal(packet->to, port);
            assert_int_equal(packet->word[0], flows[packet->from][port].received++);
            pen_virtual_net_free(&w->net, number);
            held[port]++;
            received++;
        }
        assert_true(held[port] <= 3);
        if (held[port] != 0 && draw(w, 3) == 0) {
            pen_virtual_net_release(&w->net, port, held[port], now_ns(w));
            held[port] = 0;
        }
    }
    assert_int_equal(sent, total);
    run_out(w);
    assert_true(pen_virtual_net_is_quiet(&w->net));
    assert_true(pen_virtual_net_count(&w->net)->mailbox_full > 0);
    assert_true(pen_virtual_net_count(&w->net)->card_full > 0);
    const pen_virtual_shape *shape = pen_virtual_net_shape(&w->net);
    for (uint32_t i = 0; i < shape->links + 2 * shape->nodes; i++)
        assert_true(w->net.links[i].busy_ns <= now_ns(w) + m.link_packet);
    close_world(w);
}

static void floods_lose_nothing_and_end(void **state)
{
    (void)state;
    flood("crossbar", 8, 2, 20000);
    flood("mesh:4x4", 16, 2, 20000);
    flood("torus:5x3", 15, 1, 20000);
    flood("torus:3x3x3", 27, 2, 20000);
    flood("fat-tree:4x2", 16, 1, 20000);
}

static void send_counted(world *w, uint32_t from, uint32_t to)
{
    uint32_t number = pen_virtual_net_take(&w->net, from);
    pen_virtual_packet *packet = pen_virtual_net_packet(&w->net, number);
    packet->to = to;
    packet->link_ns = packet->card_ns = LINK_NS;
    packet->is_counted = true;
    pen_virtual_net_send(&w->net, number, now_ns(w));
}

/* Ports 2 and 3 share a card. What waits for a slot of port 2 stops what goes to port 3. */
static void full_mailbox_blocks_the_card_of_its_node(void **state)
{
    (void)state;
    pen_virtual_machine m = machine_of_the_papers();
    world *w = open_world("mesh:2", 2, 2, &m);
    pen_virtual_net_mailbox(&w->net, 2, 1);
    pen_virtual_net_mailbox(&w->net, 3, 1);
    send_counted(w, 0, 2);
    send_counted(w, 0, 2);
    send_counted(w, 0, 3);
    run_out(w);
    uint32_t number = pen_virtual_net_receive(&w->net, 2);
    assert_int_not_equal(number, 0);
    assert_int_equal(pen_virtual_net_first(&w->net, 2), 0);
    assert_int_equal(pen_virtual_net_first(&w->net, 3), 0);
    pen_virtual_net_release(&w->net, 2, 1, now_ns(w));
    run_out(w);
    assert_int_not_equal(pen_virtual_net_first(&w->net, 2), 0);
    assert_int_not_equal(pen_virtual_net_first(&w->net, 3), 0);
    close_world(w);
}

/* A ring whose nodes all send half way round fills every buffer of the ring. */
static void full_ring_goes_on(void **state)
{
    (void)state;
    pen_virtual_machine m = machine_of_the_papers();
    m.link_buffer = 2;
    world *w = open_world("torus:8", 8, 1, &m);
    for (uint32_t i = 0; i < 100; i++)
        for (uint32_t port = 0; port < 8; port++)
            assert_true(send_at(w, port, (port + 3) % 8, 0));
    run_out(w);
    for (uint32_t port = 0; port < 8; port++)
        for (uint32_t i = 0; i < 100; i++) {
            uint32_t number = pen_virtual_net_receive(&w->net, port);
            assert_int_not_equal(number, 0);
            pen_virtual_net_free(&w->net, number);
        }
    assert_true(pen_virtual_net_is_quiet(&w->net));
    close_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_packet_takes_what_the_machine_says),
        cmocka_unit_test(link_carries_a_packet_each_link_time),
        cmocka_unit_test(burst_pays_its_length_once),
        cmocka_unit_test(get_turns_round_at_the_card),
        cmocka_unit_test(uniform_traffic_saturates_meshes_at_their_bisection),
        cmocka_unit_test(floods_lose_nothing_and_end),
        cmocka_unit_test(full_mailbox_blocks_the_card_of_its_node),
        cmocka_unit_test(full_ring_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
