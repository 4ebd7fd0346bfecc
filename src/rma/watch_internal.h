/* SPDX-License-Identifier: BSD-3-Clause */
/* watch_internal.h: a record of an outstanding operation, for the files of the watch. */
#ifndef PEN_RMA_WATCH_INTERNAL_H
#define PEN_RMA_WATCH_INTERNAL_H

#include "os/lock.h"
#include "rma/ranges.h"
#include "rma/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most records. Further operations are counted with an earlier one of their kind, and their
 * memory is not compared, so that a client that never synchronises does not use up memory. */
enum { WATCH_RECORDS_MAX = 1 << 18 };

/* Sources are remembered by a hash of this many bytes at each end. */
enum { WATCH_CONTENT_LEN_MAX = 1 << 16 };

typedef struct watch_use { /* use of one range of memory */
    pen_range range;       /* must be first: a found range is cast to its use */
    pen_watched *owner;
    uint32_t space; /* job rank whose addresses these are */
    bool is_remote; /* as the operation sees it */
    bool is_in;     /* the tree */
} watch_use;

struct pen_watched {
    pen_watch_call call;
    pen_watched *next, **link; /* next in the list it is on */
    pen_watched *members;      /* operations of an access region */
    watch_use remote, local;
    uint32_t category; /* category of an implicit operation; 0: explicit */
    uint32_t count;    /* number of operations it stands for */
    bool source_kept;  /* the source must stay unchanged */
};

struct pen_watch {
    pen_lock lock;      /* guards everything, the lists of threads too */
    pen_ranges *spaces; /* by job rank */
    pen_watched *explicit_list;
    uint32_t record_count;
};

uint64_t pen_watch_content_of(const void *source, size_t len);
/* Checks whether memory that the call uses is in use. Called under the lock; *repeats_out as in
 * pen_watch_call. */
void pen_watch_compare(const pen_watch_call *call, pen_watched **repeats_out);
/* Called under the lock. */
void pen_watch_use(pen_watched *watched);
void pen_watch_unuse(pen_watched *watched, watch_use *use);

#endif
