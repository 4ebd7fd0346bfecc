/* SPDX-License-Identifier: BSD-3-Clause */
/* event.h: events, which stand for operations in flight, and a thread's implicit (NBI) operations,
 * which are waited for together. Events belong to the process: any thread may synchronise them.
 * Synchronising a root event also ends its leaves. */
#ifndef PENSTOCK_EVENT_H
#define PENSTOCK_EVENT_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- events --------------------------------------------------------------------------------- */

/* Tests an event.
 *   event  an event, or GEX_EVENT_INVALID, which is done; not GEX_EVENT_NO_OP
 * Returns 0 if the event is done, and then the event no longer exists; otherwise
 * GASNET_ERR_NOT_READY. Context: no handler. Does not poll: a loop around this call must poll.
 * GASNet-EX, chapter "Events". */
GEX_INLINE int gex_Event_Test(gex_Event_t event);

/* Waits until an event is done. The event then no longer exists.
 *   event  an event, or GEX_EVENT_INVALID, which is done; not GEX_EVENT_NO_OP
 * Context: no handler. Blocks and polls.
 * GASNet-EX, chapter "Events". */
GEX_INLINE void gex_Event_Wait(gex_Event_t event);

/* Test whether one (TestSome) or all (TestAll) of an array of events are done.
 *   events  the array; slots of events that are done become GEX_EVENT_INVALID. May hold a root and
 *           its own leaves, in any order
 *   count   elements of the array; may be 0
 *   flags   0
 * They return 0 if so, or if all slots are GEX_EVENT_INVALID; otherwise GASNET_ERR_NOT_READY.
 * Context: no handler. They do not poll.
 * GASNet-EX, chapter "Events". */
PEN_API int gex_Event_TestSome(gex_Event_t *events, size_t count, gex_Flags_t flags);
PEN_API int gex_Event_TestAll(gex_Event_t *events, size_t count, gex_Flags_t flags);

/* Wait until one (WaitSome) or all (WaitAll) of an array of events are done. Arguments are those of
 * gex_Event_TestSome. Context: no handler. They block and poll.
 * GASNet-EX, chapter "Events". */
PEN_API void gex_Event_WaitSome(gex_Event_t *events, size_t count, gex_Flags_t flags);
PEN_API void gex_Event_WaitAll(gex_Event_t *events, size_t count, gex_Flags_t flags);

/* Returns the leaf of an event, for an earlier phase of the event's operation.
 *   root      an event that was not synchronised yet
 *   category  GEX_EC_LC: the source buffer may be changed
 * Repeated calls return the same leaf. Returns GEX_EVENT_INVALID if that phase is over. Context: no
 * handler. Does not poll.
 * GASNet-EX, chapter "Events". */
GEX_INLINE gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t category);

/* ---- implicit operations -------------------------------------------------------------------- */

/* Tests whether all of this thread's implicit operations of the given categories are done.
 *   mask   GEX_EC_... bits; GEX_EC_PUT contains GEX_EC_LC
 *   flags  0
 * Returns 0 if so, otherwise GASNET_ERR_NOT_READY. Context: no handler, not in an access region.
 * Does not poll.
 * GASNet-EX, chapter "Events": implicit operations. */
PEN_API int gex_NBI_Test(gex_EC_t mask, gex_Flags_t flags);

/* Waits until all of this thread's implicit operations of the given categories are done.
 *   mask   GEX_EC_... bits
 *   flags  0
 * Context: no handler, not in an access region. Blocks and polls.
 * GASNet-EX, chapter "Events": implicit operations. */
PEN_API void gex_NBI_Wait(gex_EC_t mask, gex_Flags_t flags);

/* Begins an access region: the thread counts implicit operations separately until the region ends.
 * Regions do not nest.
 *   flags  0
 * Context: no handler. Does not poll.
 * GASNet-EX, chapter "Events": implicit operations. */
PEN_API void gex_NBI_BeginAccessRegion(gex_Flags_t flags);

/* Ends the access region. Returns one event for all implicit operations that began in the region;
 * GEX_EVENT_INVALID if all are done.
 *   flags  0
 * Context: no handler. Does not poll.
 * GASNet-EX, chapter "Events": implicit operations. */
PEN_API gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/event.h>
#endif
