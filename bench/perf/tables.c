/* SPDX-License-Identifier: BSD-3-Clause */
/* tables.c: the tables of `penstock perf`, which show the cost of an operation over lengths, as
 * text for people or as a line of JSON for each length. */
#include "perf.h"

#include <string.h>

enum {
    COLUMNS_MAX = 6,
    KIB_16 = 16 << 10,
    KIB_64 = 64 << 10,
    MIB_1 = 1 << 20,
    MIB_16 = 16 << 20,
    GATHERED_MAX = 4 << 20
};

typedef enum column_shown { SHOW_US, SHOW_RATE, SHOW_BANDWIDTH } column_shown;

/* A column whose operation is the one before shows the same measurement in another unit. */
typedef struct column {
    const char *title, *key;
    perf_op op;
    column_shown shown;
    bool raw; /* needs shared memory */
} column;

typedef struct table {
    const char *name, *explanation, *first_title, *first_key;
    size_t len_min, len_max, len_factor;
    unsigned ranks_min;
    column columns[COLUMNS_MAX + 1];
} table;

/* ---- operations that choose by length ---- */

static void am_round_trip(uint64_t rounds, size_t len)
{
    (len == 0 ? perf_am_short : perf_am_medium)(rounds, len);
}

static void am_one_way(uint64_t rounds, size_t len)
{
    (len == 0 ? perf_am_flood : perf_am_flood_medium)(rounds, len);
}

/* Eight bytes as clients write them, with a length that the compiler knows. */
static void put(uint64_t rounds, size_t len) { (len == 8 ? perf_put8 : perf_put)(rounds, len); }
static void get(uint64_t rounds, size_t len) { (len == 8 ? perf_get8 : perf_get)(rounds, len); }

static void store(uint64_t rounds, size_t len)
{
    (len == 8 ? raw_op_put8 : raw_op_put)(rounds, len);
}

static void load(uint64_t rounds, size_t len)
{
    (len == 8 ? raw_op_get8 : raw_op_get)(rounds, len);
}

static const table tables[] = {
    { "am",
      "Active messages from rank 0 to rank 1. round trip: a request and its reply, each of this "
      "number of "
      "bytes\n(0: a Short with four arguments); one way: requests as fast as they go; Longs: a "
      "round "
      "trip of Longs,\nfrom and to memory that nobody reads; copies: the two copies of it and a "
      "line "
      "to and fro.",
      "bytes",
      "bytes",
      0,
      KIB_64,
      2,
      2,
      { { "round trip us", "round_trip_us", am_round_trip, SHOW_US, false },
        { "one way M/s", "one_way_m_s", am_one_way, SHOW_RATE, false },
        { "one way GB/s", "one_way_gb_s", am_one_way, SHOW_BANDWIDTH, false },
        { "Longs us", "long_us", perf_am_long_both, SHOW_US, false },
        { "copies us", "copies_us", raw_op_bulk_echo, SHOW_US, true } } },
    { "put",
      "Blocking puts by rank 0 to rank 1's segment. copy: what the processor needs for the same "
      "by memcpy\n(8 bytes: a store).",
      "bytes",
      "bytes",
      8,
      MIB_16,
      2,
      2,
      { { "put us", "put_us", put, SHOW_US, false },
        { "put GB/s", "put_gb_s", put, SHOW_BANDWIDTH, false },
        { "copy us", "copy_us", store, SHOW_US, true },
        { "copy GB/s", "copy_gb_s", store, SHOW_BANDWIDTH, true } } },
    { "get",
      "Blocking gets by rank 0 from rank 1's segment. copy: what the processor needs for the same "
      "by memcpy\n(8 bytes: a load).",
      "bytes",
      "bytes",
      8,
      MIB_16,
      2,
      2,
      { { "get us", "get_us", get, SHOW_US, false },
        { "get GB/s", "get_gb_s", get, SHOW_BANDWIDTH, false },
        { "copy us", "copy_us", load, SHOW_US, true },
        { "copy GB/s", "copy_gb_s", load, SHOW_BANDWIDTH, true } } },
    { "vis",
      "Strided puts and gets of 64 pieces between rank 0's memory, where they are packed, and rank "
      "1's segment,\nwhere they lie four lengths apart.",
      "bytes of a piece",
      "bytes",
      8,
      KIB_16,
      2,
      2,
      { { "put us", "put_us", perf_put_pieces, SHOW_US, false },
        { "get us", "get_us", perf_get_pieces, SHOW_US, false } } },
    { "barrier",
      "Barriers of all ranks: gex_Coll_BarrierNB and its event, gex_Coll_BarrierBlocking, and "
      "gasnet_barrier_notify\nand _wait.",
      "ranks",
      "ranks",
      0,
      0,
      2,
      1,
      { { "NB us", "nb_us", perf_barrier, SHOW_US, false },
        { "Blocking us", "blocking_us", perf_barrier_blocking, SHOW_US, false },
        { "gasnet_ us", "gasnet_us", perf_barrier_gasnet1, SHOW_US, false } } },
    { "coll",
      "Collectives of all ranks, in microseconds; bytes: one rank's part. Roots take turns; "
      "reductions add doubles.",
      "bytes",
      "bytes",
      8,
      MIB_1,
      4,
      1,
      { { "broadcast", "broadcast_us", perf_broadcast, SHOW_US, false },
        { "reduce to one", "reduce_to_one_us", perf_reduce_to_one, SHOW_US, false },
        { "reduce to all", "reduce_to_all_us", perf_reduce_to_all, SHOW_US, false },
        { "gather", "gather_us", perf_gather, SHOW_US, false },
        { "all-gather", "gather_to_all_us", perf_gather_to_all, SHOW_US, false },
        { "all-to-all", "all_to_all_us", perf_all_to_all, SHOW_US, false } } },
};

