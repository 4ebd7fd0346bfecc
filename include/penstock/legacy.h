/* SPDX-License-Identifier: BSD-3-Clause */
/* legacy.h: the GASNet-1 core interface apart from messages: types, start, identity, locks. */
#ifndef PENSTOCK_LEGACY_H
#define PENSTOCK_LEGACY_H

#include <penstock/event.h>
#include <penstock/hsl.h>
#include <penstock/init.h>
#include <penstock/segment.h>
#include <penstock/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types: the same as those of GASNet-EX -------------------------------------------------- */

typedef gex_Rank_t gasnet_node_t;
typedef gex_AM_Index_t gasnet_handler_t;
typedef gex_AM_Arg_t gasnet_handlerarg_t;
typedef gex_Token_t gasnet_token_t;
typedef gex_RMA_Value_t gasnet_register_value_t;
typedef gex_Event_t gasnet_handle_t;
typedef struct pen_valget gasnet_valget_handle_t;
typedef gex_HSL_t gasnet_hsl_t;

#define SIZEOF_GASNET_REGISTER_VALUE_T SIZEOF_GEX_RMA_VALUE_T
#define GASNET_INVALID_HANDLE          GEX_EVENT_INVALID
#define GASNET_HSL_INITIALIZER         GEX_HSL_INITIALIZER

typedef struct {
    gasnet_handler_t index; /* 0: the library chooses an index and writes it back */
    gex_AM_Fn_t fnptr;
} gasnet_handlerentry_t;

typedef struct {
    void *addr;
    size_t len;
} gasnet_memvec_t;

/* ---- start ---------------------------------------------------------------------------------- */

/* Joins the job: connects this process with its peers.
 *   argc, argv  the arguments of main, or both NULL; arguments meant for the launcher are removed
 * Collective. Call it once per process, before every other call, and instead of gex_Client_Init.
 * Until gasnet_attach, a process may only ask for identity, environment and segment limits, or end
 * the job. Returns GASNET_OK; GASNET_ERR_NOT_INIT if the job has started already;
 * GASNET_ERR_BAD_ARG; GASNET_ERR_RESOURCE. Context: no handler. Blocks. GASNet-1, chapter "Core
 * API": job control. */
GEX_INLINE int gasnet_init(int *argc, char ***argv);

/* Registers handlers, makes each rank's segment and makes it known.
 *   table    handlers; where an index is 0 the library chooses one and writes it back
 *   count    entries
 *   segsize  bytes on this rank, may differ between ranks: a multiple of GASNET_PAGESIZE, at most
 *            gasnet_getMaxLocalSegmentSize(); 0 gives one page; GASNET_SEGMENT_EVERYTHING: ignored
 *   minheapoffset  ignored
 * Collective, once, after gasnet_init, and ends with a barrier.
 * Returns GASNET_OK, GASNET_ERR_NOT_INIT, GASNET_ERR_BAD_ARG, GASNET_ERR_RESOURCE.
 * Context: no handler. Blocks and polls.
 * GASNet-1, chapter "Core API": job control. */
PEN_API int gasnet_attach(gasnet_handlerentry_t *table, int count, uintptr_t segsize,
                          uintptr_t minheapoffset);

/* Returns the GASNet-EX objects that GASNet-1 calls use. Any argument may be NULL.
 *   segment  receives the segment, or GEX_SEGMENT_INVALID if there is no segment
 * Context: any. Does not poll.
 * GASNet-EX, chapter on GASNet-1 interoperability. */
PEN_API void gasnet_QueryGexObjects(gex_Client_t *client, gex_EP_t *endpoint, gex_TM_t *team,
                                    gex_Segment_t *segment);

/* ---- identity ------------------------------------------------------------------------------- */

/* Return this process's rank in the job, and the number of processes. Context: any. They do not
 * poll.
 * GASNet-1, chapter "Core API": job environment queries. */
GEX_INLINE gasnet_node_t gasnet_mynode(void);
GEX_INLINE gasnet_node_t gasnet_nodes(void);

/* ---- atomicity control ---------------------------------------------------------------------- */

/* gex_HSL_Init, ...Destroy, ...Lock, ...Unlock and ...Trylock under their older names.
 * Context: any. They do not poll.
 * GASNet-1, chapter "Core API": atomicity control. */
GEX_INLINE void gasnet_hsl_init(gasnet_hsl_t *lock);
GEX_INLINE void gasnet_hsl_destroy(gasnet_hsl_t *lock);
GEX_INLINE void gasnet_hsl_lock(gasnet_hsl_t *lock);
GEX_INLINE void gasnet_hsl_unlock(gasnet_hsl_t *lock);
GEX_INLINE int gasnet_hsl_trylock(gasnet_hsl_t *lock);

/* Begin and end a region in which no handler runs on this thread and no call may poll. Regions do
 * not nest. Handlers run only in calls that poll, so these calls have no work to do; libraries with
 * checks report misuse. Context: not in a handler, no handler-safe lock held. They do not poll.
 * GASNet-1, chapter "Core API": atomicity control. */
PEN_API void gasnet_hold_interrupts(void);
PEN_API void gasnet_resume_interrupts(void);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/legacy.h>
#endif
