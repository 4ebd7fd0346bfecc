/* SPDX-License-Identifier: BSD-3-Clause */
/* sum.h: sums over the events of a trace: where the time went, who talked with whom, who
 * came late. */
#ifndef PEN_TIMELINE_SUM_H
#define PEN_TIMELINE_SUM_H

#include "base/status.h"
#include "timeline/timeline.h"
#include "trace/event.h"

#include <stddef.h>
#include <stdint.h>

enum { PEN_SUM_CALLS = 32, PEN_SUM_CAUSES = 16 };

typedef struct pen_sum_span { /* calls or events of one kind */
    uint64_t count;
    double total_ns, most_ns;
} pen_sum_span;

/* One rank. Times are nanoseconds. */
typedef struct pen_sum_rank {
    double all_ns;              /* from its first event to the end of its last one */
    double wait_ns;             /* in waits, apart from handlers that ran meanwhile */
    double handler_ns;          /* in handlers */
    double call_ns;             /* in other calls of the library: posts, puts, gets */
    double gap_ns, gap_most_ns; /* without polls */
    double awaited_ns; /* waits of others that it ended: by its message, or known to be for it */
    double late_ns;    /* others waited for it in collectives, on average of the others */
    uint64_t last;     /* collectives to which it came last */
    uint64_t sent, sent_len, handled, moved, moved_len; /* messages; puts and gets */
    uint64_t stalls, resent;
    double stall_ns;
} pen_sum_rank;

typedef struct pen_sum_pair { /* traffic from one rank to another */
    uint32_t from, to;
    uint64_t messages, moves, len; /* moves: puts and gets by `from` */
} pen_sum_pair;

typedef struct pen_sum_region { /* regions of the program with one name */
    char name[PEN_TRACE_NAME_LEN];
    uint64_t count;
    double total_ns, most_ns;
    uint32_t most_rank; /* where the longest one was */
} pen_sum_region;

typedef struct pen_sum {
    pen_sum_rank *ranks;
    pen_sum_span waits[PEN_SUM_CALLS];   /* by pen_call */
    pen_sum_span causes[PEN_SUM_CAUSES]; /* by pen_awaited */
    pen_sum_span calls[PEN_TRACE_KINDS]; /* by kind: SENT, HANDLED, PUT, GET, SET, CALL, STALL */
    pen_sum_span travel;                 /* from a frame's post to the end of its handler */
    pen_sum_pair *pairs;                 /* by length, the largest first */
    size_t pair_count;
    uint64_t collectives; /* that all of their members are seen to have entered, or some */
    double spread_ns;     /* sum of the times between the first and the last member */
    double spread_most_ns;
    uint32_t spread_rank; /* the rank that was last then */
    pen_sum_region *regions;
    size_t region_count;
    uint64_t dropped;
} pen_sum;

/* Fails: PEN_ERR_MEMORY, and there is nothing to close. */
pen_status pen_sum_make(const pen_timeline *timeline, pen_sum *out);
void pen_sum_close(pen_sum *sum);

/* "a put", "room at its receiver": what a wait was for. */
const char *pen_sum_cause_text(uint32_t awaited);

#endif
