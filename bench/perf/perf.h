/* SPDX-License-Identifier: BSD-3-Clause */
/* perf.h: declarations that the parts of the benchmark program share. It has two uses: `perf rows`
 * judges operations of the library against their yardsticks and prints a line of JSON for each row
 * (bench/run.py), and `perf am|put|get|vis|barrier|coll` prints a table over lengths
 * (`penstock perf`). Ranks 0 and 1 measure; others take part in what all ranks do. */
#ifndef BENCH_PERF_H
#define BENCH_PERF_H

#include "../blocks.h"
#include "../raw.h"
#include "../raw_udp.h"

#include <gasnetex.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs this number of rounds of an operation, which is timed. Every rank calls it with the same
 * arguments. */
typedef void (*perf_op)(uint64_t rounds, size_t len);

typedef struct perf_options {
    const char *what; /* rows, or a table's name */
    bool quick, json;
    const char *only; /* metrics, separated by commas; NULL: all */
    size_t len_max;   /* of tables */
    double block_ns;  /* length of a block of rows; 0: the default */
} perf_options;

typedef struct perf_state {
    gex_TM_t team;
    gex_Rank_t rank, size, peer;
    unsigned cores;           /* the r-th rank of a host stands on core r modulo this */
    bool peer_on_host;        /* ranks 0 and 1 are on one host */
    raw_area *root;           /* rank 0's, as mapped here; NULL: ranks share no memory */
    raw_area *root_own;       /* the area of rank 0, at its address there */
    raw_pair pair;            /* ranks 0 and 1 */
    raw_udp sockets;          /* ranks 0 and 1, where ranks share no memory */
    raw_pair neighbours;      /* rank 0 and the next rank on its core, if there is one */
    uint32_t gates;           /* passed (raw_wait.h) */
    unsigned char *local;     /* private memory, RAW_BULK_LEN */
    unsigned char *peer_bulk; /* the peer's raw_area.bulk and .counter in its own addresses */
    void *peer_counter;
    gex_AD_t domain; /* of U64 additions */
    uint64_t dice;   /* same on all ranks */
    perf_options options;
} perf_state;

extern perf_state perf;

/* ---- main.c ---- */

/* All ranks come here for the same reason; rank 0 tells it. */
void perf_refuse(const char *why);

/* ---- time.c ---- */

/* A block, seen by this rank. */
typedef struct perf_time {
    double each_ns; /* one round, by the clock */
    double cpu_ns;  /* one round, of this thread */
    double lost;    /* part of the block that we were without our core */
} perf_time;

void perf_meet(void);
uint64_t perf_agree(uint64_t number); /* rank 0's number, at all ranks */
perf_time perf_block(perf_op op, uint64_t rounds, size_t len);
uint64_t perf_rounds(perf_op op, size_t len, double block_ns); /* that fill a block */
double perf_measure(perf_op op, size_t len);                   /* ns of one round: a median */

/* ---- am.c ---- */

void perf_am_register(gex_EP_t endpoint);
size_t perf_am_len_max(void); /* longest Medium, request or reply */
void perf_am_short(uint64_t rounds, size_t len);
void perf_am_medium(uint64_t rounds, size_t len);
void perf_am_flood(uint64_t rounds, size_t len);
void perf_am_flood_medium(uint64_t rounds, size_t len);
void perf_am_flood_reply(uint64_t rounds, size_t len);
/* Bulk data both ways: neither side reads it. */
void perf_am_medium_both(uint64_t rounds, size_t len);
void perf_am_long_both(uint64_t rounds, size_t len);
void perf_am_flood_medium_both(uint64_t rounds, size_t len);
void perf_am_flood_long_both(uint64_t rounds, size_t len);
void perf_am_flood_long(uint64_t rounds, size_t len);
void perf_am_short_crowd(uint64_t rounds, size_t len); /* all others wait in a barrier */
void perf_am_medium_crowd(uint64_t rounds, size_t len);

/* ---- memory.c ---- */

void perf_put8(uint64_t rounds, size_t len);
void perf_get8(uint64_t rounds, size_t len);
void perf_put(uint64_t rounds, size_t len);
void perf_put_stream(uint64_t rounds, size_t len); /* all under way at once */
void perf_get(uint64_t rounds, size_t len);
void perf_fetch_add(uint64_t rounds, size_t len);
void perf_put_pieces(uint64_t rounds, size_t len); /* RAW_PIECES of len bytes */
void perf_get_pieces(uint64_t rounds, size_t len);

/* ---- collective.c ---- */

void perf_barrier(uint64_t rounds, size_t len);
void perf_barrier_blocking(uint64_t rounds, size_t len);
void perf_barrier_gasnet1(uint64_t rounds, size_t len);
void perf_broadcast(uint64_t rounds, size_t len);
void perf_reduce_to_one(uint64_t rounds, size_t len);
void perf_reduce_to_all(uint64_t rounds, size_t len);
void perf_gather(uint64_t rounds, size_t len);
void perf_gather_to_all(uint64_t rounds, size_t len);
void perf_all_to_all(uint64_t rounds, size_t len);
void perf_collective_room(size_t len_max); /* memory for parts of such a length */

/* ---- yardsticks.c: what the machine can do, as perf_op ---- */

void raw_op_line(uint64_t rounds, size_t len);
void raw_op_line_yield(uint64_t rounds, size_t len);
void raw_op_futex(uint64_t rounds, size_t len);
void raw_op_hand_off(uint64_t rounds, size_t len);
void raw_op_echo(uint64_t rounds, size_t len);
void raw_op_flood(uint64_t rounds, size_t len);
void raw_op_copies(uint64_t rounds, size_t len);
void raw_op_bulk_echo(uint64_t rounds, size_t len);
void raw_op_bulk_both(uint64_t rounds, size_t len);
void raw_op_put8(uint64_t rounds, size_t len);
void raw_op_get8(uint64_t rounds, size_t len);
void raw_op_put(uint64_t rounds, size_t len);
void raw_op_get(uint64_t rounds, size_t len);
void raw_op_put_pieces(uint64_t rounds, size_t len);
void raw_op_get_pieces(uint64_t rounds, size_t len);
void raw_op_fetch_add(uint64_t rounds, size_t len);
void raw_op_udp_echo(uint64_t rounds, size_t len);
void raw_op_udp_flood(uint64_t rounds, size_t len);
void raw_op_udp_stream(uint64_t rounds, size_t len);

/* ---- rows.c, tables.c ---- */

void perf_rows(void);
bool perf_is_table(const char *name);
void perf_table(const char *name);

#endif
