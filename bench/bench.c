/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.c: what an operation costs, as a multiple of what the machine can do. Two ranks, each on a
 * core of its own, run an operation of the library and its yardstick (raw.h) in turn (blocks.h);
 * rank 0 prints one line of JSON for each metric. bench/run.py starts it and makes the table.
 *
 *     penstock run -n 2 bench [--quick] [--only NAME] [--one-core]
 *     penstock run -n N bench --barriers COUNT */
#include "blocks.h"
#include "raw.h"

#include <gasnetex.h>

#include <inttypes.h>

enum {
    PING = GEX_AM_INDEX_BASE,
    PONG,
    PING_PAYLOAD,
    PONG_PAYLOAD,
    FLOOD,
    FLOOD_END,
    BLOCKS = 60, /* pairs; as many again, several times, until enough of them count */
    BLOCKS_QUICK = 12,
    BLOCK_MS = 8,
    ROUNDS_OF_BLOCKS = 6
};

typedef void (*bench_run)(uint64_t rounds);

static struct bench {
    gex_TM_t team;
    gex_Rank_t rank, size, peer;
    raw_pair pair;
    void *peer_bulk; /* in the peer's own addresses, for puts and gets */
    unsigned blocks;
    double block_ns;
    bool one_core;
    const char *only;
    uint64_t barriers;
    uint64_t dice; /* same on both ranks: the order of the blocks */
} bench;

/* ---- active messages ------------------------------------------------------------------------- */

/* The handlers run on this thread, inside calls of the library. */
static volatile uint64_t pongs, pings, floods;
static volatile bool flood_ended;

static void ping(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c, gex_AM_Arg_t d)
{
    pings = pings + 1;
    gex_AM_ReplyShort4(token, PONG, 0, a, b, c, d);
}

static void pong(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c, gex_AM_Arg_t d)
{
    (void)token, (void)a, (void)b, (void)c, (void)d;
    pongs = pongs + 1;
}

static void ping_payload(gex_Token_t token, void *payload, size_t len)
{
    pings = pings + 1;
    gex_AM_ReplyMedium0(token, PONG_PAYLOAD, payload, len, GEX_EVENT_NOW, 0);
}

static void pong_payload(gex_Token_t token, void *payload, size_t len)
{
    (void)token, (void)payload, (void)len;
    pongs = pongs + 1;
}

static void flood(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c, gex_AM_Arg_t d)
{
    (void)token, (void)a, (void)b, (void)c, (void)d;
    floods = floods + 1;
}

static void flood_end(gex_Token_t token)
{
    (void)token;
    flood_ended = true;
}

enum { REQUEST = GEX_FLAG_AM_REQUEST, REPLY = GEX_FLAG_AM_REPLY };

static gex_AM_Entry_t handlers[] = {
    { PING, (gex_AM_Fn_t)ping, GEX_FLAG_AM_SHORT | REQUEST, 4, NULL, "ping" },
    { PONG, (gex_AM_Fn_t)pong, GEX_FLAG_AM_SHORT | REPLY, 4, NULL, "pong" },
    { PING_PAYLOAD, (gex_AM_Fn_t)ping_payload, GEX_FLAG_AM_MEDIUM | REQUEST, 0, NULL,
      "ping_payload" },
    { PONG_PAYLOAD, (gex_AM_Fn_t)pong_payload, GEX_FLAG_AM_MEDIUM | REPLY, 0, NULL,
      "pong_payload" },
    { FLOOD, (gex_AM_Fn_t)flood, GEX_FLAG_AM_SHORT | REQUEST, 4, NULL, "flood" },
    { FLOOD_END, (gex_AM_Fn_t)flood_end, GEX_FLAG_AM_SHORT | REQUEST, 0, NULL, "flood_end" },
};

/* Counted from the start of the program: the first may be served before we are out of the barrier
 * that begins the block. */
static void serve_pings(uint64_t rounds)
{
    static uint64_t goal;
    goal += rounds;
    GASNET_BLOCKUNTIL(pings == goal);
}

static void am_short(uint64_t rounds)
{
    if (bench.rank != 0) {
        serve_pings(rounds);
        return;
    }
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        const uint64_t before = pongs;
        gex_AM_RequestShort4(bench.team, bench.peer, PING, 0, (gex_AM_Arg_t)round_i, 2, 3, 4);
        GASNET_BLOCKUNTIL(pongs != before);
    }
}

static void am_medium(uint64_t rounds, size_t len)
{
    if (bench.rank != 0) {
        serve_pings(rounds);
        return;
    }
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        const uint64_t before = pongs;
        gex_AM_RequestMedium0(bench.team, bench.peer, PING_PAYLOAD, bench.pair.private_bulk, len,
                              GEX_EVENT_NOW, 0);
        GASNET_BLOCKUNTIL(pongs != before);
    }
}

