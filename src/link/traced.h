/* SPDX-License-Identifier: BSD-3-Clause */
/* traced.h: a link around any link, which writes what it is asked to send, and when it is polled,
 * into the rank's trace. Only a job that is traced has it; so the links themselves know nothing of
 * traces, and cost nothing for them.
 *
 * It has no express entries, so each message comes to its post. Frames that arrive do not pass it:
 * the engine, which gets them, writes them (job/job_trace.c). Frames of one lane to one peer are
 * numbered by their sender, and counted by their receiver. */
#ifndef PEN_LINK_TRACED_H
#define PEN_LINK_TRACED_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "os/lock.h"
#include "trace/ring.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pen_traced_params {
    const pen_host *host; /* the host of the outermost link so far */
    pen_trace *trace;
    pen_peer first, peers; /* the link's peer 0 is the job's rank `first` */
    bool is_first;         /* the rank's first link: its polls stand for all links */
    uint64_t gap_ticks;    /* the shortest time without a poll that is written */
    pen_concurrency concurrency;
} pen_traced_params;

/* Puts the link around *link. Fails: *link is as before. */
pen_status pen_traced_open(const pen_traced_params *params, pen_link **link);

#endif
