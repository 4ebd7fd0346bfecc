/* SPDX-License-Identifier: BSD-3-Clause */
/* passing.h: the part that links around links have in common: the inner link, the lock that keeps
 * calls of it apart, and functions that pass a call on to it unchanged. */
#ifndef PEN_LINK_PASSING_H
#define PEN_LINK_PASSING_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "os/lock.h"

/* The first member of the struct of a wrapping link. The engine's post lock keeps posts apart, but
 * a wrapping link also posts while it is polled. So it has a lock of its own. It holds the lock
 * around every call of the inner link except poll, close and set-up, and never while a frame is
 * delivered. */
typedef struct pen_passing {
    pen_link base; /* first: the engine sees a pen_link */
    pen_link *inner;
    pen_lock lock;
} pen_passing;

/* The slots address and connect of pen_link_ops. */
pen_status pen_passing_address(pen_link *base, void *blob);
pen_status pen_passing_connect(pen_link *base, const void *blobs, pen_peer count);

/* Families, for use if the inner link has them. */
extern const pen_rma_ops pen_passing_rma;
extern const pen_amo_ops pen_passing_amo;
extern const pen_wait_ops pen_passing_wait;

/* The time at which the inner link is due; UINT64_MAX if it has no timers. */
static inline uint64_t pen_passing_due_ns(const pen_passing *link)
{
    return link->inner->due != NULL ? link->inner->due->due_ns(link->inner) : UINT64_MAX;
}

#endif