static void am_medium_256(uint64_t rounds) { am_medium(rounds, 256); }
static void am_medium_1024(uint64_t rounds) { am_medium(rounds, 1024); }

static void am_flood(uint64_t rounds)
{
    if (bench.rank != 0) {
        static uint64_t goal; /* as above */
        goal += rounds;
        GASNET_BLOCKUNTIL(floods == goal);
        gex_AM_RequestShort0(bench.team, bench.peer, FLOOD_END, 0);
        return;
    }
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_AM_RequestShort4(bench.team, bench.peer, FLOOD, 0, (gex_AM_Arg_t)round_i, 2, 3, 4);
    GASNET_BLOCKUNTIL(flood_ended);
    flood_ended = false;
}

/* ---- put, get, barrier ----------------------------------------------------------------------- */

static void put8(uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds && bench.rank == 0; round_i++) {
        gex_RMA_PutBlocking(bench.team, bench.peer, bench.peer_bulk, &round_i, sizeof(round_i), 0);
        raw_compiler_fence();
    }
}

static void get8(uint64_t rounds)
{
    uint64_t value = 0;
    for (uint64_t round_i = 0; round_i < rounds && bench.rank == 0; round_i++) {
        raw_compiler_fence();
        gex_RMA_GetBlocking(bench.team, &value, bench.peer, bench.peer_bulk, sizeof(value), 0);
        __asm__ volatile("" ::"r"(value));
    }
}

static void put_bulk(uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds && bench.rank == 0; round_i++)
        gex_RMA_PutBlocking(bench.team, bench.peer, bench.peer_bulk, bench.pair.private_bulk,
                            RAW_BULK_LEN, 0);
}

static void get_bulk(uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds && bench.rank == 0; round_i++)
        gex_RMA_GetBlocking(bench.team, bench.pair.private_bulk, bench.peer, bench.peer_bulk,
                            RAW_BULK_LEN, 0);
}

static void barrier(uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        gex_Event_Wait(gex_Coll_BarrierNB(bench.team, 0));
}

static void barrier_gasnet1(uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
        (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    }
}

/* ---- yardsticks ------------------------------------------------------------------------------ */

static void line_raw(uint64_t rounds) { raw_exchange_turns(&bench.pair, rounds, false); }
static void line_yield_raw(uint64_t rounds) { raw_exchange_turns(&bench.pair, rounds, true); }
static void echo_raw(uint64_t rounds) { raw_echo(&bench.pair, rounds); }
static void flood_raw(uint64_t rounds) { raw_flood(&bench.pair, rounds); }
static void copies_256_raw(uint64_t rounds) { raw_copies(&bench.pair, rounds, 256); }
static void copies_1024_raw(uint64_t rounds) { raw_copies(&bench.pair, rounds, 1024); }
static void put8_raw(uint64_t rounds) { raw_put8(&bench.pair, rounds); }
static void get8_raw(uint64_t rounds) { raw_get8(&bench.pair, rounds); }
static void put_bulk_raw(uint64_t rounds) { raw_put_bulk(&bench.pair, rounds); }
static void get_bulk_raw(uint64_t rounds) { raw_get_bulk(&bench.pair, rounds); }

typedef struct comparison {
    const char *metric, *baseline;
    bench_run ours, raw;
    double pass, stretch; /* largest ratio; 0: reported, not judged */
    bool one_core;
} comparison;

/* The first row judges the yardstick itself: a slow echo would flatter the library. A barrier needs
 * a line for each way, as the echo does, but both ways at once. */
static const comparison comparisons[] = {
    { "raw_echo_64B", "raw_line", echo_raw, line_raw, 2.6, 0, false },
    { "am_short4_round_trip", "raw_echo_64B", am_short, echo_raw, 1.4, 1.2, false },
    { "am_medium_256B_round_trip", "raw_copy_flag_256B", am_medium_256, copies_256_raw, 1.25, 1.1,
      false },
    { "am_medium_1KiB_round_trip", "raw_copy_flag_1KiB", am_medium_1024, copies_1024_raw, 1.25, 1.1,
      false },
    { "am_flood", "raw_ring_flood", am_flood, flood_raw, 0, 0, false },
    { "put_8B", "memcpy_8B", put8, put8_raw, 0, 0, false },
    { "get_8B", "memcpy_8B", get8, get8_raw, 0, 0, false },
    { "put_1MiB", "memcpy_1MiB", put_bulk, put_bulk_raw, 1.03, 1.01, false },
    { "get_1MiB", "memcpy_1MiB", get_bulk, get_bulk_raw, 1.03, 1.01, false },
    { "barrier_2_ranks", "raw_echo_64B", barrier, echo_raw, 0.8, 0.65, false },
    { "barrier_gasnet1_2_ranks", "raw_echo_64B", barrier_gasnet1, echo_raw, 0.8, 0.65, false },
    { "am_short4_one_core", "raw_line_sched_yield", am_short, line_yield_raw, 1.4, 1.2, true },
};

