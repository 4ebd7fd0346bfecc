/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_blocks.h: how long a collective takes: the one loop that coll.c runs with the library and
 * peers/mpi_coll.c with MPI, so that the two cannot differ. Each point (operation, bytes) is run
 * once with every byte of every result compared, then in blocks that end with a barrier, so that
 * what is still under way is counted; the median of the blocks is the result, in microseconds. */
#ifndef BENCH_COLL_BLOCKS_H
#define BENCH_COLL_BLOCKS_H

#include "blocks.h"
#include "place.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

typedef enum coll_op {
    COLL_BARRIER,
    COLL_BROADCAST,
    COLL_REDUCE,
    COLL_REDUCE_ALL,
    COLL_GATHER,
    COLL_GATHER_ALL,
    COLL_ALL_TO_ALL,
    COLL_OPS
} coll_op;

static const char *const coll_names[COLL_OPS] = { "barrier",    "broadcast", "reduce",
                                                  "reduce_all", "gather",    "gather_all",
                                                  "all_to_all" };

enum {
    COLL_BYTES_MIN = 8,
    COLL_BYTES_MAX = 1 << 20,
    COLL_ROOT = 0,
    COLL_BLOCKS = 7,
    COLL_BLOCKS_SLOW = 5, /* where one operation is longer than a block */
    COLL_BLOCK_MS = 2,
    COLL_ROUNDS_MAX = 20000
};

/* A collective to measure. bytes: length of the whole for a broadcast and for a reduction (a sum of
 * doubles), of each part otherwise. run returns when this rank is done. */
typedef struct coll_peer {
    unsigned rank, size;
    void *(*memory)(size_t len);
    void (*run)(coll_op op, void *dest, const void *source, size_t bytes);
    void (*fail)(const char *what);
} coll_peer;

typedef struct coll_bench {
    const coll_peer *peer;
    char *dest, *source;
    size_t factor;    /* between sizes */
    size_t bytes_max; /* of a point */
    double budget_s;  /* no point is begun later */
    const char *only;
    double start_ns;
} coll_bench;

static inline bool coll_reduces(coll_op op) { return op == COLL_REDUCE || op == COLL_REDUCE_ALL; }

static inline bool coll_has_result(coll_op op, unsigned rank)
{
    return rank == COLL_ROOT || (op != COLL_REDUCE && op != COLL_GATHER);
}

static inline void coll_meet(const coll_bench *bench)
{
    bench->peer->run(COLL_BARRIER, NULL, NULL, 0);
}

/* ---- is it right? ---------------------------------------------------------------------------- */

static inline unsigned char coll_byte(unsigned from, size_t at)
{
    return (unsigned char)(from * 37 + at * 13 + (at >> 8) * 5 + 1);
}

static inline double coll_number(unsigned from, size_t element_i)
{
    return (double)((from * 5 + element_i) % 11) - 3;
}

static inline void coll_fill(const coll_bench *bench, coll_op op, size_t bytes)
{
    const unsigned rank = bench->peer->rank, size = bench->peer->size;
    const size_t len = op == COLL_ALL_TO_ALL ? bytes * size : bytes;
    if (coll_reduces(op))
        for (size_t i = 0; i < bytes / sizeof(double); i++)
            ((double *)(void *)bench->source)[i] = coll_number(rank, i);
    else
        for (size_t at = 0; at < len; at++)
            bench->source[at] = (char)coll_byte(rank, at);
    memset(bench->dest, 0x55, op < COLL_GATHER ? bytes : bytes * size);
}

static inline bool coll_part_right(const char *part, unsigned from, size_t first, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++)
        if ((unsigned char)part[at] != coll_byte(from, first + at))
            return false;
    return true;
}

static inline bool coll_sums_right(const coll_bench *bench, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(double); i++) {
        double sum = 0;
        for (unsigned from = 0; from < bench->peer->size; from++)
            sum += coll_number(from, i);
        if (((const double *)(const void *)bench->dest)[i] != sum)
            return false;
    }
    return true;
}

static inline bool coll_right(const coll_bench *bench, coll_op op, size_t bytes)
{
    const unsigned rank = bench->peer->rank;
    if (op == COLL_BARRIER || !coll_has_result(op, rank))
        return true;
    if (op == COLL_BROADCAST)
        return rank == COLL_ROOT || coll_part_right(bench->dest, COLL_ROOT, 0, bytes);
    if (coll_reduces(op))
        return coll_sums_right(bench, bytes);
    for (unsigned from = 0; from < bench->peer->size; from++)
        if (!coll_part_right(bench->dest + from * bytes, from,
                             op == COLL_ALL_TO_ALL ? rank * bytes : 0, bytes))
            return false;
    return true;
}

/* ---- how long? ------------------------------------------------------------------------------- */

