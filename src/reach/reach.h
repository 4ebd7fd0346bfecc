/* SPDX-License-Identifier: BSD-3-Clause */
/* reach.h: the ways by which this rank touches the memory of a rank. This module alone decides on
 * a way. rma/, am/, vis/, atomic/ and coll/ ask it.
 *
 * The ways, best first:
 *
 *   mapped     this process sees the memory and loads and stores it: pen_reach_alias and the
 *              functions beside it. Inline put and get read the same rows in the frozen view
 *   device     this rank's own memory on a device, copied through the device
 *   kernel     process_vm_readv and process_vm_writev (CMA), if the memory of this job is any
 *              memory (EVERYTHING) and the peer is on this host. Collectives use it for buffers
 *              in every job
 *   link       the link's own put and get, if the peer's segment has a key
 *   messages   the peer's handlers copy. The module that asks makes these messages, and it alone
 *              knows which lengths fit a frame
 *
 * What a way depends on, and when that becomes known:
 *
 *   the peer's endpoint   is its segment mapped, on a device, known to the link by a key?
 *                         Written in job/ when the segment is published. This module only reads it
 *   the job               does the kernel copy between processes? Yes until it refuses once.
 *                         pen_job.kernel_refuses remembers it
 *   the team              do all members read each other's buffers? coll/ lets them test it with
 *                         pen_reach_by_kernel, and they agree on the answer
 *   the call              is the local memory on a device, does the link know its region?
 *
 * Locks: callers hold no lock of a port or of the segments. The lock of rma/ or am/ may be held.
 * Any thread may call, also in a handler.
 *
 * These functions never wait, never poll, send no message, make no event and allocate nothing.
 * A failing device ends the job. All other failures are results. */
#ifndef PEN_REACH_REACH_H
#define PEN_REACH_REACH_H

#include "base/status.h"
#include "boot/host_page.h"
#include "conduit/conduit.h"
#include "job/job.h"
#include "job/team.h"
#include "mem/kind.h"
#include "mem/mem.h"

#include <penstock/abi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* ---- mapped memory --------------------------------------------------------------------------- */

/* Returns the peer's memory as this process sees it, or NULL. */
static inline char *pen_reach_alias(const pen_job *job, uint16_t ep_index, uint32_t jobrank,
                                    char *remote, size_t len)
{
    const pen_mapped *rows = job->mapped[ep_index];
    if (rows != NULL) {
        const pen_mapped *row = &rows[jobrank];
        uintptr_t offset = (uintptr_t)remote - row->base; /* wraps below the base */
        if (offset < row->len && len <= row->len - offset)
            return remote + row->delta;
    }
    uint64_t offset;
    if (jobrank != job->rank)
        return NULL;
    const pen_remote_segment *mine =
        pen_mem_remote(&job->mem, ep_index, jobrank, remote, len, &offset);
    return mine != NULL && !mine->is_device ? remote : NULL;
}

/* Returns the alias of memory in a segment that the caller has found already, or NULL. */
static inline char *pen_reach_alias_in(const pen_remote_segment *segment, void *remote)
{
    return segment->mapped ? (char *)remote + segment->delta : NULL;
}

/* A range of a peer's addresses that this process can load and store: add delta to an address in
 * [base, base + len) to get the local one. For calls that move many pieces. */
typedef struct pen_reach_range {
    uintptr_t base;
    size_t len; /* 0: none */
    intptr_t delta;
} pen_reach_range;

static inline bool pen_reach_covers(const pen_reach_range *range, const void *remote, size_t len)
{
    uintptr_t offset = (uintptr_t)remote - range->base; /* wraps below the base */
    return offset < range->len && len <= range->len - offset;
}

/* Returns the range between the team's local endpoint and that member, whose rank is jobrank. */
pen_reach_range pen_reach_range_of(const pen_team *team, uint16_t ep_index, uint32_t jobrank);

/* For memory that lies in this rank's part of the host arena, returns true and its place in the
 * arena. Any rank of the host can pass the place to pen_reach_arena_at. */
bool pen_reach_arena_place(const pen_job *job, const char *memory, uint64_t *place);

/* Returns the address of len bytes at that place and offset. Returns NULL if they are not all in
 * the peer's part of the arena. */
const char *pen_reach_arena_at(const pen_job *job, uint32_t jobrank, uint64_t place, size_t offset,
                               size_t len);

/* ---- memory that is not mapped --------------------------------------------------------------- */

