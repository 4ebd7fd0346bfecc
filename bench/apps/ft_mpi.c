/* SPDX-License-Identifier: BSD-3-Clause */
/* ft_mpi.c: how the pieces of FT (ft.h) travel with MPI: one MPI_Alltoall, or a message for each
 * piece, whose receive was posted before anything was computed. */
#include "ft.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static MPI_Request *requests;
static int used;

void comm_open(ft *self, int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &self->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self->size);
}

/* As many requests as there are pencils to send and to receive. */
void comm_attach(ft *self)
{
    self->turned = malloc(self->planes * self->ny * self->nx * sizeof(ft_number));
    requests = malloc((self->planes * self->ny + self->nz * self->rows) * sizeof(MPI_Request));
    if (self->turned == NULL || requests == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

void comm_meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

uint64_t comm_sum(uint64_t value)
{
    uint64_t sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* A message's tag says which piece it is of those that two ranks exchange. */
static int tag_of(const ft *self, size_t plane, size_t row)
{
    return (int)(plane * self->rows + row);
}

void comm_begin(ft *self, size_t piece)
{
    const size_t rows_each = piece / self->nx;
    used = 0;
    for (int from = 0; from < self->size; from++)
        for (size_t plane = 0; plane < self->planes && from != self->rank; plane++)
            for (size_t row = 0; row < self->rows; row += rows_each)
                MPI_Irecv(self->turned + ft_turned_at(self, from, plane, row), (int)(2 * piece),
                          MPI_DOUBLE, from, tag_of(self, plane, row), MPI_COMM_WORLD,
                          &requests[used++]);
}

/* Long messages go on only while somebody calls MPI: the look for messages is for that. */
void comm_send(ft *self, int to, size_t plane, size_t row, size_t piece)
{
    ft_number *from = self->ready + ft_ready_at(self, to, plane, row);
    int found;
    if (to == self->rank) {
        memcpy(self->turned + ft_turned_at(self, to, plane, row), from, piece * sizeof(*from));
        return;
    }
    MPI_Isend(from, (int)(2 * piece), MPI_DOUBLE, to, tag_of(self, plane, row), MPI_COMM_WORLD,
              &requests[used++]);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

void comm_finish(ft *self)
{
    (void)self;
    MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
}

void comm_exchange(ft *self)
{
    const int count = (int)(2 * self->planes * self->rows * self->nx);
    MPI_Alltoall(self->ready, count, MPI_DOUBLE, self->turned, count, MPI_DOUBLE, MPI_COMM_WORLD);
}

void comm_exit(int status)
{
    if (status != 0)
        MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
    exit(0);
}
