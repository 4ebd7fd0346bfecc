/* SPDX-License-Identifier: BSD-3-Clause */
/* mem.h: segments: memory that peers may reach. Ours, with the numbers that name them on the wire,
 * and what peers published of theirs. The wire carries (segment number, offset, length); the target
 * checks it here, in release builds too. Number 0 is the whole address space with the address as
 * its offset, valid only in jobs that declared GASNET_SEGMENT_EVERYTHING. */
#ifndef PEN_MEM_MEM_H
#define PEN_MEM_MEM_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "os/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_SEGMENTS_MAX = 1024 };
#define PEN_SEGMENT_EVERYWHERE 0u /* the number of "any address" */

typedef struct pen_segment { /* ours; a gex_Segment_t points here */
    void *client;            /* the gex_Client_t it belongs to */
    const void *cdata;
    char *base;
    size_t len;
    uint32_t number;    /* on the wire; 1..PEN_SEGMENTS_MAX - 1 */
    uint32_t flags;     /* as given at creation */
    bool in_arena;      /* inside this rank's slice of the host arena: same-host peers see it */
    bool owned;         /* allocated by us */
    uint32_t bound;     /* endpoints bound to it */
    pen_link *link;     /* the one that knows it as region; set by publishing */
    pen_region *region; /* NULL: no device knows it */
} pen_segment;

typedef struct pen_remote_segment { /* what a peer published of an endpoint's bound segment */
    uint64_t base;                  /* the peer's own address */
    uint64_t len;                   /* 0: none */
    uint32_t number;
    bool mapped; /* we see it at base + delta */
    intptr_t delta;
    bool has_key; /* the link's rma calls reach it by key */
    pen_rkey key;
} pen_remote_segment;

typedef struct pen_mem {
    /* By number; NULL: free. Written under the lock, read without it: release at creation pairs
     * with acquire in pen_mem_resolve. A segment is destroyed only when no peer can name it any
     * more. */
    _Atomic(pen_segment *) segments[PEN_SEGMENTS_MAX];
    pen_lock lock;
    bool everything; /* number 0 is legal in this job */
    char *slice;     /* this rank's part of the arena; NULL: none */
    size_t slice_len;
    uint64_t reserved,
        budget; /* bytes we allocated; the most we may: our share of the host's memory */
    pen_remote_segment *remote; /* by job rank: the primordial endpoint's */
    uint32_t remote_count;
    uint32_t rank; /* ours, whose addresses in an EVERYTHING job need no transport; UINT32_MAX: not
                      told */
} pen_mem;

/* ranks: how many share this host's memory; each may allocate its part of what is available now.
 * PEN_ERR_MEMORY: no memory for the table, which a line has said. */
pen_status pen_mem_init(pen_mem *mem, pen_log *log, pen_concurrency concurrency, char *slice,
                        size_t slice_len, uint32_t ranks, bool everything);
void pen_mem_close(pen_mem *mem); /* destroys the segments that are left */

/* addr NULL: len bytes from the arena slice (page-aligned), sparse: a page costs nothing until it
 * is touched; else the client's memory is adopted. PEN_ERR_MEMORY logs what was wanted, what is
 * there and what to do; PEN_ERR_ARGUMENT: an empty range or one that wraps. */
pen_status pen_mem_create(pen_mem *mem, pen_log *log, void *addr, size_t len, pen_segment **out);
void pen_mem_destroy(pen_mem *mem, pen_segment *segment); /* NULL: nothing */

/* The check of everything that arrives: our address of (number, offset, len), or NULL. len may be
 * 0. */
void *pen_mem_resolve(const pen_mem *mem, uint32_t number, uint64_t offset, uint64_t len);

/* The initiator's side: which segment of `rank` holds [addr, addr+len), and at which offset. NULL:
 * not in the published segment. In an EVERYTHING job answers a row with number 0 and base 0, mapped
 * (with delta 0) when the rank is our own. */
const pen_remote_segment *pen_mem_remote(const pen_mem *mem, uint32_t rank, const void *addr,
                                         size_t len, uint64_t *offset_out);

#endif
