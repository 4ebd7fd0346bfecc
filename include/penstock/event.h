/* SPDX-License-Identifier: BSD-3-Clause */
/* event.h: events, which stand for operations in flight, and the implicit (NBI) operations of a
 * thread, which are waited for together. Events belong to the process: any thread may synchronise
 * them. Synchronising a root event also ends its leaves. */
#ifndef PENSTOCK_EVENT_H
#define PENSTOCK_EVENT_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- events --------------------------------------------------------------------------------- */

/* Is it done? Returns 0 if so, and then the event is gone; otherwise GASNET_ERR_NOT_READY.
 *   event  may be GEX_EVENT_INVALID, which is done; not GEX_EVENT_NO_OP
 * Context: no handler. Does not poll: a loop round it has to.
 * GASNet-EX, chapter "Events". */
GEX_INLINE int gex_Event_Test(gex_Event_t event);

/* Waits until it is done; then the event is gone.
 *   event  may be GEX_EVENT_INVALID, which is done; not GEX_EVENT_NO_OP
 * Context: no handler. Blocks and polls.
 * GASNet-EX, chapter "Events". */
GEX_INLINE void gex_Event_Wait(gex_Event_t event);

/* Is one (TestSome) or are all (TestAll) of an array of events done?
 *   events  count of them; those that are done become GEX_EVENT_INVALID. May hold a root and its
 *           own leaves, in any order
 *   count   may be 0
 *   flags   0
 * Returns 0 if so, and if none is other than GEX_EVENT_INVALID; otherwise GASNET_ERR_NOT_READY.
 * Context: no handler. They do not poll.
 * GASNet-EX, chapter "Events". */
PEN_API int gex_Event_TestSome(gex_Event_t *events, size_t count, gex_Flags_t flags);
PEN_API int gex_Event_TestAll(gex_Event_t *events, size_t count, gex_Flags_t flags);

/* Waits until one (WaitSome) or all (WaitAll) of an array of events are done. Arguments as above.
 * Context: no handler. They block and poll.
 * GASNet-EX, chapter "Events". */
PEN_API void gex_Event_WaitSome(gex_Event_t *events, size_t count, gex_Flags_t flags);
PEN_API void gex_Event_WaitAll(gex_Event_t *events, size_t count, gex_Flags_t flags);

/* The leaf of an event for an earlier phase of its operation.
 *   root      an event that was not synchronised yet
 *   category  GEX_EC_LC: the source buffer may be changed
 * The same answer each time; GEX_EVENT_INVALID if that phase is over. Context: no handler. Does not
 * poll.
 * GASNet-EX, chapter "Events". */
GEX_INLINE gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t category);

/* ---- implicit operations -------------------------------------------------------------------- */

/* Are all of this thread's implicit operations of these categories done?
 *   mask   GEX_EC_... bits; GEX_EC_PUT contains GEX_EC_LC
 *   flags  0
 * Returns 0 if so, otherwise GASNET_ERR_NOT_READY. Context: no handler, not in an access region.
 * Does not poll. GASNet-EX, chapter "Events": implicit operations. */
PEN_API int gex_NBI_Test(gex_EC_t mask, gex_Flags_t flags);

/* Waits until all of this thread's implicit operations of these categories are done.
 *   mask   GEX_EC_... bits
 *   flags  0
 * Context: no handler, not in an access region. Blocks and polls.
 * GASNet-EX, chapter "Events": implicit operations. */
PEN_API void gex_NBI_Wait(gex_EC_t mask, gex_Flags_t flags);

/* Begins an access region: implicit operations of this thread are from now on counted apart.
 * Regions do not nest.
 *   flags  0
 * Context: no handler. Does not poll.
 * GASNet-EX, chapter "Events": implicit operations. */
PEN_API void gex_NBI_BeginAccessRegion(gex_Flags_t flags);

/* Ends the access region. Returns one event for all implicit operations begun in it;
 * GEX_EVENT_INVALID if they are done.
 *   flags  0
 * Context: no handler. Does not poll.
 * GASNet-EX, chapter "Events": implicit operations. */
PEN_API gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/event.h>
#endif
