/* SPDX-License-Identifier: BSD-3-Clause */
/* segment.h: segments (memory that peers may reach) and endpoints (communication targets, to which
 * segments are bound). A process has up to GASNET_MAXEPS endpoints, numbered from 0. Number 0 is
 * the primordial endpoint; only it receives active messages. One segment can be bound to each
 * endpoint, and several endpoints may share one segment. */
#ifndef PENSTOCK_SEGMENT_H
#define PENSTOCK_SEGMENT_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- how large, and where ------------------------------------------------------------------- */

/* Returns the largest segment that this process can have: bytes, a multiple of GASNET_PAGESIZE,
 * limited by GASNET_MAX_SEGSIZE. (uintptr_t)-1 in GASNET_SEGMENT_EVERYTHING. Valid between the
 * start of the job and the first segment. Context: any. Does not poll.
 * GASNet-1, chapter "Core API": job environment queries. */
PEN_API uintptr_t gasnet_getMaxLocalSegmentSize(void);

/* Returns the minimum of gasnet_getMaxLocalSegmentSize over all ranks: a segment size that each of
 * them can have. Context: any. Does not poll.
 * GASNet-1, chapter "Core API": job environment queries. */
PEN_API uintptr_t gasnet_getMaxGlobalSegmentSize(void);

typedef struct {
    void *addr;     /* the owner's address */
    uintptr_t size; /* bytes */
} gasnet_seginfo_t;

/* Tells where the segments of the ranks are.
 *   table  receives one row for each of the first count ranks; in GASNET_SEGMENT_EVERYTHING all
 *          rows are NULL, (uintptr_t)-1
 *   count  rows of the table, at most the number of ranks
 * Returns GASNET_OK, GASNET_ERR_NOT_INIT before segments were attached, GASNET_ERR_BAD_ARG.
 * Context: no handler. Does not poll.
 * GASNet-1, chapter "Core API": job environment queries. */
PEN_API int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int count);

/* ---- segments ------------------------------------------------------------------------------- */

/* Makes a segment on every rank, binds it to the primordial endpoint and makes it known to all.
 *   segment  receives this rank's segment; GEX_SEGMENT_INVALID in GASNET_SEGMENT_EVERYTHING
 *   team     the primordial team
 *   len      bytes on this rank, may differ between ranks: a positive multiple of
 *            GASNET_PAGESIZE, at most gasnet_getMaxLocalSegmentSize(); ignored in
 *            GASNET_SEGMENT_EVERYTHING
 * Collective, once, and ends with a barrier. The content is unspecified.
 * Returns GASNET_OK, GASNET_ERR_BAD_ARG, GASNET_ERR_RESOURCE. Context: no handler. Blocks and
 * polls.
 * GASNet-EX, chapter "Segments". */
PEN_API int gex_Segment_Attach(gex_Segment_t *segment, gex_TM_t team, uintptr_t len);

/* Makes a segment of this process only. Bind it with gex_EP_BindSegment and publish it with
 * gex_EP_PublishBoundSegment. Ranks of the same host load and store directly in memory that the
 * library allocates here; they reach memory of the caller by messages.
 *   segment  receives the segment
 *   client   the client that owns the segment
 *   addr     memory of the caller, any alignment, that stays valid; NULL: allocated here
 *   len      bytes, above 0
 *   kind     GEX_MK_HOST, or a kind from gex_MK_Create (<gasnet_mk.h>): then memory of that device
 *   flags    0
 * Returns GASNET_OK, GASNET_ERR_BAD_ARG, GASNET_ERR_RESOURCE. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Segments". */
PEN_API int gex_Segment_Create(gex_Segment_t *segment, gex_Client_t client, gex_Addr_t addr,
                               uintptr_t len, gex_MK_t kind, gex_Flags_t flags);

/* Destroys a segment that is bound to no endpoint. Frees memory that the library allocated; leaves
 * memory of the caller unchanged. A bound segment lasts until the end of the job: destroying it
 * ends the job with a message.
 *   flags  0
 * Not collective. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Segments". */
PEN_API void gex_Segment_Destroy(gex_Segment_t segment, gex_Flags_t flags);

/* Return the client that owns the segment, the flags it was made with, its first address (a device
 * address if it is in device memory), and its length in bytes in this process. Context: any. They
 * do not poll.
 * GASNet-EX, chapter "Segments". */
PEN_API gex_Client_t gex_Segment_QueryClient(gex_Segment_t segment);
PEN_API gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t segment);
PEN_API void *gex_Segment_QueryAddr(gex_Segment_t segment);
PEN_API uintptr_t gex_Segment_QuerySize(gex_Segment_t segment);

/* Attaches a client's pointer to the segment. The call is not atomic. Context: any. Does not poll.
 * GASNet-EX, chapter "Segments". */
PEN_API void gex_Segment_SetCData(gex_Segment_t segment, const void *data);

/* Returns the pointer that was attached last; NULL before the first. Context: any. Does not poll.
 * GASNet-EX, chapter "Segments". */
PEN_API void *gex_Segment_QueryCData(gex_Segment_t segment);

/* ---- endpoints ------------------------------------------------------------------------------ */

