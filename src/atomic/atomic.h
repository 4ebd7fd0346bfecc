/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.h: atomic operations on a peer's memory, and their domains.
 *
 * Every operation on a location is one step for the CPUs that share the memory. If the target's
 * memory is mapped here, the initiator's CPU executes it. Otherwise the link's device does, if it
 * serves the operation, or a message asks the target to do it. So operations that take different
 * paths to one location are atomic to one another, and ranks of a domain need not agree on a path.
 * A float is changed by comparing and swapping its bits.
 *
 * Each operation is acquire and release: a rank that sees its effect also sees what its initiator
 * did before. Targets lie in the bound segment (EVERYTHING: anywhere) and are aligned to their
 * size; for any other target, the job ends with a line that names the address. Never call it from a
 * handler. */
#ifndef PEN_ATOMIC_ATOMIC_H
#define PEN_ATOMIC_ATOMIC_H

#include "base/status.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "rma/event.h"

#include <penstock/abi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct pen_atomic_domain { /* gex_AD_t */
    pen_atomic_view view;          /* must be first: inline code reads it */
    pen_job *job;
    const void *cdata;
    uint32_t type, ops, flags;      /* one bit of GEX_DT_...; bits of GEX_OP_...; as given */
    struct pen_atomic_domain *next; /* list of the job's domains; guarded by the module's lock */
} pen_atomic_domain;

/* Call after pen_rma_open and before any poll. Not collective. */
pen_status pen_atomic_open(pen_job *job);
void pen_atomic_close(pen_job *job); /* frees the remaining domains */

/* Makes a domain, locally: no member needs the domain of another. Returns NULL if memory is short;
 * the reason has been printed. */
pen_atomic_domain *pen_atomic_create(pen_team *team, uint32_t type, uint32_t ops, uint32_t flags);
void pen_atomic_destroy(pen_atomic_domain *domain);

/* Tests whether this is one type that domains may have; returns the operations that the type
 * allows. */
bool pen_atomic_type_is_valid(uint32_t type);
uint32_t pen_atomic_ops_of(uint32_t type);
/* Return the bytes of a value, and whether the operation (one of the above) fetches the old value.
 */
size_t pen_atomic_len(uint32_t type);
uint32_t pen_atomic_category(uint32_t op); /* category of an implicit operation: PEN_EC_... */
bool pen_atomic_fetches(uint32_t op);

/* Begin one operation: call->rank is a rank in the domain's team, type and op a legal pair. They
 * return what put and get return: DONE when it is over, NO_OP or non-zero if immediate found no
 * room, and then nothing happened. Implicit operations count as PUT (set), GET (get) or RMW. */
pen_event *pen_atomic_nb(pen_thread *thread, const pen_atomic_domain *domain,
                         const pen_atomic_call *call);
int pen_atomic_nbi(pen_thread *thread, const pen_atomic_domain *domain,
                   const pen_atomic_call *call);

/* Performs one operation on memory of this process, and returns the old value. Values are bits;
 * 32-bit values are in the low half. target is aligned. */
uint64_t pen_atomic_apply(void *target, uint32_t type, uint32_t op, const uint64_t operands[2]);

/* Writes a value to the client's memory. */
static inline void pen_atomic_store_result(void *result, size_t len, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    if (len == sizeof low)
        memcpy(result, &low, sizeof low);
    else
        memcpy(result, &bits, sizeof bits);
}

#endif
