/* SPDX-License-Identifier: BSD-3-Clause */
/* segment.h: segments (memory that peers may reach) and endpoints (what peers reach). A process has
 * up to GASNET_MAXEPS endpoints, numbered from 0, the primordial one, which alone receives active
 * messages. One segment can be bound to each, and several endpoints may share one. */
#ifndef PENSTOCK_SEGMENT_H
#define PENSTOCK_SEGMENT_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- how large, and where ------------------------------------------------------------------- */

/* The largest segment this process can have: bytes, a multiple of GASNET_PAGESIZE;
 * GASNET_MAX_SEGSIZE limits it. (uintptr_t)-1 in GASNET_SEGMENT_EVERYTHING.
 * Valid between the start of the job and the first segment. Context: any. Does not poll.
 * GASNet-1, chapter "Core API": job environment queries. */
PEN_API uintptr_t gasnet_getMaxLocalSegmentSize(void);

/* The smallest of all ranks' gasnet_getMaxLocalSegmentSize: what each of them can have.
 * Context: any. Does not poll.
 * GASNet-1, chapter "Core API": job environment queries. */
PEN_API uintptr_t gasnet_getMaxGlobalSegmentSize(void);

typedef struct {
    void *addr;     /* the owner's address */
    uintptr_t size; /* bytes */
} gasnet_seginfo_t;

/* Where the ranks' segments are.
 *   table  receives one row for each of the first count ranks; NULL, (uintptr_t)-1 for all in
 *          GASNET_SEGMENT_EVERYTHING
 *   count  rows of the table, at most the number of ranks
 * Returns GASNET_OK, GASNET_ERR_NOT_INIT before segments were attached, GASNET_ERR_BAD_ARG.
 * Context: no handler. Does not poll.
 * GASNet-1, chapter "Core API": job environment queries. */
PEN_API int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int count);

/* ---- segments ------------------------------------------------------------------------------- */

/* Makes a segment on every rank, binds it to the primordial endpoint and makes it known to all.
 *   segment  receives this rank's; GEX_SEGMENT_INVALID in GASNET_SEGMENT_EVERYTHING
 *   team     the primordial team
 *   len      bytes on this rank, may differ between ranks: a positive multiple of
 *            GASNET_PAGESIZE, at most gasnet_getMaxLocalSegmentSize(); ignored in
 *            GASNET_SEGMENT_EVERYTHING
 * Collective, once, and ends with a barrier. The content is unspecified.
 * Returns GASNET_OK, GASNET_ERR_BAD_ARG, GASNET_ERR_RESOURCE. Context: no handler. Blocks and
 * polls.
 * GASNet-EX, chapter "Segments". */
PEN_API int gex_Segment_Attach(gex_Segment_t *segment, gex_TM_t team, uintptr_t len);

/* Makes a segment of this process only; bind it with gex_EP_BindSegment and make it known with
 * gex_EP_PublishBoundSegment. What is allocated here, ranks of the same host load and store in
 * directly; memory of the caller's they reach by messages.
 *   segment  receives it
 *   client   its owner
 *   addr     memory of the caller's, any alignment, that stays valid; NULL: allocated here
 *   len      bytes, above 0
 *   kind     GEX_MK_HOST, or what gex_MK_Create (<gasnet_mk.h>) made: then memory of that device
 *   flags    0
 * Returns GASNET_OK, GASNET_ERR_BAD_ARG, GASNET_ERR_RESOURCE. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Segments". */
PEN_API int gex_Segment_Create(gex_Segment_t *segment, gex_Client_t client, gex_Addr_t addr,
                               uintptr_t len, gex_MK_t kind, gex_Flags_t flags);

/* Ends a segment that no endpoint is bound to. Memory the library allocated is freed, the caller's
 * left as it is. One that is bound stays to the end of the job: to name it here ends the job.
 *   flags  0
 * Not collective. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Segments". */
PEN_API void gex_Segment_Destroy(gex_Segment_t segment, gex_Flags_t flags);

/* The client that owns it; the flags it was made with; its first address (of a device, if it is in
 * such memory) and its length in bytes in this process. Context: any. They do not poll.
 * GASNet-EX, chapter "Segments". */
PEN_API gex_Client_t gex_Segment_QueryClient(gex_Segment_t segment);
PEN_API gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t segment);
PEN_API void *gex_Segment_QueryAddr(gex_Segment_t segment);
PEN_API uintptr_t gex_Segment_QuerySize(gex_Segment_t segment);

/* Attaches a pointer of the client's own to the object; no atomicity is promised. Context: any.
 * Does not poll. GASNet-EX, chapter "Segments". */
PEN_API void gex_Segment_SetCData(gex_Segment_t segment, const void *data);

/* The pointer attached last, at first NULL. Context: any. Does not poll.
 * GASNet-EX, chapter "Segments". */
PEN_API void *gex_Segment_QueryCData(gex_Segment_t segment);

/* ---- endpoints ------------------------------------------------------------------------------ */

