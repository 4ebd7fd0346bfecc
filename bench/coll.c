/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.c: how long the library's collectives take; bench/coll.py compares them with MPI's. Buffers
 * are ordinary memory, as MPI's are, or with --segment parts of the attached segment.
 *
 *     penstock run -n N coll [--segment] [--factor F] [--max BYTES] [--budget S] [--only OPERATION]
 */
#include "coll_blocks.h"

#include <gasnet_coll.h>
#include <gasnetex.h>

static struct coll_program {
    gex_TM_t team;
    char *segment; /* the unused part of the segment; NULL: buffers lie in ordinary memory */
} program;

static void *memory(size_t len)
{
    enum { PAGE = 4096 };
    len = (len + PAGE - 1) / PAGE * PAGE;
    if (program.segment == NULL)
        return aligned_alloc(PAGE, len);
    char *at = program.segment;
    program.segment += len;
    return at;
}

static gex_Event_t begin(coll_op op, void *dest, const void *source, size_t bytes)
{
    const gex_TM_t team = program.team;
    const size_t count = bytes / sizeof(double);
    switch (op) {
    case COLL_BROADCAST:
        return gex_Coll_BroadcastNB(team, COLL_ROOT, dest, source, bytes, 0);
    case COLL_REDUCE:
        return gex_Coll_ReduceToOneNB(team, COLL_ROOT, dest, source, GEX_DT_DBL, sizeof(double),
                                      count, GEX_OP_ADD, NULL, NULL, 0);
    case COLL_REDUCE_ALL:
        return gex_Coll_ReduceToAllNB(team, dest, source, GEX_DT_DBL, sizeof(double), count,
                                      GEX_OP_ADD, NULL, NULL, 0);
    case COLL_GATHER:
        return pen_Coll_GatherToOneNB(team, COLL_ROOT, dest, source, bytes, 0);
    case COLL_GATHER_ALL:
        return pen_Coll_GatherToAllNB(team, dest, source, bytes, 0);
    case COLL_ALL_TO_ALL:
        return pen_Coll_AllToAllNB(team, dest, source, bytes, 0);
    default:
        return gex_Coll_BarrierNB(team, 0);
    }
}

static void run(coll_op op, void *dest, const void *source, size_t bytes)
{
    gex_Event_Wait(begin(op,
                         op == COLL_BROADCAST && gex_TM_QueryRank(program.team) == COLL_ROOT
                             ? (void *)(uintptr_t)source
                             : dest,
                         source, bytes));
}

static void fail(const char *what)
{
    fprintf(stderr, "coll: %s: not what it should be\n", what);
    gasnet_exit(1);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_Segment_t segment;
    if (gex_Client_Init(&client, &endpoint, &program.team, "coll", &argc, &argv, 0) != GASNET_OK)
        return 1;
    const bool in_segment = argc > 1 && strcmp(argv[1], "--segment") == 0;
    coll_bench bench = { 0 };
    const char *wrong = coll_arguments(&bench, argc - in_segment, argv + in_segment);
    if (wrong != NULL) {
        fprintf(stderr, "coll: %s\n", wrong);
        gasnet_exit(2);
    }
    const coll_peer peer = { .rank = gex_TM_QueryRank(program.team),
                             .size = gex_TM_QuerySize(program.team),
                             .memory = memory,
                             .run = run,
                             .fail = fail };
    const size_t len = in_segment ? 2 * (bench.bytes_max * peer.size + 4096) : 4096;
    if (gex_Segment_Attach(&segment, program.team, len) != GASNET_OK)
        gasnet_exit(1);
    program.segment = in_segment ? gex_Segment_QueryAddr(segment) : NULL;
    coll_main(&peer, &bench);
    gasnet_exit(0);
    return 0;
}