/* ---- blocks ---------------------------------------------------------------------------------- */

static void meet(void) { gex_Event_Wait(gex_Coll_BarrierNB(bench.team, 0)); }

/* Rank 0's number, at both ranks. */
static uint64_t agree(uint64_t number)
{
    _Atomic uint64_t *note =
        bench.rank == 0 ? &bench.pair.mine->note.value : &bench.pair.peer->note.value;
    if (bench.rank == 0)
        atomic_store_explicit(note, number, memory_order_release);
    meet();
    number = atomic_load_explicit(note, memory_order_acquire);
    meet();
    return number;
}

/* lost: raised to the part of the block that we were without our core. */
static double block_run(bench_run run, uint64_t rounds, double *lost)
{
    meet();
    const block_clock start = block_clock_start();
    run(rounds);
    const block_clock took = block_clock_since(start);
    const double here = block_clock_lost(took);
    /* Of a rank that had nothing to do in this block no time can be lost. */
    if (here > *lost && took.wall_ns > bench.block_ns / 8)
        *lost = here;
    return took.wall_ns / (double)rounds;
}

/* Rounds that fill a block; the same at both ranks. */
static uint64_t block_rounds(bench_run run)
{
    uint64_t rounds = 16;
    double each_ns = 0, lost = 0;
    do {
        rounds = agree(rounds * 4);
        each_ns = block_run(run, rounds, &lost);
    } while (agree(each_ns * (double)rounds < bench.block_ns / 8));
    return agree((uint64_t)(bench.block_ns / each_ns) + 1);
}

static uint64_t dice_throw(void)
{
    bench.dice = bench.dice * 6364136223846793005u + 1442695040888963407u;
    return bench.dice >> 33;
}

static block_pair block_pair_run(const comparison *row, uint64_t rounds, uint64_t raw_rounds)
{
    block_pair both = { 0 };
    double lost = 0;
    const uint64_t stolen = bench.rank == 0 ? block_stolen_ticks() : 0;
    const bool raw_first = dice_throw() % 2;

    if (raw_first)
        both.raw_ns = block_run(row->raw, raw_rounds, &lost);
    both.ours_ns = block_run(row->ours, rounds, &lost);
    if (!raw_first)
        both.raw_ns = block_run(row->raw, raw_rounds, &lost);

    if (bench.rank == 1)
        atomic_store_explicit(&bench.pair.peer->unquiet.value, (uint64_t)(lost * 1e6),
                              memory_order_release);
    meet();
    if (bench.rank == 0) {
        const double theirs =
            (double)atomic_load_explicit(&bench.pair.mine->unquiet.value, memory_order_acquire) /
            1e6;
        both.lost = lost > theirs ? lost : theirs;
        both.stolen = block_stolen_ticks() != stolen;
    }
    return both;
}

static void print_flag(const char *name, double ratio, double limit)
{
    if (limit == 0)
        printf(",\"%s_at\":null,\"%s\":null", name, name);
    else
        printf(",\"%s_at\":%.3g,\"%s\":%s", name, limit, name,
               ratio > 0 && ratio <= limit ? "true" : "false");
}

static void print_result(const comparison *row, const block_result *result)
{
    printf("{\"metric\":\"%s\",\"value\":%.3f,\"unit\":\"ns\",\"baseline\":\"%s\","
           "\"baseline_value\":%.3f,\"ratio\":%.4f,\"quarter1\":%.4f,\"quarter3\":%.4f,"
           "\"min\":%.4f,\"blocks\":%u,\"rejected\":%u,\"rejected_lost\":%u,"
           "\"rejected_stolen\":%u,\"rejected_slow\":%u",
           row->metric, result->ours_ns, row->baseline, result->raw_ns, result->ratio,
           result->quarter1, result->quarter3, result->min, result->pairs, result->rejected,
           result->lost, result->stolen, result->slow);
    print_flag("pass", result->ratio, row->pass);
    print_flag("stretch", result->ratio, row->stretch);
    printf("}\n");
    fflush(stdout);
}

