/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi.c: the operations in MPI, two-sided and one-sided; see driver.h.
 *
 *     mpiexec -n N mpi SOCKET [--shared-window] */
#include "driver.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1, FLOOD_TAG, END_TAG };

static struct job {
    int rank, size;
    unsigned char *send, *receive; /* DRIVER_WINDOW buffers for floods lie one after the other */
    MPI_Win window;
} job;

static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void ping_pong(size_t len, uint64_t rounds)
{
    const int count = (int)len;
    for (uint64_t round_i = 0; round_i < rounds; round_i++) {
        if (job.rank == 0) {
            MPI_Send(job.send, count, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(job.receive, count, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (job.rank == 1) {
            MPI_Recv(job.receive, count, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(job.receive, count, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

/* Windows of requests, as the usual programs for message rates do; one answer, at the very end. */
static void flood(size_t len, uint64_t rounds)
{
    MPI_Request requests[DRIVER_WINDOW];
    const int count = (int)len;
    char answer = 0;
    if (job.rank > 1)
        return;
    for (uint64_t sent = 0; sent < rounds;) {
        int used = 0;
        for (; used < DRIVER_WINDOW && sent < rounds; used++, sent++) {
            if (job.rank == 0)
                MPI_Isend(job.send, count, MPI_BYTE, 1, FLOOD_TAG, MPI_COMM_WORLD, &requests[used]);
            else
                MPI_Irecv(job.receive + (size_t)used * len, count, MPI_BYTE, 0, FLOOD_TAG,
                          MPI_COMM_WORLD, &requests[used]);
        }
        MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
    }
    if (job.rank == 0)
        MPI_Recv(&answer, 1, MPI_BYTE, 1, END_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&answer, 1, MPI_BYTE, 0, END_TAG, MPI_COMM_WORLD);
}

static void put(size_t len, uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds && job.rank == 0; round_i++) {
        MPI_Put(job.send, (int)len, MPI_BYTE, 1, 0, (int)len, MPI_BYTE, job.window);
        MPI_Win_flush(1, job.window);
        driver_fence();
    }
}

static void get(size_t len, uint64_t rounds)
{
    for (uint64_t round_i = 0; round_i < rounds && job.rank == 0; round_i++) {
        MPI_Get(job.receive, (int)len, MPI_BYTE, 1, 0, (int)len, MPI_BYTE, job.window);
        MPI_Win_flush(1, job.window);
        driver_fence();
    }
}

static void fetch_add(size_t len, uint64_t rounds)
{
    const uint64_t one = 1;
    uint64_t before = 0;
    (void)len;
    for (uint64_t round_i = 0; round_i < rounds && job.rank == 0; round_i++) {
        MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 1, 0, MPI_SUM, job.window);
        MPI_Win_flush(1, job.window);
        driver_fence();
    }
}

static void barrier(size_t len, uint64_t rounds)
{
    (void)len;
    for (uint64_t round_i = 0; round_i < rounds; round_i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static const driver_op ops[] = {
    { "ping_pong", ping_pong }, { "flood", flood },     { "put", put }, { "get", get },
    { "fetch_add", fetch_add }, { "barrier", barrier },
};

static void window_open(int shared)
{
    void *base = NULL;
    if (shared)
        MPI_Win_allocate_shared(DRIVER_BULK_LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                                &job.window);
    else
        MPI_Win_allocate(DRIVER_BULK_LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &job.window);
    memset(base, 0, DRIVER_BULK_LEN);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, job.window);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    if (argc < 2) {
        fprintf(stderr,
                "bench: arguments: SOCKET [--shared-window]; bench/peers/run.py starts me\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    job.send = malloc((size_t)DRIVER_WINDOW * DRIVER_BULK_LEN);
    job.receive = malloc((size_t)DRIVER_WINDOW * DRIVER_BULK_LEN);
    if (job.send == NULL || job.receive == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(job.send, 1, DRIVER_BULK_LEN); /* the rest is touched when it is used */
    window_open(argc > 2 && strcmp(argv[2], "--shared-window") == 0);
    const driver self = { .rank = (unsigned)job.rank,
                          .size = (unsigned)job.size,
                          .meet = meet,
                          .ops = ops,
                          .op_count = sizeof(ops) / sizeof(ops[0]) };
    const int status = driver_serve(&self, argv[1]);
    if (status != 0)
        MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Win_unlock_all(job.window);
    MPI_Win_free(&job.window);
    MPI_Finalize();
    return 0;
}
