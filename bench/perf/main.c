/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: starts the benchmark program. Its command line is between it and those who start it,
 * `penstock perf` and bench/run.py; both have checked what people typed.
 *
 *     perf rows|am|put|get|vis|barrier|coll [--quick] [--json] [--only METRIC,...] [--max BYTES]
 *                                     [--block MILLISECONDS] */
#include "perf.h"

#include <gasnet_ratomic.h>

#include <sched.h>
#include <stdlib.h>
#include <string.h>

perf_state perf = { .cores = 1 };

void perf_refuse(const char *why)
{
    if (perf.rank == 0) {
        fprintf(stderr, "perf: %s\n", why);
        gasnet_exit(2);
    }
    perf_meet();
}

static bool argument_read(char **at, int *taken)
{
    *taken = 1;
    if (strcmp(at[0], "--quick") == 0) {
        perf.options.quick = true;
        return true;
    }
    if (strcmp(at[0], "--json") == 0) {
        perf.options.json = true;
        return true;
    }
    *taken = 2;
    if (at[1] == NULL)
        return false;
    if (strcmp(at[0], "--only") == 0)
        perf.options.only = at[1];
    else if (strcmp(at[0], "--max") == 0)
        perf.options.len_max = strtoull(at[1], NULL, 10);
    else if (strcmp(at[0], "--block") == 0)
        perf.options.block_ns = strtod(at[1], NULL) * 1e6;
    else
        return false;
    return true;
}

static void arguments_read(int argc, char **argv)
{
    perf.options = (perf_options){ .what = argc > 1 ? argv[1] : "", .len_max = SIZE_MAX };
    int taken = 0;
    for (int arg_i = 2; arg_i < argc; arg_i += taken)
        if (!argument_read(argv + arg_i, &taken))
            perf_refuse("an argument is unknown; this program is started by `penstock perf`");
    if (strcmp(perf.options.what, "rows") != 0 && !perf_is_table(perf.options.what))
        perf_refuse("the first argument is rows or the name of a table");
}

/* The ranks of a host stay on the processors that they may use, in turn. */
static void pin(void)
{
    gex_RankInfo_t *on_host;
    gex_Rank_t count, mine;
    gex_System_QueryHostInfo(&on_host, &count, &mine);
    for (gex_Rank_t i = 0; i < count; i++)
        perf.peer_on_host |= on_host[i].gex_jobrank == perf.peer;
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    perf.cores = (unsigned)CPU_COUNT(&allowed);
    unsigned skip = mine % perf.cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && skip-- == 0)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

/* A rank's area as mapped here and in its own addresses; NULL: its memory is not mapped. */
static raw_area *area_of(gex_Rank_t rank, raw_area **own)
{
    void *owner = NULL, *local = NULL;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(perf.team, rank, &owner, &local, NULL, 0));
    if (own != NULL)
        *own = owner;
    return local;
}

static void idle(void) { gasnet_AMPoll(); }

/* The yardsticks of ranks 0 and 1 where there is a network between them. */
static void sockets_open(raw_area *peer_own)
{
    perf.sockets.idle = idle;
    const uint64_t port = raw_udp_open(&perf.sockets, perf.rank);
    _Atomic uint64_t *told = &perf.pair.mine->turn.value;
    gex_RMA_PutBlocking(perf.team, perf.peer, &peer_own->turn.value, &port, sizeof(port), 0);
    /* acquire: nothing but the number itself counts; ports are not 0 */
    GASNET_BLOCKUNTIL(atomic_load_explicit(told, memory_order_acquire) != 0);
    raw_udp_connect(&perf.sockets, (uint16_t)atomic_load_explicit(told, memory_order_acquire));
}

static void memory_open(void)
{
    gex_Segment_t segment;
    const uintptr_t page = GASNET_PAGESIZE;
    if (gex_Segment_Attach(&segment, perf.team, (sizeof(raw_area) + page - 1) / page * page))
        gasnet_exit(1);
    unsigned char *local = aligned_alloc(4096, RAW_BULK_LEN);
    if (local == NULL) {
        fprintf(stderr, "perf: no memory for a buffer of %d bytes\n", RAW_BULK_LEN);
        gasnet_exit(1);
        return; /* gasnet_exit does not return */
    }
    raw_area *mine = gex_Segment_QueryAddr(segment), *peer_own = NULL;
    /* A crowd touches the lines that it exchanges; two ranks touch all of their memory beforehand.
     */
    memset(mine, 0, perf.size > 2 ? offsetof(raw_area, copies) : sizeof(raw_area));
    memset(local, 1, RAW_BULK_LEN);
    perf.local = local;

    raw_area *peer = area_of(perf.peer, &peer_own);
    perf.peer_bulk = peer_own->bulk;
    perf.peer_counter = &peer_own->counter;
    perf.root = area_of(0, &perf.root_own);
    if (peer == NULL) /* rank 0 sees its own, but the others do not */
        perf.root = NULL;
    /* Where ranks share no memory, what memcpy needs is measured on our own. */
    perf.pair = (raw_pair){ .mine = mine,
                            .peer = peer != NULL ? peer : mine,
                            .side = perf.rank,
                            .private_bulk = perf.local };
    perf.neighbours = perf.pair;
    if (perf.rank == perf.cores)
        perf.neighbours.side = 1;
    if (perf.root != NULL) {
        perf.pair.turn = &perf.root->turn.value;
        perf.neighbours.turn = &perf.root->neighbour_turn.value;
    }
    gex_AD_Create(&perf.domain, perf.team, GEX_DT_U64, GEX_OP_FADD, 0);
    perf_meet();
    if (perf.root == NULL && perf.peer_on_host && perf.rank < 2 && perf.size > 1)
        sockets_open(peer_own);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    if (gex_Client_Init(&client, &endpoint, &team, "PERF", &argc, &argv, 0))
        return 1;
    perf.team = team;
    perf.rank = gex_TM_QueryRank(team);
    perf.size = gex_TM_QuerySize(team);
    perf.peer = perf.rank == 0 && perf.size > 1 ? 1 : 0;
    perf_am_register(endpoint);
    arguments_read(argc, argv);
    pin();
    memory_open();
    if (strcmp(perf.options.what, "rows") == 0)
        perf_rows();
    else
        perf_table(perf.options.what);
    perf_meet();
    gasnet_exit(0);
}
