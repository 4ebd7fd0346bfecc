/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_coll.c: how long MPI's collectives take, measured by the loop of coll_blocks.h, for
 * bench/coll.py, which compiles it with each MPI that it finds. */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE 1 /* placing ranks on processors */
#endif

#include "../coll_blocks.h"

#include <mpi.h>

static void *memory(size_t len)
{
    enum { PAGE = 4096 };
    return aligned_alloc(PAGE, (len + PAGE - 1) / PAGE * PAGE);
}

static void run(coll_op op, void *dest, const void *source, size_t bytes)
{
    void *from = (void *)(uintptr_t)source;
    const int len = (int)bytes, count = (int)(bytes / sizeof(double));
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    switch (op) {
    case COLL_BROADCAST:
        MPI_Bcast(rank == COLL_ROOT ? from : dest, len, MPI_BYTE, COLL_ROOT, MPI_COMM_WORLD);
        break;
    case COLL_REDUCE:
        MPI_Reduce(from, dest, count, MPI_DOUBLE, MPI_SUM, COLL_ROOT, MPI_COMM_WORLD);
        break;
    case COLL_REDUCE_ALL:
        MPI_Allreduce(from, dest, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    case COLL_GATHER:
        MPI_Gather(from, len, MPI_BYTE, dest, len, MPI_BYTE, COLL_ROOT, MPI_COMM_WORLD);
        break;
    case COLL_GATHER_ALL:
        MPI_Allgather(from, len, MPI_BYTE, dest, len, MPI_BYTE, MPI_COMM_WORLD);
        break;
    case COLL_ALL_TO_ALL:
        MPI_Alltoall(from, len, MPI_BYTE, dest, len, MPI_BYTE, MPI_COMM_WORLD);
        break;
    default:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    }
}

static void fail(const char *what)
{
    fprintf(stderr, "mpi_coll: %s: not what it should be\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    coll_bench bench = { 0 };
    const char *wrong = coll_arguments(&bench, argc, argv);
    if (wrong != NULL) {
        fprintf(stderr, "mpi_coll: %s\n", wrong);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const coll_peer peer = {
        .rank = (unsigned)rank, .size = (unsigned)size, .memory = memory, .run = run, .fail = fail
    };
    coll_main(&peer, &bench);
    MPI_Finalize();
    return 0;
}
