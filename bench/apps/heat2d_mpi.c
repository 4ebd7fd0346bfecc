/* SPDX-License-Identifier: BSD-3-Clause */
/* heat2d_mpi.c: examples/heat2d.c with messages of MPI's. Receives are posted first, the outer rows
 * are computed and sent, then the rows in between, then everything is waited for.
 *
 *     mpiexec -n 4 heat2d_mpi SIDE STEPS */
#include "../../examples/heat2d_plate.h"

#include <mpi.h>
#include <stdio.h>

enum { UP = 1, DOWN };

static struct job {
    int rank, size;
    size_t side, steps;
    size_t first, rows;
    double *plates[2];
    int above, below;
} job;

static void compute_row(size_t step, size_t row)
{
    const double *now = job.plates[(step - 1) % 2] + row * job.side;
    plate_row(job.plates[step % 2] + row * job.side, now - job.side, now, now + job.side, job.side);
}

static void play(void)
{
    const int side = (int)job.side;
    for (size_t step = 1; step <= job.steps; step++) {
        double *next = job.plates[step % 2];
        MPI_Request requests[4];
        MPI_Irecv(next, side, MPI_DOUBLE, job.above, DOWN, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(next + (job.rows + 1) * job.side, side, MPI_DOUBLE, job.below, UP, MPI_COMM_WORLD,
                  &requests[1]);
        compute_row(step, 1);
        MPI_Isend(next + job.side, side, MPI_DOUBLE, job.above, UP, MPI_COMM_WORLD, &requests[2]);
        if (job.rows > 1)
            compute_row(step, job.rows);
        MPI_Isend(next + job.rows * job.side, side, MPI_DOUBLE, job.below, DOWN, MPI_COMM_WORLD,
                  &requests[3]);
        for (size_t row = 2; row < job.rows; row++)
            compute_row(step, row);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
}

/* Every rank checks its own part against a run by one process. */
static long long points_wrong(void)
{
    double *alone = plate_alone(job.side, job.steps);
    long long wrong = 0, all = 0;
    if (alone == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t row = 0; row < job.rows; row++) {
        const double *ours = job.plates[job.steps % 2] + (row + 1) * job.side;
        for (size_t column = 0; column < job.side; column++)
            wrong += !(ours[column] == alone[(job.first + row) * job.side + column]);
    }
    free(alone);
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void plates_open(void)
{
    job.rows = plate_share(job.side, (size_t)job.rank, (size_t)job.size, &job.first);
    job.above = job.rank == 0 ? MPI_PROC_NULL : job.rank - 1;
    job.below = job.rank + 1 == job.size ? MPI_PROC_NULL : job.rank + 1;
    for (size_t which = 0; which < 2; which++) {
        job.plates[which] = malloc((job.rows + 2) * job.side * sizeof(double));
        if (job.plates[which] == NULL)
            MPI_Abort(MPI_COMM_WORLD, 1);
        for (size_t row = 0; row < job.rows + 2; row++)
            plate_fill(job.plates[which] + row * job.side, job.first - 1 + row, job.side);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    job.side = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    job.steps = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (job.side < 2 + (size_t)job.size || job.steps == 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    plates_open();

    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    play();
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start_s;
    const long long wrong = points_wrong();
    if (job.rank == 0)
        printf("heat2d: %s: %d ranks, %zu x %zu points, %zu steps of %.3f us, %lld points wrong\n",
               wrong == 0 ? "verified" : "WRONG", job.size, job.side, job.side, job.steps,
               seconds / (double)job.steps * 1e6, wrong);
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
