/* SPDX-License-Identifier: BSD-3-Clause */
/* mem.h: segments, the memory that peers may access: this rank's, with the numbers that name
 * them on the wire, and the imported descriptions of peers' segments. The wire carries (segment
 * number, offset, length). The target checks it here, also in release builds. Number 0 is the
 * whole address space with the address as offset. It is valid only in jobs that declared
 * GASNET_SEGMENT_EVERYTHING. */
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
enum { PEN_ENDPOINTS_MAX = 64 };  /* per rank; GASNET_MAXEPS */
#define PEN_SEGMENT_EVERYWHERE 0u /* the number of "any address" */

typedef struct pen_segment { /* this rank's; a gex_Segment_t points here */
    void *client;            /* the owning gex_Client_t */
    const void *cdata;
    char *base;
    size_t len;
    uint32_t number;    /* on the wire; 1..PEN_SEGMENTS_MAX - 1 */
    uint32_t flags;     /* as given at creation */
    bool in_arena;      /* in this rank's slice of the host arena, which same-host peers map */
    bool owned;         /* allocated by the library */
    pen_device *device; /* base is an address on this device; NULL: host memory */
    uint32_t bound;     /* endpoints bound to it */
    pen_link *link;     /* the link that registered it; set when it is exported */
    pen_region *region; /* NULL: not registered with a device */
} pen_segment;

typedef struct pen_remote_segment { /* a peer's description of an endpoint's segment */
    uint64_t base;                  /* the peer's own address */
    uint64_t len;                   /* 0: none */
    uint32_t number;
    bool mapped;    /* this process sees it at base + delta */
    bool is_device; /* its rank can only copy it */
    uint8_t lacks;  /* capabilities that its endpoint does not have */
    intptr_t delta;
    bool has_key; /* the link's rma calls access it by key */
    pen_rkey key;
} pen_remote_segment;

typedef struct pen_mem {
    pen_segment *segments[PEN_SEGMENTS_MAX]; /* by number; NULL: free; guarded by lock */
    /* Segments that peers may name, by number. Written under the lock, read without it: the
     * release in pen_mem_expose pairs with the acquire in pen_mem_resolve. An exposed segment
     * stays until the end of the job, so that a late message cannot name the next owner of a
     * number. */
    _Atomic(pen_segment *) exposed[PEN_SEGMENTS_MAX];
    pen_lock lock;
    pen_device *devices; /* open ones; guarded by lock */
    /* Number of segments on devices. Written under the lock; relaxed: a hint whether to search */
    _Atomic uint32_t device_segments;
    bool everything; /* number 0 is legal in this job */
    bool huge;       /* segments use huge pages if they are long enough */
    char *slice;     /* this rank's part of the arena, or NULL */
    size_t slice_len;
    uint64_t reserved,
        budget; /* bytes allocated; the limit: this rank's share of the host's memory */
    /* By endpoint number, then by job rank. NULL: no rank has published that number. The
     * primordial endpoint's table always exists. */
    pen_remote_segment *remote[PEN_ENDPOINTS_MAX];
    uint32_t remote_count; /* rows of each table */
    uint32_t rank;         /* this rank; its addresses need no transport; UINT32_MAX: unknown */
} pen_mem;

/* ranks: number of ranks that share this host's memory. Each may allocate its part of the memory
 * that was available when the job began (pen_memory_available). Returns PEN_ERR_MEMORY, after
 * printing a line, if there is no memory for the table. */
pen_status pen_mem_init(pen_mem *mem, pen_log *log, pen_concurrency concurrency, char *slice,
                        size_t slice_len, uint32_t ranks, bool everything, uint64_t available);
void pen_mem_close(pen_mem *mem); /* destroys the remaining segments */

/* addr NULL: allocates len bytes from the arena slice (page-aligned, sparse: a page costs
 * nothing until it is touched). Otherwise adopts the client's memory. Returns PEN_ERR_MEMORY
 * after logging the wanted and the available memory and a remedy; PEN_ERR_ARGUMENT if the range
 * is empty or wraps. */
pen_status pen_mem_create(pen_mem *mem, pen_log *log, void *addr, size_t len, pen_segment **out);

/* Makes a segment on a device: from the device's memory, or from the client's allocation on it. */
pen_status pen_mem_create_on(pen_mem *mem, pen_log *log, pen_device *device, void *addr, size_t len,
                             pen_segment **out);
/* Called when no operation uses the segment and no endpoint is bound to it. NULL is allowed. */
void pen_mem_destroy(pen_mem *mem, pen_segment *segment);

/* Returns the region that the link registered for this memory, if it lies in a segment that
 * peers may name; otherwise NULL. */
pen_region *pen_mem_region(pen_mem *mem, const pen_link *link, const void *addr, size_t len);

/* After this, peers may name the segment. */
void pen_mem_expose(pen_mem *mem, pen_segment *segment);

/* Checks everything that arrives. Returns the local address of (number, offset, len), or NULL.
 * len may be 0. Never returns an address on a device. */
void *pen_mem_resolve(pen_mem *mem, uint32_t number, uint64_t offset, uint64_t len);

/* Checks ranges in segments on devices, which pen_mem_resolve refuses. Returns the device, and
 * the address on it in at_out; NULL if the range is not valid. */
pen_device *pen_mem_resolve_device(pen_mem *mem, uint32_t number, uint64_t offset, uint64_t len,
                                   char **at_out);

/* Does any of this local memory lie in a segment on a device? */
bool pen_mem_is_device(pen_mem *mem, const void *addr, size_t len);

/* Open and close devices. pen_mem_close closes the remaining ones. args->class is a class that
 * the kind serves. A failure is logged. */
pen_status pen_mem_device_open(pen_mem *mem, pen_log *log, const pen_kind *kind,
                               const pen_device_args *args, pen_device **out);
void pen_mem_device_close(pen_mem *mem, pen_device *device); /* called when no segment lies on it */

/* Returns the table of imported descriptions for this endpoint number, and makes it at first
 * use. Returns NULL, with errno, if there is no memory. Not to be called while a different
 * thread reads or makes this table. */
pen_remote_segment *pen_mem_remote_table(pen_mem *mem, uint32_t ep_index);

/* The description that `rank` published of its endpoint. NULL: never published. len 0: no
 * segment was bound. */
static inline const pen_remote_segment *pen_mem_remote_row(const pen_mem *mem, uint32_t ep_index,
                                                           uint32_t rank)
{
    if (ep_index >= PEN_ENDPOINTS_MAX || mem->remote[ep_index] == NULL || rank >= mem->remote_count)
        return NULL;
    return &mem->remote[ep_index][rank];
}

/* Called on the initiator. Returns the row of `rank`'s endpoint if its segment contains [addr,
 * addr+len), and the offset there; NULL if it does not. In an EVERYTHING job returns a row with
 * number 0 and base 0; for this rank itself, the row is mapped with delta 0. */
const pen_remote_segment *pen_mem_remote(const pen_mem *mem, uint32_t ep_index, uint32_t rank,
                                         const void *addr, size_t len, uint64_t *offset_out);

#endif