/* Makes another endpoint of this process: a target of puts and gets, and over gex_TM_Pair their
 * initiator. It lasts as long as the job.
 *   endpoint      receives it; its number is one more than that of the one made before it, from 1
 *   client        its owner
 *   capabilities  what it is for, some of GEX_EP_CAPABILITY_...: an operation that needs another
 *                 one, of our endpoint or the target's, ends the job; not GEX_EP_CAPABILITY_AM,
 *                 which the primordial endpoint alone has (GASNET_ERR_BAD_ARG)
 *   flags         0, or some of GEX_FLAG_HINT_ACCEL_..., which change nothing
 * Not collective. Returns GASNET_OK; GASNET_ERR_BAD_ARG; GASNET_ERR_RESOURCE when the process has
 * GASNET_MAXEPS endpoints. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API int gex_EP_Create(gex_EP_t *endpoint, gex_Client_t client,
                          gex_EP_Capabilities_t capabilities, gex_Flags_t flags);

/* Binds a segment to an endpoint that has none; there is no way back. The primordial endpoint takes
 * one, too, if none was attached, but only of host memory.
 *   flags  0
 * Not collective. Returns GASNET_OK, GASNET_ERR_BAD_ARG. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API int gex_EP_BindSegment(gex_EP_t endpoint, gex_Segment_t segment, gex_Flags_t flags);

/* Makes the segments bound to the named endpoints known, so that the team's processes can reach
 * them, over any team and pair, and after the end of this team as well.
 *   team       any but the result of gex_TM_Pair
 *   endpoints  count endpoints of this process, members of the team or not; may be unbound; nobody
 *              uses them during the call
 *   count      at most GASNET_MAXEPS; may be 0, and differ between ranks
 *   flags      0
 * Collective over the team: nobody leaves before all have come. May be repeated, with other
 * endpoints and the same.
 * Returns GASNET_OK, GASNET_ERR_BAD_ARG, GASNET_ERR_RESOURCE. Context: no handler. Blocks and
 * polls.
 * GASNet-EX, chapter "Endpoints". */
PEN_API int gex_EP_PublishBoundSegment(gex_TM_t team, gex_EP_t *endpoints, size_t count,
                                       gex_Flags_t flags);

/* Adds handlers to an endpoint. Handlers already registered stay.
 *   table  count entries, free for other use afterwards; an entry whose gex_index is 0 gets the
 *          highest free index, in the order of the table, and that index is written back
 *   count  entries
 * Not collective, no barrier: synchronise before a message may arrive for a new handler.
 * Returns GASNET_OK; GASNET_ERR_BAD_ARG for an index below GEX_AM_INDEX_BASE or taken already, then
 * nothing is registered; GASNET_ERR_RESOURCE when no index is left. Context: no handler. Does not
 * poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API int gex_EP_RegisterHandlers(gex_EP_t endpoint, gex_AM_Entry_t *table, size_t count);

/* The client that owns it; the flags it was made with; the segment bound to it, or
 * GEX_SEGMENT_INVALID; its number in this process. Context: any. They do not poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API gex_Client_t gex_EP_QueryClient(gex_EP_t endpoint);
PEN_API gex_Flags_t gex_EP_QueryFlags(gex_EP_t endpoint);
PEN_API gex_Segment_t gex_EP_QuerySegment(gex_EP_t endpoint);
PEN_API gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t endpoint);

/* Attaches a pointer of the client's own to the object; no atomicity is promised. Context: any.
 * Does not poll. GASNet-EX, chapter "Endpoints". */
PEN_API void gex_EP_SetCData(gex_EP_t endpoint, const void *data);

/* The pointer attached last, at first NULL. Context: any. Does not poll.
 * GASNet-EX, chapter "Endpoints". */
PEN_API void *gex_EP_QueryCData(gex_EP_t endpoint);

/* ---- peers' segments ------------------------------------------------------------------------ */

/* Asks for the segment bound to a peer's endpoint: of an endpoint of this process what is bound, of
 * others what they published to it.
 *   team, rank  the peer; of a pair, the endpoint whose number the pair has
 *   owner       receives the segment's address there
 *   local       receives its address here if this process can load and store there, else NULL (so
 *               for memory of a device)
 *   len         receives its length in bytes, 0 when no segment is bound
 *   flags       0 or GEX_FLAG_IMMEDIATE
 * Any of the three may be NULL. Returns an event; the answers are valid once it is done. With
 * GEX_FLAG_IMMEDIATE may return GEX_EVENT_NO_OP, and then nothing happened.
 * Context: any with GEX_FLAG_IMMEDIATE, otherwise no handler. May poll without that flag.
 * GASNet-EX, chapter "Endpoints". */
PEN_API gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t team, gex_Rank_t rank, void **owner,
                                               void **local, uintptr_t *len, gex_Flags_t flags);

/* As gex_EP_QueryBoundSegmentNB, and waits. Deprecated there.
 * Returns 0; or non-zero when no segment is bound, and then writes nothing. Context: no handler.
 * Blocks and polls. GASNet-EX, chapter "Segments". */
PEN_API int gex_Segment_QueryBound(gex_TM_t team, gex_Rank_t rank, void **owner, void **local,
                                   uintptr_t *len);

#ifdef __cplusplus
}
#endif
#endif