static inline void coll_rounds(const coll_bench *bench, coll_op op, size_t bytes, uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++)
        bench->peer->run(op, bench->dest, bench->source, bytes);
}

static inline double coll_block_ns(const coll_bench *bench, coll_op op, size_t bytes,
                                   uint64_t rounds)
{
    coll_meet(bench);
    const double start_ns = block_now_ns();
    coll_rounds(bench, op, bytes, rounds);
    coll_meet(bench);
    return (block_now_ns() - start_ns) / (double)rounds;
}

/* Rank 0's number, at all ranks. */
static inline uint64_t coll_agree(const coll_bench *bench, uint64_t number)
{
    if (bench->peer->rank == COLL_ROOT)
        memcpy(bench->source, &number, sizeof number);
    bench->peer->run(COLL_BROADCAST, bench->dest, bench->source, sizeof number);
    if (bench->peer->rank != COLL_ROOT)
        memcpy(&number, bench->dest, sizeof number);
    return number;
}

static inline uint64_t coll_rounds_for_block(const coll_bench *bench, coll_op op, size_t bytes)
{
    uint64_t rounds = 1;
    for (;;) {
        const double took_ns =
            coll_block_ns(bench, op, bytes, rounds) * (double)rounds / (COLL_BLOCK_MS * 1e6);
        double wanted = (double)rounds / (took_ns > 1e-3 ? took_ns : 1e-3);
        if (wanted > COLL_ROUNDS_MAX)
            wanted = COLL_ROUNDS_MAX;
        const bool enough = took_ns > 0.2 || wanted < (double)rounds * 2;
        const uint64_t next = coll_agree(bench, (uint64_t)wanted + 1);
        if (coll_agree(bench, enough))
            return next;
        rounds = next;
    }
}

static inline void coll_point(const coll_bench *bench, coll_op op, size_t bytes)
{
    const coll_peer *peer = bench->peer;
    double times_ns[COLL_BLOCKS];
    coll_fill(bench, op, bytes);
    coll_meet(bench);
    peer->run(op, bench->dest, bench->source, bytes);
    if (!coll_right(bench, op, bytes))
        peer->fail(coll_names[op]);
    coll_meet(bench);
    const uint64_t rounds = coll_rounds_for_block(bench, op, bytes);
    const unsigned blocks = rounds <= 2 ? COLL_BLOCKS_SLOW : COLL_BLOCKS;
    for (unsigned i = 0; i < blocks; i++)
        times_ns[i] = coll_block_ns(bench, op, bytes, rounds);
    if (peer->rank != COLL_ROOT)
        return;
    printf("{\"metric\":\"coll_%s\",\"ranks\":%u,\"bytes\":%zu,\"value\":%.4f,\"unit\":\"us\"}\n",
           coll_names[op], peer->size, bytes, block_median(times_ns, blocks) / 1e3);
    fflush(stdout);
}

static inline bool coll_in_time(const coll_bench *bench)
{
    return coll_agree(bench, block_now_ns() - bench->start_ns < bench->budget_s * 1e9) != 0;
}

static inline void coll_measure(coll_bench *bench)
{
    bench->start_ns = block_now_ns();
    for (unsigned op = 0; op < COLL_OPS; op++) {
        if (bench->only != NULL && strcmp(bench->only, coll_names[op]) != 0)
            continue;
        for (size_t bytes = op == COLL_BARRIER ? 0 : COLL_BYTES_MIN;
             bytes <= bench->bytes_max && coll_in_time(bench);
             bytes = bytes == 0 ? SIZE_MAX : bytes * bench->factor)
            coll_point(bench, (coll_op)op, bytes);
    }
}

/* ---- start ----------------------------------------------------------------------------------- */

static inline const char *coll_arguments(coll_bench *bench, int argc, char **argv)
{
    bench->factor = 2;
    bench->bytes_max = COLL_BYTES_MAX;
    bench->budget_s = 60;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--factor") == 0)
            bench->factor = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--max") == 0)
            bench->bytes_max = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--budget") == 0)
            bench->budget_s = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--only") == 0)
            bench->only = argv[i + 1];
        else
            return "arguments: [--factor F] [--max BYTES] [--budget SECONDS] [--only OPERATION]";
    }
    return bench->factor >= 2 && bench->bytes_max <= COLL_BYTES_MAX ? NULL : "no such sizes";
}

static inline void coll_main(const coll_peer *peer, coll_bench *bench)
{
    const size_t len = bench->bytes_max * peer->size;
    bench->peer = peer;
    bench->dest = peer->memory(len);
    bench->source = peer->memory(len);
    if (bench->dest == NULL || bench->source == NULL)
        peer->fail("no memory");
    memset(bench->dest, 0, len);
    memset(bench->source, 0, len);
    place_rank(peer->rank);
    coll_measure(bench);
    coll_meet(bench);
}

#endif
