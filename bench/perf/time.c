/* SPDX-License-Identifier: BSD-3-Clause */
/* time.c: blocks of an operation, on all ranks at once. */
#include "perf.h"

#include <gasnet_coll.h>

enum { MEASURE_BLOCKS = 9, MEASURE_BLOCKS_QUICK = 3, ROUNDS_MAX = 1 << 28 };
#define MEASURE_BLOCK_NS       5e6
#define MEASURE_BLOCK_QUICK_NS 1e6
#define IDLE_NS                5e5

void perf_meet(void) { gex_Event_Wait(gex_Coll_BarrierNB(perf.team, 0)); }

uint64_t perf_agree(uint64_t number)
{
    uint64_t agreed = 0;
    gex_Event_Wait(gex_Coll_BroadcastNB(perf.team, 0, &agreed, &number, sizeof(number), 0));
    return agreed;
}

perf_time perf_block(perf_op op, uint64_t rounds, size_t len)
{
    perf_meet();
    const block_clock start = block_clock_start();
    op(rounds, len);
    const block_clock took = block_clock_since(start);
    /* A rank that had almost nothing to do in this block cannot have delayed it. */
    const bool busy = took.wall_ns > IDLE_NS;
    return (perf_time){ .each_ns = took.wall_ns / (double)rounds,
                        .cpu_ns = took.cpu_ns / (double)rounds,
                        .lost = busy ? block_clock_lost(took) : 0 };
}

/* The last trial is an eighth of a block and warms what the operation uses. What is done only once,
 * at the first operation, must not pass for its time. */
uint64_t perf_rounds(perf_op op, size_t len, double block_ns)
{
    uint64_t rounds = 1;
    double each_ns = 0;
    (void)perf_block(op, rounds, len);
    do {
        rounds = perf_agree(rounds * 4);
        each_ns = perf_block(op, rounds, len).each_ns;
    } while (perf_agree(each_ns * (double)rounds < block_ns / 8 && rounds < ROUNDS_MAX));
    return perf_agree((uint64_t)(block_ns / each_ns) + 1);
}

double perf_measure(perf_op op, size_t len)
{
    const unsigned blocks = perf.options.quick ? MEASURE_BLOCKS_QUICK : MEASURE_BLOCKS;
    double each_ns[MEASURE_BLOCKS];
    const uint64_t rounds =
        perf_rounds(op, len, perf.options.quick ? MEASURE_BLOCK_QUICK_NS : MEASURE_BLOCK_NS);
    for (unsigned i = 0; i < blocks; i++)
        each_ns[i] = perf_block(op, rounds, len).each_ns;
    return block_median(each_ns, blocks);
}
