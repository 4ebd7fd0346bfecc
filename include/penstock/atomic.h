/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.h: remote atomics: indivisible operations on single values in a peer's bound segment.
 *
 * Operations belong to a domain, which has a team, a type and a set of operations. Operations of
 * one domain are atomic to one another, whichever rank or thread (GASNET_PAR) makes them, also the
 * target itself. While a domain's operations may be under way, nothing else may access a location
 * that they change: no other domain, no put or get, no load or store of the target. To end this
 * phase, wait for the operations, then make a barrier.
 *
 * Operations, GEX_OP_...; each but GET changes the target:
 *   ADD SUB MULT MIN MAX  by op1, as the type says; integers wrap; MIN (MAX) stores op1 only if it
 *                         is less (greater) than the value: a NaN or a zero of the other sign stays
 *   INC DEC               by 1
 *   AND OR XOR            by op1; integers only
 *   SET                   to op1
 *   CAS                   to op2, if it is op1; floats are compared bit by bit
 *   FADD FSUB ... FXOR    as ADD SUB ... XOR, and fetch the value before the change
 *   SWAP FCAS             as SET and CAS, and fetch the value before the change
 *   GET                   fetches the value
 *
 * Arguments of the calls that begin an operation:
 *   domain    from gex_AD_Create; its type is the call's
 *   result    local address where a fetching operation writes the old value; do not access it until
 *             the operation is done. Operations that do not fetch ignore it
 *   rank      the target's rank in the domain's team; may be the caller
 *   target    an address of that rank, inside its bound segment (any in GASNET_SEGMENT_EVERYTHING),
 *             a multiple of the value's size
 *   op        one of the domain's operations; best a constant
 *   op1, op2  operands; an operand that the operation does not use is ignored
 *   flags     any of
 *     GEX_FLAG_IMMEDIATE        do not wait for resources
 *     GEX_FLAG_AD_REL           what this thread did before comes before the operation
 *     GEX_FLAG_AD_ACQ           what this thread does after it has synchronised comes after it
 *     GEX_FLAG_AD_MY_RANK       rank is the caller
 *     GEX_FLAG_AD_MY_NBRHD      rank shares its memory with the caller
 *     GEX_FLAG_RANK_IS_JOBRANK  rank is a job rank, of a member of the team
 * An operation is done when every later operation sees its effect and the result has been written.
 * Operations are not ordered. Wrong arguments end the job. */
#ifndef PENSTOCK_ATOMIC_H
#define PENSTOCK_ATOMIC_H

#include <penstock/rma.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- domains -------------------------------------------------------------------------------- */

/* Makes a domain.
 *   domain  receives the domain
 *   team    not a TM pair
 *   type    one of GEX_DT_I32, U32, I64, U64, FLT, DBL
 *   ops     operations the domain is for: any of the above that the type has
 *   flags   hints about most targets, any of GEX_FLAG_AD_FAVOR_MY_RANK, _MY_NBRHD and _REMOTE
 * Collective over the team, with the same type, ops and flags on all members. The call does not
 * wait for other members: the domain is usable at once, also on the memory of members that have not
 * made it yet. Wrong arguments end the job. Context: no handler. Does not poll. GASNet-EX, chapter
 * "Remote atomics". */
PEN_API void gex_AD_Create(gex_AD_t *domain, gex_TM_t team, gex_DT_t type, gex_OP_t ops,
                           gex_Flags_t flags);

/* Ends a domain. All of the caller's operations on it must be done before. Collective over its
 * team. The call does not wait: each member may use the domain until it destroys it. Context: no
 * handler. Does not poll. GASNet-EX, chapter "Remote atomics". */
PEN_API void gex_AD_Destroy(gex_AD_t domain);

/* Returns the flags the domain was made with. Context: any. GASNet-EX, chapter "Remote atomics". */
PEN_API gex_Flags_t gex_AD_QueryFlags(gex_AD_t domain);

/* Returns the domain's team. Context: any. GASNet-EX, chapter "Remote atomics". */
PEN_API gex_TM_t gex_AD_QueryTM(gex_AD_t domain);

/* Returns the domain's type. Context: any. GASNet-EX, chapter "Remote atomics". */
PEN_API gex_DT_t gex_AD_QueryDT(gex_AD_t domain);

/* Returns the domain's operations. Context: any. GASNet-EX, chapter "Remote atomics". */
PEN_API gex_OP_t gex_AD_QueryOps(gex_AD_t domain);

/* Attaches a client's pointer to the domain. Context: any. GASNet-EX, chapter "Remote atomics". */
PEN_API void gex_AD_SetCData(gex_AD_t domain, const void *data);

/* Returns the attached pointer; NULL at first. Context: any. GASNet-EX, chapter "Remote atomics".
 */
