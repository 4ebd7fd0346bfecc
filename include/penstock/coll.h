/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.h: barriers: the one of GASNet-EX, and the split-phase barrier of GASNet-1, where ranks may
 * name the barrier and are told if the names differ. The two kinds are independent of each other.
 * Neither completes operations that are in flight. */
#ifndef PENSTOCK_COLL_H
#define PENSTOCK_COLL_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a barrier: its event is done once every member has begun it. When a member has
 * synchronised the event, it sees all that other members wrote before they began the barrier.
 * Several barriers may be outstanding. When the event is done, the handlers of all requests that
 * members sent to this rank before they began the barrier have run. Over a network this holds for
 * requests that have arrived by then: a request that was lost on the way and sent again may come
 * later.
 *   team   not a TM pair
 *   flags  0
 * Collective over the team. Returns an event. Context: no handler. May poll.
 * GASNet-EX, chapter "Collectives". */
PEN_API gex_Event_t gex_Coll_BarrierNB(gex_TM_t team, gex_Flags_t flags);

/* Begins a barrier and waits until it is done. Not in the specification. Context: no handler.
 * Blocks and polls. */
PEN_API void gex_Coll_BarrierBlocking(gex_TM_t team, gex_Flags_t flags);

#define GASNET_BARRIERFLAG_ANONYMOUS 1       /* this rank's name matches any */
#define GASNET_BARRIERFLAG_MISMATCH  2       /* this rank makes every rank report a mismatch */
#define GASNET_BARRIERFLAG_IMAGES    4       /* gasnet_coll_barrier...: among all images */
#define GASNET_BARRIERFLAG_UNNAMED   (1 | 8) /* every rank is ANONYMOUS */

/* Enters the barrier: the first half.
 *   name   any number, the same on all ranks that are not anonymous
 *   flags  0 or GASNET_BARRIERFLAG_...
 * Collective; must alternate with gasnet_barrier_wait or a successful gasnet_barrier_try, which
 * another thread may make. Context: no handler. May poll.
 * GASNet-1, chapter "Extended API": barriers. */
PEN_API void gasnet_barrier_notify(int name, int flags);

/* Waits until all ranks have entered the barrier: the second half.
 *   name, flags  as given to gasnet_barrier_notify. If only one of the two calls is anonymous, they
 *                match (UPC 1.3). A name that only this call has matches unless ranks agreed on
 *                another name
 * Returns GASNET_OK, or GASNET_ERR_BARRIER_MISMATCH if names did not match or a rank passed
 * GASNET_BARRIERFLAG_MISMATCH: the barrier is complete nevertheless. Requests sent before the
 * notify are handled as for gex_Coll_BarrierNB. Context: no handler. Blocks and polls.
 * GASNet-1, chapter "Extended API": barriers. */
PEN_API int gasnet_barrier_wait(int name, int flags);

/* Completes the barrier if it can be done without waiting. Takes the arguments, and has the
 * results, of gasnet_barrier_wait, or returns GASNET_ERR_NOT_READY; then the barrier is still to be
 * completed. Context: no handler. Polls once.
 * GASNet-1, chapter "Extended API": barriers. */
PEN_API int gasnet_barrier_try(int name, int flags);

/* Makes both halves of the barrier in one call. Legal between gasnet_init and gasnet_attach, too.
 * Not in the specification. Context: no handler. Blocks and polls. */
PEN_API int gasnet_barrier(int name, int flags);

/* Tells the name that ranks agreed on in the last barrier that this rank completed. Not in the
 * specification.
 *   name  receives the name
 * Returns 0. If the notify of every rank was anonymous, returns non-zero and leaves *name
 * unchanged. Context: any. Does not poll. */
PEN_API int gasnet_barrier_result(int *name);

#ifdef __cplusplus
}
#endif
#endif