static const table *table_find(const char *name)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (strcmp(tables[i].name, name) == 0)
            return &tables[i];
    return NULL;
}

bool perf_is_table(const char *name) { return table_find(name) != NULL; }

/* ---- measuring and printing ---- */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The longest message or part that fits, and that was asked for. */
static size_t len_limit(const table *about)
{
    size_t limit = about->len_max;
    if (strcmp(about->name, "am") == 0)
        limit = least(limit, perf_am_len_max());
    if (strcmp(about->name, "coll") == 0) /* every rank has room for a part of each */
        limit = least(limit, GATHERED_MAX / perf.size);
    return least(limit, perf.options.len_max);
}

static double in_unit(const column *about, double each_ns, size_t len)
{
    if (about->shown == SHOW_US)
        return each_ns / 1e3;
    return about->shown == SHOW_RATE ? 1e3 / each_ns : (double)len / each_ns;
}

static bool shown(const column *about, size_t len)
{
    if (about->raw && perf.root == NULL)
        return false;
    return about->shown != SHOW_BANDWIDTH || len > 0;
}

static int width_of(const char *title)
{
    const int len = (int)strlen(title);
    return len < 10 ? 10 : len;
}

static void print_titles(const table *about)
{
    printf("%s\n", about->explanation);
    if (!perf.peer_on_host)
        printf("Ranks 0 and 1 are on different hosts.\n");
    printf("\n%*s", width_of(about->first_title), about->first_title);
    for (const column *c = about->columns; c->title != NULL; c++)
        printf("  %*s", width_of(c->title), c->title);
    printf("\n");
}

static void print_text(const table *about, size_t first, size_t len, const double *each_ns)
{
    printf("%*zu", width_of(about->first_title), first);
    for (const column *c = about->columns; c->title != NULL; c++, each_ns++) {
        if (shown(c, len))
            printf("  %*.4g", width_of(c->title), in_unit(c, *each_ns, len));
        else
            printf("  %*s", width_of(c->title), "-");
    }
    printf("\n");
}

static void print_json(const table *about, size_t first, size_t len, const double *each_ns)
{
    printf("{\"table\":\"%s\",\"ranks\":%u,\"one_host\":%s", about->name, perf.size,
           perf.peer_on_host ? "true" : "false");
    if (strcmp(about->first_key, "ranks") != 0)
        printf(",\"%s\":%zu", about->first_key, first);
    for (const column *c = about->columns; c->title != NULL; c++, each_ns++) {
        if (shown(c, len))
            printf(",\"%s\":%.6g", c->key, in_unit(c, *each_ns, len));
        else
            printf(",\"%s\":null", c->key);
    }
    printf("}\n");
}

static void line_run(const table *about, size_t len)
{
    double each_ns[COLUMNS_MAX] = { 0 };
    const column *c = about->columns;
    for (unsigned i = 0; c[i].title != NULL; i++) {
        if (i > 0 && c[i].op == c[i - 1].op)
            each_ns[i] = each_ns[i - 1];
        else if (shown(&c[i], 1))
            each_ns[i] = perf_measure(c[i].op, len);
    }
    if (perf.rank != 0)
        return;
    const size_t first = strcmp(about->first_key, "ranks") == 0 ? perf.size : len;
    (perf.options.json ? print_json : print_text)(about, first, len, each_ns);
    fflush(stdout);
}

void perf_table(const char *name)
{
    const table *about = table_find(name);
    if (perf.size < about->ranks_min)
        perf_refuse("this table needs two ranks: -n 2");
    const size_t limit = len_limit(about);
    if (limit < about->len_min)
        perf_refuse("--max is less than the table's shortest length, 8 bytes");
    if (strcmp(name, "coll") == 0)
        perf_collective_room(limit);
    if (perf.rank == 0 && !perf.options.json)
        print_titles(about);
    size_t len = about->len_min;
    while (len <= limit) {
        line_run(about, len);
        if (limit == 0)
            break;
        len = len == 0 ? 8 : len * about->len_factor;
    }
}
