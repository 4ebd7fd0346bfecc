/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.h: atomic operations on a peer's memory, and the domains they belong to.
 *
 * All operations on a location are instructions of some CPU on the same memory, whoever makes them:
 * the initiator's own where the target's memory is mapped here, else those of the target, asked for
 * by a message. So operations that take different ways to one location are atomic to one another,
 * and ranks of a domain need not agree on a way. A float is changed by comparing and swapping its
 * bits.
 *
 * Each operation is acquire and release: what its initiator did before is visible to whoever sees
 * its effect. Targets lie in the bound segment (EVERYTHING: anywhere) and are aligned to their
 * size; an operation on any other ends the job with a line that names the address. Never from a
 * handler. */
#ifndef PEN_ATOMIC_ATOMIC_H
#define PEN_ATOMIC_ATOMIC_H

#include "job/job.h"
#include "rma/event.h"

#include <penstock/abi.h>
#include <string.h>

typedef struct pen_atomic_domain { /* gex_AD_t */
    pen_atomic_view view;          /* must be first: inline code reads it */
    pen_job *job;
    const void *cdata;
    uint32_t type, ops, flags;      /* one bit of GEX_DT_...; bits of GEX_OP_...; as given */
    struct pen_atomic_domain *next; /* all of the job's; guarded by the module's lock */
} pen_atomic_domain;

/* After pen_rma_open and before any poll. Not collective. */
pen_status pen_atomic_open(pen_job *job);
void pen_atomic_close(pen_job *job); /* frees the domains that are left */

/* Local: no member needs another's domain. NULL: no memory, which a line has said. */
pen_atomic_domain *pen_atomic_create(pen_team *team, uint32_t type, uint32_t ops, uint32_t flags);
void pen_atomic_destroy(pen_atomic_domain *domain);

/* Whether this is one type that domains may have; and the operations they may have of it. */
bool pen_atomic_type_is_valid(uint32_t type);
uint32_t pen_atomic_ops_of(uint32_t type);
/* Bytes of a value; whether the operation (one of the above) brings the old value. */
size_t pen_atomic_len(uint32_t type);
uint32_t pen_atomic_category(uint32_t op); /* of an implicit one: PEN_EC_... */
bool pen_atomic_fetches(uint32_t op);

/* Begins one operation: call->rank is of the domain's team, type and op are a pair that may be. The
 * answers are those of put and get: DONE when it is over, NO_OP or non-zero when immediate found no
 * room, and then nothing happened. Implicit ones count as PUT (set), GET (get) or RMW. */
pen_event *pen_atomic_nb(pen_thread *thread, const pen_atomic_domain *domain,
                         const pen_atomic_call *call);
int pen_atomic_nbi(pen_thread *thread, const pen_atomic_domain *domain,
                   const pen_atomic_call *call);

/* One operation on memory of this process: answers the old value. Values are bits, 32-bit ones in
 * the low half. target is aligned. */
uint64_t pen_atomic_apply(void *target, uint32_t type, uint32_t op, const uint64_t operands[2]);

/* Writes such a value where a client wants it. */
static inline void pen_atomic_store_result(void *result, size_t len, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    if (len == sizeof low)
        memcpy(result, &low, sizeof low);
    else
        memcpy(result, &bits, sizeof bits);
}

#endif
