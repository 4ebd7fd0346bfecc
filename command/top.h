/* SPDX-License-Identifier: BSD-3-Clause */
/* top.h: the table of `penstock top`, made of two looks at each rank. */
#ifndef PEN_COMMAND_TOP_H
#define PEN_COMMAND_TOP_H

#include "command/watch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Way of an operation: done by inline code, by shared memory, or by a network. */
typedef enum top_way { TOP_INLINE, TOP_SHM, TOP_NET, TOP_WAYS } top_way;

typedef struct top_row {
    watch_rank now;
    double interval_s;           /* since the look before */
    double operations[TOP_WAYS]; /* messages, puts, gets and atomics per second */
    double bytes[TOP_WAYS];      /* per second; inline code counts no bytes */
    double stalls;               /* waits for room or credit per second */
    double resent;               /* frames sent again per second */
    double cpu;                  /* processors that it used */
    double since_s;              /* how long it waits; 0: it does not */
    double quiet_s;              /* since the rank last showed that it polls; -1: it never did */
} top_row;

/* before: a look at the same rank, or NULL. */
top_row top_row_of(const watch_rank *before, const watch_rank *now);

extern const char *const top_columns[]; /* names of columns, which --sort takes; ends with NULL */
int top_column_find(const char *name);  /* -1: there is no such column */

/* Sorts by a column: numbers from the largest, texts and ranks from the first. */
void top_sort(top_row *rows, uint32_t count, int column_i);
void top_print(FILE *out, const watch_job *job, const top_row *rows, uint32_t count);
void top_print_json(FILE *out, const watch_job *job, const top_row *rows, uint32_t count);

#endif
