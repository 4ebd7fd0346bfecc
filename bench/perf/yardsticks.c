/* SPDX-License-Identifier: BSD-3-Clause */
/* yardsticks.c: the yardsticks (raw.h and its companions) in the form of an operation. Ranks other
 * than the two that measure skip them and wait in the barrier after the block. */
#include "../raw_memory.h"
#include "../raw_wait.h"
#include "perf.h"

static bool ours(void) { return perf.rank < 2; }

void raw_op_line(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_exchange_turns(&perf.pair, rounds, false);
}

void raw_op_line_yield(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_exchange_turns(&perf.pair, rounds, true);
}

void raw_op_futex(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_exchange_futex(&perf.pair, rounds);
}

/* The core to a neighbour and back, by sched_yield, while every other rank sleeps. */
void raw_op_hand_off(uint64_t rounds, size_t len)
{
    (void)len;
    if (perf.rank != 0 && perf.rank != perf.cores) {
        raw_gate_sleep(perf.root, &perf.gates);
        return;
    }
    if (perf.rank == 0)
        raw_gate_await_sleepers(perf.root, perf.size - 2);
    raw_exchange_turns(&perf.neighbours, rounds, true);
    perf.gates++;
    if (perf.rank == 0)
        raw_gate_open(perf.root);
}

void raw_op_echo(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_echo(&perf.pair, rounds);
}

void raw_op_flood(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_flood(&perf.pair, rounds);
}

void raw_op_copies(uint64_t rounds, size_t len)
{
    if (ours())
        raw_copies(&perf.pair, rounds, len);
}

void raw_op_bulk_echo(uint64_t rounds, size_t len)
{
    if (ours())
        raw_bulk_echo(&perf.pair, rounds, len);
}

void raw_op_bulk_both(uint64_t rounds, size_t len)
{
    if (ours())
        raw_bulk_both(&perf.pair, rounds, len);
}

void raw_op_put8(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_put8(&perf.pair, rounds);
}

void raw_op_get8(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_get8(&perf.pair, rounds);
}

void raw_op_put(uint64_t rounds, size_t len)
{
    if (ours())
        raw_put(&perf.pair, rounds, len);
}

void raw_op_get(uint64_t rounds, size_t len)
{
    if (ours())
        raw_get(&perf.pair, rounds, len);
}

void raw_op_put_pieces(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_put_pieces(&perf.pair, rounds);
}

void raw_op_get_pieces(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_get_pieces(&perf.pair, rounds);
}

void raw_op_fetch_add(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_fetch_add(&perf.pair, rounds);
}

void raw_op_udp_echo(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_udp_echo(&perf.sockets, rounds);
}

void raw_op_udp_flood(uint64_t rounds, size_t len)
{
    (void)len;
    if (ours())
        raw_udp_flood(&perf.sockets, rounds);
}

void raw_op_udp_stream(uint64_t rounds, size_t len)
{
    if (ours())
        raw_udp_stream(&perf.sockets, rounds, len,
                       perf.rank == 0 ? perf.local : perf.pair.mine->bulk);
}