/* On a busy machine most pairs may have to be put aside: then there are more of them. */
static void compare(const comparison *row)
{
    static block_pair pairs[BLOCKS_MAX];
    const uint64_t raw_rounds = block_rounds(row->raw);
    const uint64_t rounds = block_rounds(row->ours);
    const unsigned needed = bench.blocks / 2;
    block_result result;
    unsigned count = 0;
    do {
        for (unsigned i = 0; i < bench.blocks; i++, count++) {
            pairs[count] = block_pair_run(row, rounds, raw_rounds);
            if (row->one_core)
                pairs[count].lost = 0; /* there each waits for the other's half of the core */
        }
        result = block_judge(pairs, count, needed);
    } while (agree(count - result.rejected < needed && count < ROUNDS_OF_BLOCKS * bench.blocks));
    if (bench.rank == 0)
        print_result(row, &result);
}

/* More ranks than cores: nobody has a core to spin on. */
static void time_barriers(void)
{
    meet();
    const double start_ns = block_now_ns();
    barrier(bench.barriers);
    const double took_s = (block_now_ns() - start_ns) / 1e9;
    if (bench.rank == 0) {
        const double limit_s = 2e-3 * (double)bench.barriers;
        printf("{\"metric\":\"barriers_%" PRIu64 "_of_%u_ranks\",\"value\":%.4f,\"unit\":\"s\","
               "\"baseline\":\"limit\",\"baseline_value\":%.4f,\"ratio\":%.4f",
               bench.barriers, bench.size, took_s, limit_s, took_s / limit_s);
        print_flag("pass", took_s / limit_s, 1);
        print_flag("stretch", took_s / limit_s, 0.1);
        printf("}\n");
    }
}

/* ---- start ----------------------------------------------------------------------------------- */

/* All ranks come here for the same reason; rank 0 tells it. */
static void refuse(const char *why)
{
    if (bench.rank == 0) {
        fprintf(stderr, "bench: %s\n", why);
        gasnet_exit(2);
    }
    meet();
}

static const char *arguments_read(int argc, char **argv)
{
    bench.blocks = BLOCKS;
    bench.block_ns = BLOCK_MS * 1e6;
    for (int arg_i = 1; arg_i < argc; arg_i++) {
        if (strcmp(argv[arg_i], "--quick") == 0) {
            bench.blocks = BLOCKS_QUICK;
        } else if (strcmp(argv[arg_i], "--one-core") == 0) {
            bench.one_core = true;
        } else if (strcmp(argv[arg_i], "--only") == 0 && arg_i + 1 < argc) {
            bench.only = argv[++arg_i];
        } else if (strcmp(argv[arg_i], "--barriers") == 0 && arg_i + 1 < argc) {
            bench.barriers = strtoull(argv[++arg_i], NULL, 10);
        } else {
            return "arguments: [--quick] [--only NAME] [--one-core] | --barriers COUNT";
        }
    }
    if (bench.size != 2 && bench.barriers == 0)
        return "it takes two: penstock run -n 2 bench";
    return NULL;
}

/* Rank r stays on the r-th processor that we may use. */
static void pin(void)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    unsigned skip = bench.one_core ? 0 : bench.rank % (unsigned)CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && skip-- == 0)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static void pair_open(void)
{
    void *owner = NULL, *local = NULL;
    gex_Segment_t segment;
    const uintptr_t page = GASNET_PAGESIZE;

    if (gex_Segment_Attach(&segment, bench.team, (sizeof(raw_area) + page - 1) / page * page))
        gasnet_exit(1);
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(bench.team, bench.peer, &owner, &local, NULL, 0));
    if (local == NULL)
        refuse("the ranks do not share memory, so there is no yardstick");
    bench.pair.side = bench.rank;
    bench.pair.mine = gex_Segment_QueryAddr(segment);
    bench.pair.peer = local;
    bench.pair.private_bulk = aligned_alloc(4096, RAW_BULK_LEN);
    bench.peer_bulk = ((raw_area *)owner)->bulk;
    if (bench.pair.private_bulk == NULL)
        gasnet_exit(1);
    memset(bench.pair.mine, 0, sizeof(raw_area));
    memset(bench.pair.private_bulk, 1, RAW_BULK_LEN);
    meet();
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    if (gex_Client_Init(&client, &endpoint, &bench.team, "BENCH", &argc, &argv, 0))
        return 1;
    bench.rank = gex_TM_QueryRank(bench.team);
    bench.size = gex_TM_QuerySize(bench.team);
    bench.peer = 1 - bench.rank;
    gex_EP_RegisterHandlers(endpoint, handlers, sizeof(handlers) / sizeof(handlers[0]));
    meet();
    const char *wrong = arguments_read(argc, argv);
    if (wrong != NULL)
        refuse(wrong);
    if (bench.barriers > 0) {
        time_barriers();
    } else {
        pin();
        pair_open();
        for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
            const comparison *row = &comparisons[i];
            if (row->one_core == bench.one_core &&
                (bench.only == NULL || strcmp(bench.only, row->metric) == 0))
                compare(row);
        }
    }
    meet();
    gasnet_exit(0);
}
