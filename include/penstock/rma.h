/* SPDX-License-Identifier: BSD-3-Clause */
/* rma.h: put and get: they move bytes between local memory and a peer's bound segment. The peer
 * takes no part.
 *
 * Arguments of all calls:
 *   team, rank    the peer; may be the caller
 *   dest, source  one is an address of the peer, inside its bound segment (any address in
 *                 GASNET_SEGMENT_EVERYTHING), the second a local address, anywhere. No alignment is
 *                 needed. They must not overlap
 *   len           bytes; 0 is legal
 *   flags         0 or GEX_FLAG_IMMEDIATE: do not wait for resources
 *   local         puts: when source may be changed: GEX_EVENT_NOW: when the call returns;
 *                 GEX_EVENT_DEFER: when the operation is done; NB calls also the address of an
 *                 event; NBI calls also GEX_EVENT_GROUP: when the implicit operations (GEX_EC_LC)
 *                 are done
 * If the caller's processor can do a call by a store or a load, the call does not wait. At least
 * each 128th of these calls polls, so that a thread that makes only these calls serves its rank. A
 * put is done when every later access at the peer sees it. A get is done when the bytes have
 * arrived. Operations are not ordered. Wrong arguments end the job. */
#ifndef PENSTOCK_RMA_H
#define PENSTOCK_RMA_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- blocking ------------------------------------------------------------------------------- */

/* Puts, and waits until that is done. Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when
 * nothing happened. Context: no handler. Blocks and polls. GASNet-EX, chapter "Remote memory
 * access". */
GEX_INLINE int gex_RMA_PutBlocking(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source,
                                   size_t len, gex_Flags_t flags);

/* Gets, and waits until that is done. Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when
 * nothing happened. Context: no handler. Blocks and polls. GASNet-EX, chapter "Remote memory
 * access". */
GEX_INLINE int gex_RMA_GetBlocking(gex_TM_t team, void *dest, gex_Rank_t rank, void *source,
                                   size_t len, gex_Flags_t flags);

/* ---- with an event -------------------------------------------------------------------------- */

/* Begins a put. Returns its event, GEX_EVENT_INVALID if it is done already, GEX_EVENT_NO_OP only
 * with GEX_FLAG_IMMEDIATE, when nothing happened. Context: no handler. May wait for resources, and
 * polls meanwhile. GASNet-EX, chapter "Remote memory access". */
GEX_INLINE gex_Event_t gex_RMA_PutNB(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source,
                                     size_t len, gex_Event_t *local, gex_Flags_t flags);

/* Begins a get. Result and context as for gex_RMA_PutNB.
 * GASNet-EX, chapter "Remote memory access". */
GEX_INLINE gex_Event_t gex_RMA_GetNB(gex_TM_t team, void *dest, gex_Rank_t rank, void *source,
                                     size_t len, gex_Flags_t flags);

/* ---- implicit: see gex_NBI_Wait ------------------------------------------------------------- */

/* Begins a put that counts among the thread's implicit operations (GEX_EC_PUT), or in its access
 * region. Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when nothing happened.
 * Context: no handler. May wait for resources, and polls meanwhile.
 * GASNet-EX, chapter "Remote memory access". */
GEX_INLINE int gex_RMA_PutNBI(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source,
                              size_t len, gex_Event_t *local, gex_Flags_t flags);

/* Begins a get that counts among the thread's implicit operations (GEX_EC_GET), or in its access
 * region. Result and context as for gex_RMA_PutNBI.
 * GASNet-EX, chapter "Remote memory access". */
GEX_INLINE int gex_RMA_GetNBI(gex_TM_t team, void *dest, gex_Rank_t rank, void *source, size_t len,
                              gex_Flags_t flags);

/* ---- values --------------------------------------------------------------------------------- */

/* Values: len is 1..8 bytes. The value is an integer of that length in the machine's byte order. If
 * gex_RMA_Value_t is longer, its low bytes are used. */

/* Gets an integer, zero-extended. GEX_FLAG_IMMEDIATE has no effect, because the call cannot report
 * that it did nothing. Context: no handler. Blocks and polls. GASNet-EX, chapter "Remote memory
 * access". */
GEX_INLINE gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t team, gex_Rank_t rank, void *source,
                                                  size_t len, gex_Flags_t flags);

/* Puts the low len bytes of an integer, and waits until that is done. Result and context as for
 * gex_RMA_PutBlocking.
 * GASNet-EX, chapter "Remote memory access". */
GEX_INLINE int gex_RMA_PutBlockingVal(gex_TM_t team, gex_Rank_t rank, void *dest,
                                      gex_RMA_Value_t value, size_t len, gex_Flags_t flags);

/* Begins to put the low len bytes of an integer. Result and context as for gex_RMA_PutNB.
 * GASNet-EX, chapter "Remote memory access". */
GEX_INLINE gex_Event_t gex_RMA_PutNBVal(gex_TM_t team, gex_Rank_t rank, void *dest,
                                        gex_RMA_Value_t value, size_t len, gex_Flags_t flags);

/* Begins to put the low len bytes of an integer. Result and context as for gex_RMA_PutNBI.
 * GASNet-EX, chapter "Remote memory access". */
GEX_INLINE int gex_RMA_PutNBIVal(gex_TM_t team, gex_Rank_t rank, void *dest, gex_RMA_Value_t value,
                                 size_t len, gex_Flags_t flags);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/rma.h>
#endif
