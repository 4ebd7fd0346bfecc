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
#include "mem/kind.h"
#include "os/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_SEGMENTS_MAX = 1024 };
enum { PEN_ENDPOINTS_MAX = 64 };  /* of a rank; GASNET_MAXEPS */
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
    pen_device *device; /* base is an address of this one's; NULL: host memory */
    uint32_t bound;     /* endpoints bound to it */
    pen_link *link;     /* the one that knows it as region; set by publishing */
    pen_region *region; /* NULL: no device knows it */
} pen_segment;

typedef struct pen_remote_segment { /* what a peer published of an endpoint's bound segment */
    uint64_t base;                  /* the peer's own address */
    uint64_t len;                   /* 0: none */
    uint32_t number;
    bool mapped;    /* we see it at base + delta */
    bool is_device; /* its rank reaches it by copies only */
    uint8_t lacks;  /* capabilities that its endpoint was made without */
    intptr_t delta;
    bool has_key; /* the link's rma calls reach it by key */
    pen_rkey key;
} pen_remote_segment;

typedef struct pen_mem {
    pen_segment *segments[PEN_SEGMENTS_MAX]; /* by number; NULL: free; guarded by lock */
    /* Those that peers may name, by number. Written under the lock, read without it: release in
     * pen_mem_expose pairs with acquire in pen_mem_resolve. An exposed segment stays to the end of
     * the job, so that nothing late can name a number's next owner. */
    _Atomic(pen_segment *) exposed[PEN_SEGMENTS_MAX];
    pen_lock lock;
    pen_device *devices; /* open ones; guarded by lock */
    /* Segments on devices; written under the lock, relaxed: a hint that a look is needed at all */
    _Atomic uint32_t device_segments;
    bool everything; /* number 0 is legal in this job */
    bool huge;       /* segments are made of huge pages, where they are long enough */
    char *slice;     /* this rank's part of the arena; NULL: none */
    size_t slice_len;
    uint64_t reserved,
        budget; /* bytes we allocated; the most we may: our share of the host's memory */
    /* By endpoint number, then by job rank; NULL: nothing was published of that number anywhere
     * (the primordial endpoint's table is always there). */
    pen_remote_segment *remote[PEN_ENDPOINTS_MAX];
    uint32_t remote_count; /* rows of each */
    uint32_t rank; /* ours, whose addresses in an EVERYTHING job need no transport; UINT32_MAX: not
                      told */
} pen_mem;

/* ranks: how many share this host's memory; each may allocate its part of what was available when
 * the job began (pen_memory_available).
 * PEN_ERR_MEMORY: no memory for the table, which a line has said. */
pen_status pen_mem_init(pen_mem *mem, pen_log *log, pen_concurrency concurrency, char *slice,
                        size_t slice_len, uint32_t ranks, bool everything, uint64_t available);
void pen_mem_close(pen_mem *mem); /* destroys the segments that are left */

/* addr NULL: len bytes from the arena slice (page-aligned), sparse: a page costs nothing until it
 * is touched; else the client's memory is adopted. PEN_ERR_MEMORY logs what was wanted, what is
 * there and what to do; PEN_ERR_ARGUMENT: an empty range or one that wraps. */
pen_status pen_mem_create(pen_mem *mem, pen_log *log, void *addr, size_t len, pen_segment **out);

/* The same on a device: from its memory, or of an allocation on it that the client has. */
pen_status pen_mem_create_on(pen_mem *mem, pen_log *log, pen_device *device, void *addr, size_t len,
                             pen_segment **out);
/* NULL: nothing. Nobody uses it, and no endpoint is bound to it. */
void pen_mem_destroy(pen_mem *mem, pen_segment *segment);

/* Where the link knows all of that memory: the region of a segment that peers may name. NULL: it
 * does not. */
pen_region *pen_mem_region(pen_mem *mem, const pen_link *link, const void *addr, size_t len);

/* From now on peers may name the segment. */
void pen_mem_expose(pen_mem *mem, pen_segment *segment);

/* The check of everything that arrives: our address of (number, offset, len), or NULL. len may be
 * 0. Never an address on a device. */
void *pen_mem_resolve(pen_mem *mem, uint32_t number, uint64_t offset, uint64_t len);

/* The same check for memory on devices, which that one refuses: the device, and the address on it;
 * NULL: there is no such. */
pen_device *pen_mem_resolve_device(pen_mem *mem, uint32_t number, uint64_t offset, uint64_t len,
                                   char **at_out);

/* Whether any of this memory of our own lies in a segment on a device. */
bool pen_mem_is_device(pen_mem *mem, const void *addr, size_t len);

/* Opens and closes devices; those that are left are closed with mem. args->class is one that the
 * kind answers for. Says on the log what went wrong. */
pen_status pen_mem_device_open(pen_mem *mem, pen_log *log, const pen_kind *kind,
                               const pen_device_args *args, pen_device **out);
void pen_mem_device_close(pen_mem *mem, pen_device *device); /* no segment lies on it */

/* The table of what is published of endpoints with this number, made when it is not there yet;
 * NULL: no memory, with errno. Not while others read or make the same one. */
pen_remote_segment *pen_mem_remote_table(pen_mem *mem, uint32_t ep_index);

/* What `rank` published of its endpoint; NULL: nothing, ever. len 0: no segment was bound to it. */
static inline const pen_remote_segment *pen_mem_remote_row(const pen_mem *mem, uint32_t ep_index,
                                                           uint32_t rank)
{
    if (ep_index >= PEN_ENDPOINTS_MAX || mem->remote[ep_index] == NULL || rank >= mem->remote_count)
        return NULL;
    return &mem->remote[ep_index][rank];
}

/* The initiator's side: whether the segment of `rank`'s endpoint holds [addr, addr+len), and at
 * which offset. NULL: not in what was published. In an EVERYTHING job answers a row with number 0
 * and base 0, mapped (with delta 0) when the rank is our own. */
const pen_remote_segment *pen_mem_remote(const pen_mem *mem, uint32_t ep_index, uint32_t rank,
                                         const void *addr, size_t len, uint64_t *offset_out);

#endif