typedef enum pen_reach_way {
    PEN_REACH_NOWHERE, /* the peer has published no such memory */
    PEN_REACH_DEVICE,
    PEN_REACH_KERNEL,
    PEN_REACH_LINK,
    PEN_REACH_MESSAGES,
} pen_reach_way;

typedef struct pen_reach_ask {
    pen_job *job;
    uint32_t jobrank;
    uint16_t ep_index;  /* the peer's endpoint */
    bool is_set;        /* a memset: no local memory. Only messages serve it */
    char *remote;       /* an address of the peer */
    char *local;        /* the memory here that bytes move to or from */
    pen_device *device; /* local is an address on this device; NULL: host memory */
    size_t len;         /* at least 1 */
} pen_reach_ask;

typedef struct pen_reach {
    pen_reach_way way;
    const pen_remote_segment *segment; /* NULL: NOWHERE */
    uint64_t offset;                   /* in the segment */
    pen_region *region;                /* LINK: of the local memory, if the link needs it */
    pen_device *device;                /* DEVICE: the remote memory is at this address of it */
    char *at;
} pen_reach;

/* Chooses a way. Call it if the memory is not mapped. */
void pen_reach_far(const pen_reach_ask *ask, pen_reach *out);

/* Could pen_reach_far choose the kernel for host memory of that member? For calls that collect
 * pieces to move many of them at once. */
bool pen_reach_may_collect(const pen_team *team, uint16_t ep_index, uint32_t jobrank);

/* ---- the kernel ------------------------------------------------------------------------------ */

/* The peer's process. 0: it is on a different host. */
static inline pid_t pen_reach_process(const pen_job *job, uint32_t jobrank)
{
    const pen_host_rank *row = pen_host_row(job->boot.page, jobrank);
    /* acquire: pairs with the release by which a rank shows that it has joined */
    return row == NULL ? 0 : (pid_t)atomic_load_explicit(&row->pid, memory_order_acquire);
}

/* Has the kernel refused once to copy between processes? */
static inline bool pen_reach_kernel_refuses(const pen_job *job)
{
    /* relaxed: at worst a different thread asks the kernel once more */
    return atomic_load_explicit(&job->kernel_refuses, memory_order_relaxed);
}

/* Does the kernel copy to and from that peer, as far as is known? */
static inline bool pen_reach_kernel_serves(const pen_job *job, uint32_t jobrank)
{
    return job->routes[jobrank].same_host && !pen_reach_kernel_refuses(job) &&
           pen_reach_process(job, jobrank) != 0;
}

/* Copies host memory, by the kernel. If it fails, errno says why; some bytes may have moved.
 * EFAULT: memory on one side does not exist. All other failures are refusals:
 * pen_reach_far will not choose the kernel again. */
pen_status pen_reach_by_kernel(pen_job *job, uint32_t jobrank, bool is_put, void *local,
                               void *remote, size_t len);

/* Copies between lists of the same total length, with at most PEN_CMA_LIST_MAX entries each. The
 * call changes the lists. */
pen_status pen_reach_lists_by_kernel(pen_job *job, uint32_t jobrank, bool is_put,
                                     struct iovec *local, size_t local_count, struct iovec *remote,
                                     size_t remote_count);

/* ---- the link -------------------------------------------------------------------------------- */

/* Posts one put or get to a peer for which LINK was chosen: of len bytes at `done` in the memory
 * that was asked for. local: address of these bytes. Takes the port's post lock. */
pen_post pen_reach_by_link(pen_job *job, uint32_t jobrank, const pen_reach *reach, bool is_put,
                           size_t done, char *local, size_t len, pen_op *op);

/* Does the link perform this operation on words of the peer's segment? */
bool pen_reach_link_serves_atomic(const pen_job *job, uint32_t jobrank,
                                  const pen_remote_segment *segment, const pen_amo *amo);

/* Posts an operation that the link performs. Takes the port's post lock. */
pen_post pen_reach_atomic_by_link(const pen_job *job, uint32_t jobrank,
                                  const pen_remote_segment *segment, uint64_t offset,
                                  const pen_amo *amo, pen_op *op);

/* ---- devices --------------------------------------------------------------------------------- */

/* Returns the device that local memory is on; NULL: host memory. Only memory in the segment of the
 * team's endpoint may be on a device. If other memory is on a device, the job ends. */
pen_device *pen_reach_local_device(const pen_team *team, const void *local, size_t len);

/* Copies between two addresses of this rank, at least one of them on a device; NULL: the host. Both
 * must be on the same device if both are on one. A failing device ends the job. */
void pen_reach_by_device(pen_job *job, pen_device *to_device, void *to, pen_device *from_device,
                         const void *from, size_t len);

#endif