PEN_API void *gex_AD_QueryCData(gex_AD_t domain);

/* ---- with an event -------------------------------------------------------------------------- */

/* Begins an operation on a signed integer of 32 bits. Returns its event, GEX_EVENT_INVALID if it is
 * done already, GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for
 * resources, and polls meanwhile. Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE gex_Event_t gex_AD_OpNB_I32(gex_AD_t domain, int32_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, int32_t op1, int32_t op2,
                                       gex_Flags_t flags);

/* Begins an operation on an unsigned integer of 32 bits. Returns its event, GEX_EVENT_INVALID if it
 * is done already, GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait
 * for resources, and polls meanwhile. Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE gex_Event_t gex_AD_OpNB_U32(gex_AD_t domain, uint32_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, uint32_t op1, uint32_t op2,
                                       gex_Flags_t flags);

/* Begins an operation on a signed integer of 64 bits. Returns its event, GEX_EVENT_INVALID if it is
 * done already, GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for
 * resources, and polls meanwhile. Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE gex_Event_t gex_AD_OpNB_I64(gex_AD_t domain, int64_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, int64_t op1, int64_t op2,
                                       gex_Flags_t flags);

/* Begins an operation on an unsigned integer of 64 bits. Returns its event, GEX_EVENT_INVALID if it
 * is done already, GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait
 * for resources, and polls meanwhile. Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE gex_Event_t gex_AD_OpNB_U64(gex_AD_t domain, uint64_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, uint64_t op1, uint64_t op2,
                                       gex_Flags_t flags);

/* Begins an operation on a float. Returns its event, GEX_EVENT_INVALID if it is done already,
 * GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources, and
 * polls meanwhile. Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE gex_Event_t gex_AD_OpNB_FLT(gex_AD_t domain, float *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, float op1, float op2,
                                       gex_Flags_t flags);

/* Begins an operation on a double. Returns its event, GEX_EVENT_INVALID if it is done already,
 * GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources, and
 * polls meanwhile. Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE gex_Event_t gex_AD_OpNB_DBL(gex_AD_t domain, double *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, double op1, double op2,
                                       gex_Flags_t flags);

/* ---- implicit: see gex_NBI_Wait ------------------------------------------------------------- */

/* Begins an operation on a signed integer of 32 bits, counted among the thread's implicit
 * operations (SET: GEX_EC_PUT, GET: GEX_EC_GET, others: GEX_EC_RMW), or in its access region.
 * Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources,
 * and polls meanwhile. Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE int gex_AD_OpNBI_I32(gex_AD_t domain, int32_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, int32_t op1, int32_t op2, gex_Flags_t flags);

/* Begins an operation on an unsigned integer of 32 bits, counted among the thread's implicit
 * operations (SET: GEX_EC_PUT, GET: GEX_EC_GET, others: GEX_EC_RMW), or in its access region.
 * Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources,
 * and polls meanwhile. Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE int gex_AD_OpNBI_U32(gex_AD_t domain, uint32_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, uint32_t op1, uint32_t op2, gex_Flags_t flags);

/* Begins an operation on a signed integer of 64 bits, counted among the thread's implicit
 * operations (SET: GEX_EC_PUT, GET: GEX_EC_GET, others: GEX_EC_RMW), or in its access region.
 * Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources,
 * and polls meanwhile. Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE int gex_AD_OpNBI_I64(gex_AD_t domain, int64_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, int64_t op1, int64_t op2, gex_Flags_t flags);

/* Begins an operation on an unsigned integer of 64 bits, counted among the thread's implicit
 * operations (SET: GEX_EC_PUT, GET: GEX_EC_GET, others: GEX_EC_RMW), or in its access region.
 * Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources,
 * and polls meanwhile. Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE int gex_AD_OpNBI_U64(gex_AD_t domain, uint64_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, uint64_t op1, uint64_t op2, gex_Flags_t flags);

/* Begins an operation on a float, counted among the thread's implicit operations (SET:
 * GEX_EC_PUT, GET: GEX_EC_GET, others: GEX_EC_RMW), or in its access region. Returns 0; non-zero
 * only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources, and polls meanwhile.
 * Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE int gex_AD_OpNBI_FLT(gex_AD_t domain, float *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, float op1, float op2, gex_Flags_t flags);

/* Begins an operation on a double, counted among the thread's implicit operations (SET:
 * GEX_EC_PUT, GET: GEX_EC_GET, others: GEX_EC_RMW), or in its access region. Returns 0; non-zero
 * only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources, and polls meanwhile.
 * Context: no handler. GASNet-EX, chapter "Remote atomics". */
GEX_INLINE int gex_AD_OpNBI_DBL(gex_AD_t domain, double *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, double op1, double op2, gex_Flags_t flags);

#ifdef __cplusplus
}
#endif

#include <penstock/inline/atomic.h>

#endif