/* Makes another endpoint of this process. It is a target of puts and gets and, over gex_TM_Pair,
 * starts them. It lasts as long as the job.
 *   endpoint      receives the endpoint; new endpoints are numbered 1, 2, 3, ...
 *   client        the client that owns the endpoint
 *   capabilities  the operations it is for, some of GEX_EP_CAPABILITY_...: an operation that needs
 *                 a capability that the local endpoint or the target lacks ends the job.
 *                 GEX_EP_CAPABILITY_AM is refused (GASNET_ERR_BAD_ARG): only the primordial
 *                 endpoint has it
 *   flags         0, or some of GEX_FLAG_HINT_ACCEL_..., which change nothing
 * Not collective. Returns GASNET_OK; GASNET_ERR_BAD_ARG; GASNET_ERR_RESOURCE if the process has
 * GASNET_MAXEPS endpoints. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API int gex_EP_Create(gex_EP_t *endpoint, gex_Client_t client,
                          gex_EP_Capabilities_t capabilities, gex_Flags_t flags);

/* Binds a segment to an endpoint that has no segment. A binding is permanent. The primordial
 * endpoint accepts a segment of host memory if none was attached.
 *   flags  0
 * Not collective. Returns GASNET_OK, GASNET_ERR_BAD_ARG. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API int gex_EP_BindSegment(gex_EP_t endpoint, gex_Segment_t segment, gex_Flags_t flags);

/* Publishes the segments bound to the named endpoints. The team's processes can then reach them
 * over any team and pair, also after the end of this team.
 *   team       any team, but not the result of gex_TM_Pair
 *   endpoints  count endpoints of this process, members of the team or not; may be unbound. Do not
 *              use them during the call
 *   count      at most GASNET_MAXEPS; may be 0, and differ between ranks
 *   flags      0
 * Collective over the team: returns after all members have entered. May be repeated, with the same
 * or with different endpoints. Returns GASNET_OK, GASNET_ERR_BAD_ARG, GASNET_ERR_RESOURCE. Context:
 * no handler. Blocks and polls.
 * GASNet-EX, chapter "Endpoints". */
PEN_API int gex_EP_PublishBoundSegment(gex_TM_t team, gex_EP_t *endpoints, size_t count,
                                       gex_Flags_t flags);

/* Adds handlers to an endpoint. Handlers already registered stay.
 *   table  count entries, free for other use afterwards; an entry whose gex_index is 0 gets the
 *          highest free index, in the order of the table, and that index is written back
 *   count  entries
 * Not collective, no barrier: synchronise the ranks before one sends a message to a new handler.
 * Returns GASNET_OK; GASNET_ERR_BAD_ARG for an index below GEX_AM_INDEX_BASE or an index in use,
 * and then nothing is registered; GASNET_ERR_RESOURCE when no index is left. Context: no handler.
 * Does not poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API int gex_EP_RegisterHandlers(gex_EP_t endpoint, gex_AM_Entry_t *table, size_t count);

/* Return the client that owns the endpoint, the flags it was made with, the segment bound to it or
 * GEX_SEGMENT_INVALID, and its number in this process. Context: any. They do not poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API gex_Client_t gex_EP_QueryClient(gex_EP_t endpoint);
PEN_API gex_Flags_t gex_EP_QueryFlags(gex_EP_t endpoint);
PEN_API gex_Segment_t gex_EP_QuerySegment(gex_EP_t endpoint);
PEN_API gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t endpoint);

/* Attaches a client's pointer to the endpoint. The call is not atomic. Context: any. Does not poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API void gex_EP_SetCData(gex_EP_t endpoint, const void *data);

/* Returns the pointer that was attached last; NULL before the first. Context: any. Does not poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API void *gex_EP_QueryCData(gex_EP_t endpoint);

/* ---- peers' segments ------------------------------------------------------------------------ */

/* Asks for the segment of an endpoint: of this process, the segment that is bound; of a peer, the
 * segment that it published to this process.
 *   team, rank  the peer; for a pair, the endpoint with the pair's number
 *   owner       receives the segment's address in its owner
 *   local       receives its local address if this process can load and store there, else NULL
 *               (also for device memory)
 *   len         receives its length in bytes, 0 when no segment is bound
 *   flags       0 or GEX_FLAG_IMMEDIATE
 * owner, local and len may be NULL. Returns an event; the answers are valid once it is done. With
 * GEX_FLAG_IMMEDIATE, may return GEX_EVENT_NO_OP; then nothing happened. Context: any with
 * GEX_FLAG_IMMEDIATE, otherwise no handler. May poll without that flag. GASNet-EX, chapter
 * "Endpoints". */
PEN_API gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t team, gex_Rank_t rank, void **owner,
                                               void **local, uintptr_t *len, gex_Flags_t flags);

/* Asks for the segment of an endpoint, like gex_EP_QueryBoundSegmentNB, and waits for the answer.
 * The specification deprecates it. Returns 0. If no segment is bound, returns non-zero and writes
 * nothing. Context: no handler. Blocks and polls.
 * GASNet-EX, chapter "Segments". */
PEN_API int gex_Segment_QueryBound(gex_TM_t team, gex_Rank_t rank, void **owner, void **local,
                                   uintptr_t *len);

#ifdef __cplusplus
}
#endif
#endif
