/* SPDX-License-Identifier: BSD-3-Clause */
/* heat2d_plate.h: the plate of heat2d and how heat spreads on it. Every point becomes the mean of
 * its four neighbours; the rim keeps its temperature. */
#ifndef HEAT2D_PLATE_H
#define HEAT2D_PLATE_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Value of a point at the start: hot along the top, warm on the left, and a pattern inside, so
 * that no two rows look alike. */
static inline double plate_start(size_t row, size_t column, size_t side)
{
    if (row == 0)
        return 100;
    if (column == 0)
        return 50;
    if (row == side - 1 || column == side - 1)
        return 0;
    return (double)((row * 31 + column * 17) % 64);
}

/* One row of the next state; above, here and below are rows of the present one. Not inlined, so
 * that every row is computed by the same instructions and has the same bits. */
static __attribute__((noinline)) void plate_row(double *restrict next, const double *restrict above,
                                                const double *restrict here,
                                                const double *restrict below, size_t side)
{
    next[0] = here[0];
    for (size_t column = 1; column + 1 < side; column++)
        next[column] =
            0.25 * ((above[column] + below[column]) + (here[column - 1] + here[column + 1]));
    next[side - 1] = here[side - 1];
}

static inline void plate_fill(double *row, size_t row_i, size_t side)
{
    for (size_t column = 0; column < side; column++)
        row[column] = plate_start(row_i, column, side);
}

/* Computes the whole plate after this number of steps in one process. The caller frees it. Returns
 * NULL if there is no memory. */
static inline double *plate_alone(size_t side, size_t steps)
{
    double *now = malloc(side * side * sizeof(*now));
    double *next = malloc(side * side * sizeof(*next));
    for (size_t row = 0; row < side && now != NULL && next != NULL; row++) {
        plate_fill(now + row * side, row, side);
        plate_fill(next + row * side, row, side);
    }
    for (size_t step = 0; step < steps && now != NULL && next != NULL; step++) {
        for (size_t row = 1; row + 1 < side; row++)
            plate_row(next + row * side, now + (row - 1) * side, now + row * side,
                      now + (row + 1) * side, side);
        double *swap = now;
        now = next;
        next = swap;
    }
    if (next == NULL) {
        free(now);
        now = NULL;
    }
    free(next);
    return now;
}

/* Inner rows of the plate, from the second to the last but one, are shared out: the first of them
 * that a rank has, and how many. */
static inline size_t plate_share(size_t side, size_t rank, size_t ranks, size_t *first)
{
    const size_t rows = side - 2, each = rows / ranks, longer = rows % ranks;
    *first = 1 + rank * each + (rank < longer ? rank : longer);
    return each + (rank < longer);
}

#endif
