/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.h: barriers: that of GASNet-EX, and the split-phase one of GASNet-1, where ranks may name
 * what they wait for and are told if the names differ. The two are independent of each other, and
 * neither completes operations that are in flight. */
#ifndef PENSTOCK_COLL_H
#define PENSTOCK_COLL_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a barrier: its event is done once every member has begun it. What a member wrote before is
 * visible to all after their synchronisation. Several may be outstanding.
 * When the event is done, the handlers of all requests that members sent to this rank before they
 * began the barrier have run. Over a network this holds for requests that have arrived by then: a
 * request that was lost on the way and sent again may come later.
 *   team   not a TM pair
 *   flags  0
 * Collective over the team. Returns an event. Context: no handler. May poll.
 * GASNet-EX, chapter "Collectives". */
PEN_API gex_Event_t gex_Coll_BarrierNB(gex_TM_t team, gex_Flags_t flags);

/* gex_Coll_BarrierNB, and waits for it. Not in the specification. Context: no handler. Blocks and
 * polls. */
PEN_API void gex_Coll_BarrierBlocking(gex_TM_t team, gex_Flags_t flags);

#define GASNET_BARRIERFLAG_ANONYMOUS 1       /* this rank's name matches any */
#define GASNET_BARRIERFLAG_MISMATCH  2       /* this rank makes every rank report a mismatch */
#define GASNET_BARRIERFLAG_IMAGES    4       /* gasnet_coll_barrier...: of all images */
#define GASNET_BARRIERFLAG_UNNAMED   (1 | 8) /* every rank is ANONYMOUS */

/* Enters the barrier: the first half.
 *   name   any number, the same on all ranks that are not anonymous
 *   flags  0 or GASNET_BARRIERFLAG_...
 * Collective; must alternate with gasnet_barrier_wait or a successful gasnet_barrier_try, which
 * another thread may make. Context: no handler. May poll.
 * GASNet-1, chapter "Extended API": barriers. */
PEN_API void gasnet_barrier_notify(int name, int flags);

/* Waits until all ranks have entered the barrier: the second half.
 *   name, flags  as given to gasnet_barrier_notify. Either call may be anonymous where the other
 *                one has a name: they match (UPC 1.3), and so does a name that only this call has,
 *                unless ranks agreed on another name
 * Returns GASNET_OK, or GASNET_ERR_BARRIER_MISMATCH if names did not match or a rank passed
 * GASNET_BARRIERFLAG_MISMATCH: the barrier is complete nevertheless. When this rank has entered the
 * barrier, so have all requests it sent before: see gex_Coll_BarrierNB. Context: no handler. Blocks
 * and polls.
 * GASNet-1, chapter "Extended API": barriers. */
PEN_API int gasnet_barrier_wait(int name, int flags);

/* As gasnet_barrier_wait, but returns GASNET_ERR_NOT_READY instead of waiting; only another result
 * completes the barrier. Context: no handler. Polls once.
 * GASNet-1, chapter "Extended API": barriers. */
PEN_API int gasnet_barrier_try(int name, int flags);

/* Both halves in one; legal between gasnet_init and gasnet_attach, too. Not in the specification.
 * Context: no handler. Blocks and polls. */
PEN_API int gasnet_barrier(int name, int flags);

/* The name that ranks agreed on in the last barrier this rank completed. Not in the specification.
 *   name  receives it
 * Returns 0; non-zero if the notify of every rank was anonymous, and then *name is not written.
 * Context: any. Does not poll. */
PEN_API int gasnet_barrier_result(int *name);

#ifdef __cplusplus
}
#endif
#endif
