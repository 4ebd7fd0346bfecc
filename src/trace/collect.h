/* SPDX-License-Identifier: BSD-3-Clause */
/* collect.h: copies the events of a host's ranks from their rings into a file. The supervisor
 * calls it from its loop; see event.h for the file. The file can be read by its user only. */
#ifndef PEN_TRACE_COLLECT_H
#define PEN_TRACE_COLLECT_H

#include "diag/log.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pen_collector pen_collector;

/* Writes bytes of the file, in order. Returns an errno; after an error no more calls follow. */
typedef int (*pen_trace_sink)(void *ctx, const void *bytes, size_t len);

typedef struct pen_collector_params {
    const char *host;              /* its name */
    uint32_t host_i, first, size;  /* its number and its ranks */
    uint32_t job_size, host_count; /* ranks and hosts of the whole job */
    const char *rings;             /* one for each rank, in order, stride bytes apart */
    size_t stride;                 /* pen_trace_ring_len(...) rounded up */
    size_t ring_len;
    pen_trace_sink sink;
    void *sink_ctx;
} pen_collector_params;

/* Opens a new file for a trace, with mode 0600. An older file of this user is replaced. Returns the
 * descriptor, or -1 after a line that names the reason. */
int pen_trace_create(pen_log *log, const char *path);

/* A sink: ctx points to the descriptor. */
int pen_trace_sink_file(void *ctx, const void *bytes, size_t len);

/* Writes the file's head; the first host of a job does. */
int pen_trace_write_head(pen_trace_sink sink, void *ctx, uint32_t ranks, uint32_t hosts);

/* Begins a host's part of the file. NULL: there is no memory. If the sink fails at any time, the
 * collector says so in one line and stops; the job goes on. */
pen_collector *pen_collector_open(pen_log *log, const pen_collector_params *params);

/* Drains all rings. Returns after how many nanoseconds it should be called again. Cheap if the
 * ranks have written nothing. */
uint64_t pen_collector_drain(pen_collector *collector);

/* Frees the collector. is_last: the ranks have ended, so it first drains what is left and ends the
 * host's part; false: this process is a copy, and its parent goes on. */
void pen_collector_close(pen_collector *collector, bool is_last);

#endif
