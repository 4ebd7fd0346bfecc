/* SPDX-License-Identifier: BSD-3-Clause */
/* timeline.h: reads the file of a trace (trace/event.h), and puts the events of all ranks on one
 * clock. Nothing in the file is trusted: what makes no sense is left out and counted. */
#ifndef PEN_TIMELINE_TIMELINE_H
#define PEN_TIMELINE_TIMELINE_H

#include "base/status.h"
#include "diag/log.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_TIMELINE_RANKS_MAX = 1 << 16 };

/* An event of trace/event.h, with times in nanoseconds since the first event of the trace. */
typedef struct pen_moment {
    int64_t at_ns;
    uint64_t span_ns;
    uint8_t kind, detail;
    uint16_t what;
    uint32_t peer, number;
    uint64_t value;
} pen_moment;

typedef struct pen_timeline_host {
    char name[PEN_TRACE_HOST_LEN];
    uint32_t first, size;
    uint64_t ticks, mono_ns, wall_ns; /* its first reading; 0: there is none */
    double tick_ns;                   /* nanoseconds of a tick */
    bool ended;                       /* the trace of this host is complete */
    /* Its clock minus that of host 0, which was subtracted from the times of its events. The error
     * is half of the shortest round trip of messages; below 0: there were no messages in both
     * directions, and the hosts' clocks of the day were compared, whose error is not known. */
    double offset_ns, offset_error_ns;
} pen_timeline_host;

typedef struct pen_timeline_rank {
    uint32_t host;
    pen_moment *moments; /* in the order in which the rank wrote them: by their ends */
    size_t count;
    uint64_t dropped;                  /* events that were overwritten before they were read */
    char (*names)[PEN_TRACE_NAME_LEN]; /* regions; PEN_TRACE_NAMES_MAX rows, or NULL */
} pen_timeline_rank;

typedef struct pen_timeline {
    uint32_t rank_count, host_count;
    pen_timeline_rank *ranks;
    pen_timeline_host *hosts;
    int64_t end_ns;      /* the end of the last event */
    uint64_t wall_ns;    /* the first event, by the clock of the day; nanoseconds since 1970 */
    uint64_t moments;    /* number of all moments */
    uint64_t bad;        /* events and records that make no sense */
    bool cut;            /* the file ends within a record */
    pen_moment *storage; /* memory of the ranks' moments */
} pen_timeline;

/* Takes the bytes of a file apart. Returns PEN_OK; PEN_ERR_PROTOCOL and *why if they are no trace
 * of this version; PEN_ERR_MEMORY. */
pen_status pen_timeline_parse(const void *bytes, size_t len, pen_timeline *out, const char **why);

/* Reads one file, or the files of a job's hosts, in any order. Failures are logged. */
pen_status pen_timeline_read(pen_log *log, const char *const *paths, size_t count,
                             pen_timeline *out);

void pen_timeline_close(pen_timeline *timeline);

/* Keeps only moments that overlap [from_ns, to_ns). */
void pen_timeline_cut(pen_timeline *timeline, int64_t from_ns, int64_t to_ns);

/* The name of a client's region. */
const char *pen_timeline_name(const pen_timeline *timeline, uint32_t rank, uint16_t number);

/* ---- messages -------------------------------------------------------------------------------- */

/* A message: the SENT of its sender and the HANDLED of its receiver. */
typedef struct pen_letter {
    uint32_t from, to;
    const pen_moment *sent, *handled;
} pen_letter;

/* Finds for each HANDLED its SENT, by number, lane, handler and length. If frames overtook each
 * other, a number near by is taken whose handler and length fit. Messages of a rank to itself are
 * left out. Calls found for each pair. Returns PEN_ERR_MEMORY if there is no memory. */
pen_status pen_timeline_letters(const pen_timeline *timeline,
                                void (*found)(void *ctx, const pen_letter *letter), void *ctx);

/* For timeline/ only: estimates the offsets of the hosts' clocks. */
pen_status pen_timeline_align(pen_timeline *timeline);

#endif
