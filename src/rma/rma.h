/* SPDX-License-Identifier: BSD-3-Clause */
/* rma.h: put, get and memset. Paths: the frozen view; the kernel (CMA) for EVERYTHING between
 * processes of one host; the link's own rma; messages in pieces that fit a frame. Callers do not
 * see which path is taken.
 *
 * Never call it from a handler. An empty transfer is done at once, at any address. Overlap, and
 * addresses outside the peer's published segment (unless EVERYTHING), are the client's errors. For
 * such an address the job ends with a line that names the call's rank, the address and the bounds
 * of the segment. */
#ifndef PEN_RMA_RMA_H
#define PEN_RMA_RMA_H

#include "base/status.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "rma/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Call after pen_am_open and before any poll. Not collective. Close it before the job, whose
 * threads it visits. */
pen_status pen_rma_open(pen_job *job);
void pen_rma_close(pen_job *job);

/* When the caller may reuse the source buffer. */
typedef enum pen_local {
    PEN_LOCAL_NOW,   /* reusable when the call returns                                      */
    PEN_LOCAL_DEFER, /* when the operation is done                                          */
    PEN_LOCAL_GROUP, /* NBI only: a category of the implicit set (or of the access region)  */
    PEN_LOCAL_LEAF,  /* NB only: *leaf is an event                                          */
} pen_local;

/* GEX_FLAG_IMMEDIATE: if the first piece finds no room, return NO_OP or non-zero, without any
 * effect. Later pieces of a long transfer wait for room by polling. */
#define PEN_RMA_IMMEDIATE 1u

/* NB: return the event; DONE if finished already; NO_OP if immediate found no room. */
pen_event *pen_rma_put_nb(pen_thread *thread, pen_team *team, uint32_t rank, void *dest,
                          const void *source, size_t len, pen_local local, pen_event **leaf,
                          uint32_t flags);
pen_event *pen_rma_get_nb(pen_thread *thread, pen_team *team, void *dest, uint32_t rank,
                          const void *source, size_t len, uint32_t flags);
pen_event *pen_rma_set_nb(pen_thread *thread, pen_team *team, uint32_t rank, void *dest, int value,
                          size_t len);

/* NBI: count in the thread's implicit set or its open access region. Return 0, or non-zero for the
 * immediate no-op. */
int pen_rma_put_nbi(pen_thread *thread, pen_team *team, uint32_t rank, void *dest,
                    const void *source, size_t len, pen_local local, uint32_t flags);
int pen_rma_get_nbi(pen_thread *thread, pen_team *team, void *dest, uint32_t rank,
                    const void *source, size_t len, uint32_t flags);
int pen_rma_set_nbi(pen_thread *thread, pen_team *team, uint32_t rank, void *dest, int value,
                    size_t len);

/* Blocking: done on return. Return 0, or non-zero for the immediate no-op. */
int pen_rma_put(pen_thread *thread, pen_team *team, uint32_t rank, void *dest, const void *source,
                size_t len, uint32_t flags);
int pen_rma_get(pen_thread *thread, pen_team *team, void *dest, uint32_t rank, const void *source,
                size_t len, uint32_t flags);

/* Moves many pieces by one system call, where the kernel copies: lists of the same total length, at
 * most PEN_CMA_LIST_MAX entries each; the call changes the lists. Returns false if no piece is
 * known to have moved; put or get the pieces one by one then. */
bool pen_rma_move_lists(pen_job *job, uint32_t jobrank, bool is_put, struct iovec *local,
                        size_t local_count, struct iovec *remote, size_t remote_count);

#endif
