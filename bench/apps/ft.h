/* SPDX-License-Identifier: BSD-3-Clause */
/* ft.h: the pattern of the NAS benchmark FT, a Fourier transform in three dimensions. Each rank has
 * some planes of the field and transforms them along y and x. For z the field has to be turned:
 * then a rank has, of all planes, the rows that are its own. How the pieces travel is
 * ft_penstock.c's and ft_mpi.c's affair; ft.c computes, times and checks, the same for both. */
#ifndef BENCH_APPS_FT_H
#define BENCH_APPS_FT_H

#include <stddef.h>
#include <stdint.h>

typedef struct ft_number {
    double re, im;
} ft_number;

/* Lengths are powers of two, of y and z at least the number of ranks. */
typedef struct ft {
    int rank, size;
    size_t nx, ny, nz;
    size_t planes,
        rows;         /* planes of this rank before the field is turned, rows of each plane after */
    ft_number *field; /* [plane of this rank][y][x] */
    ft_number *ready; /* [rank][plane of this rank][row of that rank][x]: transformed in y and x */
    ft_number *turned; /* [z][row of this rank][x]: received from all ranks; comm_open() makes it */
} ft;

/* Starts the API, answers the arguments that are the program's own. */
void comm_open(ft *self, int *argc, char ***argv);

/* Makes self->turned; lengths are known by now. */
void comm_attach(ft *self);

/* All ranks come, none leaves before. */
void comm_meet(void);
uint64_t comm_sum(uint64_t value);

/* Sends all of self->ready, and has all of self->turned when it returns. */
void comm_exchange(ft *self);

/* Exchanges the field in pieces of `piece` numbers: begin, send each piece (contiguous in `ready`
 * and in `turned`), finish. A piece may not be changed before comm_finish() returns. */
void comm_begin(ft *self, size_t piece);
void comm_send(ft *self, int to, size_t plane, size_t row, size_t piece);
void comm_finish(ft *self);

_Noreturn void comm_exit(int status);

/* Where a row begins in self->ready, and in the turned field of its owner. */
static inline size_t ft_ready_at(const ft *self, int to, size_t plane, size_t row)
{
    return (((size_t)to * self->planes + plane) * self->rows + row) * self->nx;
}

static inline size_t ft_turned_at(const ft *self, int from, size_t plane, size_t row)
{
    return (((size_t)from * self->planes + plane) * self->rows + row) * self->nx;
}

#endif
