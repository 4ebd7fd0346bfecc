/* SPDX-License-Identifier: BSD-3-Clause */
/* vis.h: put and get of memory in pieces. The caller describes each side separately, in one of
 * three ways:
 *   vector   a list of pieces, each with its address and length; length 0 is legal
 *   indexed  a list of addresses of pieces that all have the same length
 *   strided  a box of elements of elem_len contiguous bytes: level i has counts[i] indices; the
 *            next index of level i is strides[i] bytes further, which may be negative. Both sides
 *            have the same elements; dest and source are the addresses of the elements whose
 *            indices are all 0. With levels 0 there is one element.
 * Arguments of all calls:
 *   team, rank    the peer, to whose memory the addresses on its side belong: inside its bound
 *                 segment (any address in GASNET_SEGMENT_EVERYTHING); may be the caller
 *   dest, source  the bytes of the source, in its order, become those of the destination, in its
 *                 order; the sides may have different pieces, but must have the same total length,
 *                 which may be 0. Pieces of the source may overlap one another. Pieces of the
 *                 destination must not overlap one another or the source
 *   flags         0 or GEX_FLAG_IMMEDIATE: do not wait for resources; puts also
 *                 GEX_FLAG_ENABLE_LEAF_LC: the caller will use gex_Event_QueryLeaf with GEX_EC_LC
 * The source of a put may be changed when the operation is done, or its leaf event is; lists,
 * strides and counts when the call returns. Further rules are those of <penstock/rma.h>, also about
 * when a put or get is done. Wrong arguments end the job. Context: no handler. GASNet-EX, chapter
 * "Vector, Indexed & Strided". */
#ifndef PENSTOCK_VIS_H
#define PENSTOCK_VIS_H

#include <penstock/rma.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vector ---------------------------------------------------------------------------------- */

/* Puts a list of memory, and waits until that is done. Returns 0; non-zero only with
 * GEX_FLAG_IMMEDIATE, when nothing happened. Blocks and polls. Context: no handler. GASNet-EX,
 * chapter "Vector, Indexed & Strided". */
PEN_API int gex_VIS_VectorPutBlocking(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                                      gex_Memvec_t const dest[], size_t source_count,
                                      gex_Memvec_t const source[], gex_Flags_t flags);

/* Gets a list of memory, and waits until that is done. Returns 0; non-zero only with
 * GEX_FLAG_IMMEDIATE, when nothing happened. Blocks and polls. Context: no handler. GASNet-EX,
 * chapter "Vector, Indexed & Strided". */
PEN_API int gex_VIS_VectorGetBlocking(gex_TM_t team, size_t dest_count, gex_Memvec_t const dest[],
                                      gex_Rank_t rank, size_t source_count,
                                      gex_Memvec_t const source[], gex_Flags_t flags);

/* Begins to put a list of memory. Returns its event, GEX_EVENT_INVALID if it is done already,
 * GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources, and
 * polls meanwhile. Context: no handler. GASNet-EX, chapter "Vector, Indexed & Strided". */
PEN_API gex_Event_t gex_VIS_VectorPutNB(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                                        gex_Memvec_t const dest[], size_t source_count,
                                        gex_Memvec_t const source[], gex_Flags_t flags);

/* Begins to get a list of memory. Returns its event, GEX_EVENT_INVALID if it is done already,
 * GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources, and
 * polls meanwhile. Context: no handler. GASNet-EX, chapter "Vector, Indexed & Strided". */
PEN_API gex_Event_t gex_VIS_VectorGetNB(gex_TM_t team, size_t dest_count, gex_Memvec_t const dest[],
                                        gex_Rank_t rank, size_t source_count,
                                        gex_Memvec_t const source[], gex_Flags_t flags);

/* Begins to put a list of memory, counted among the thread's implicit operations (GEX_EC_PUT), or
 * in its access region. Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when nothing happened.
 * May wait for resources, and polls meanwhile. Context: no handler. GASNet-EX, chapter "Vector,
 * Indexed & Strided". */
PEN_API int gex_VIS_VectorPutNBI(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                                 gex_Memvec_t const dest[], size_t source_count,
                                 gex_Memvec_t const source[], gex_Flags_t flags);

/* Begins to get a list of memory, counted among the thread's implicit operations (GEX_EC_GET), or
 * in its access region. Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when nothing happened.
 * May wait for resources, and polls meanwhile. Context: no handler. GASNet-EX, chapter "Vector,
 * Indexed & Strided". */
PEN_API int gex_VIS_VectorGetNBI(gex_TM_t team, size_t dest_count, gex_Memvec_t const dest[],
                                 gex_Rank_t rank, size_t source_count, gex_Memvec_t const source[],
                                 gex_Flags_t flags);

/* ---- indexed --------------------------------------------------------------------------------- */

/* Puts a list of pieces of one length, and waits until that is done. Returns 0; non-zero only with
 * GEX_FLAG_IMMEDIATE, when nothing happened. Blocks and polls. Context: no handler. GASNet-EX,
 * chapter "Vector, Indexed & Strided". */
PEN_API int gex_VIS_IndexedPutBlocking(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                                       void *const dest[], size_t dest_len, size_t source_count,
                                       void *const source[], size_t source_len, gex_Flags_t flags);

/* Gets a list of pieces of one length, and waits until that is done. Returns 0; non-zero only with
 * GEX_FLAG_IMMEDIATE, when nothing happened. Blocks and polls. Context: no handler. GASNet-EX,
 * chapter "Vector, Indexed & Strided". */
PEN_API int gex_VIS_IndexedGetBlocking(gex_TM_t team, size_t dest_count, void *const dest[],
                                       size_t dest_len, gex_Rank_t rank, size_t source_count,
                                       void *const source[], size_t source_len, gex_Flags_t flags);

/* Begins to put a list of pieces of one length. Returns its event, GEX_EVENT_INVALID if it is done
 * already, GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for
 * resources, and polls meanwhile. Context: no handler. GASNet-EX, chapter "Vector, Indexed &
 * Strided". */
PEN_API gex_Event_t gex_VIS_IndexedPutNB(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                                         void *const dest[], size_t dest_len, size_t source_count,
                                         void *const source[], size_t source_len,
                                         gex_Flags_t flags);

/* Begins to get a list of pieces of one length. Returns its event, GEX_EVENT_INVALID if it is done
 * already, GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for
 * resources, and polls meanwhile. Context: no handler. GASNet-EX, chapter "Vector, Indexed &
 * Strided". */
PEN_API gex_Event_t gex_VIS_IndexedGetNB(gex_TM_t team, size_t dest_count, void *const dest[],
                                         size_t dest_len, gex_Rank_t rank, size_t source_count,
                                         void *const source[], size_t source_len,
                                         gex_Flags_t flags);

/* Begins to put a list of pieces of one length, counted among the thread's implicit operations
 * (GEX_EC_PUT), or in its access region. Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when
 * nothing happened. May wait for resources, and polls meanwhile. Context: no handler. GASNet-EX,
 * chapter "Vector, Indexed & Strided". */
PEN_API int gex_VIS_IndexedPutNBI(gex_TM_t team, gex_Rank_t rank, size_t dest_count,
                                  void *const dest[], size_t dest_len, size_t source_count,
                                  void *const source[], size_t source_len, gex_Flags_t flags);

/* Begins to get a list of pieces of one length, counted among the thread's implicit operations
 * (GEX_EC_GET), or in its access region. Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when
 * nothing happened. May wait for resources, and polls meanwhile. Context: no handler. GASNet-EX,
 * chapter "Vector, Indexed & Strided". */
PEN_API int gex_VIS_IndexedGetNBI(gex_TM_t team, size_t dest_count, void *const dest[],
                                  size_t dest_len, gex_Rank_t rank, size_t source_count,
                                  void *const source[], size_t source_len, gex_Flags_t flags);

/* ---- strided --------------------------------------------------------------------------------- */

/* Puts a box of elements, and waits until that is done. Returns 0; non-zero only with
 * GEX_FLAG_IMMEDIATE, when nothing happened. Blocks and polls. Context: no handler. GASNet-EX,
 * chapter "Vector, Indexed & Strided". */
PEN_API int gex_VIS_StridedPutBlocking(gex_TM_t team, gex_Rank_t rank, void *dest,
                                       const ptrdiff_t dest_strides[], const void *source,
                                       const ptrdiff_t source_strides[], size_t elem_len,
                                       const size_t counts[], size_t levels, gex_Flags_t flags);

/* Gets a box of elements, and waits until that is done. Returns 0; non-zero only with
 * GEX_FLAG_IMMEDIATE, when nothing happened. Blocks and polls. Context: no handler. GASNet-EX,
 * chapter "Vector, Indexed & Strided". */
PEN_API int gex_VIS_StridedGetBlocking(gex_TM_t team, void *dest, const ptrdiff_t dest_strides[],
                                       gex_Rank_t rank, void *source,
                                       const ptrdiff_t source_strides[], size_t elem_len,
                                       const size_t counts[], size_t levels, gex_Flags_t flags);

/* Begins to put a box of elements. Returns its event, GEX_EVENT_INVALID if it is done already,
 * GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources, and
 * polls meanwhile. Context: no handler. GASNet-EX, chapter "Vector, Indexed & Strided". */
PEN_API gex_Event_t gex_VIS_StridedPutNB(gex_TM_t team, gex_Rank_t rank, void *dest,
                                         const ptrdiff_t dest_strides[], const void *source,
                                         const ptrdiff_t source_strides[], size_t elem_len,
                                         const size_t counts[], size_t levels, gex_Flags_t flags);

/* Begins to get a box of elements. Returns its event, GEX_EVENT_INVALID if it is done already,
 * GEX_EVENT_NO_OP only with GEX_FLAG_IMMEDIATE, when nothing happened. May wait for resources, and
 * polls meanwhile. Context: no handler. GASNet-EX, chapter "Vector, Indexed & Strided". */
PEN_API gex_Event_t gex_VIS_StridedGetNB(gex_TM_t team, void *dest, const ptrdiff_t dest_strides[],
                                         gex_Rank_t rank, void *source,
                                         const ptrdiff_t source_strides[], size_t elem_len,
                                         const size_t counts[], size_t levels, gex_Flags_t flags);

/* Begins to put a box of elements, counted among the thread's implicit operations (GEX_EC_PUT), or
 * in its access region. Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when nothing happened.
 * May wait for resources, and polls meanwhile. Context: no handler. GASNet-EX, chapter "Vector,
 * Indexed & Strided". */
PEN_API int gex_VIS_StridedPutNBI(gex_TM_t team, gex_Rank_t rank, void *dest,
                                  const ptrdiff_t dest_strides[], const void *source,
                                  const ptrdiff_t source_strides[], size_t elem_len,
                                  const size_t counts[], size_t levels, gex_Flags_t flags);

/* Begins to get a box of elements, counted among the thread's implicit operations (GEX_EC_GET), or
 * in its access region. Returns 0; non-zero only with GEX_FLAG_IMMEDIATE, when nothing happened.
 * May wait for resources, and polls meanwhile. Context: no handler. GASNet-EX, chapter "Vector,
 * Indexed & Strided". */
PEN_API int gex_VIS_StridedGetNBI(gex_TM_t team, void *dest, const ptrdiff_t dest_strides[],
                                  gex_Rank_t rank, void *source, const ptrdiff_t source_strides[],
                                  size_t elem_len, const size_t counts[], size_t levels,
                                  gex_Flags_t flags);

/* ---- telling the target ---------------------------------------------------------------------- */

#define GEX_VIS_MAX_PEERCOMPLETION 127

/* Names a handler at the target of this thread's next put of this chapter. The handler runs when
 * all of the put has arrived. It runs like a handler of a Medium Reply without arguments: register
 * it with GEX_FLAG_AM_MEDIUM and GEX_FLAG_AM_REPLY; it must not send. Its payload is the len bytes
 * at source, at most GEX_VIS_MAX_PEERCOMPLETION; source may be changed on return. The put then
 * waits, in every form, until it is done. If GEX_FLAG_IMMEDIATE refuses a put, the handler stays
 * for the put after it. flags must be 0. Deprecated: send the message after the put. Context: no
 * handler. Does not poll.
 * GASNet-EX, chapter "Vector, Indexed & Strided". */
PEN_API void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source,
                                              size_t len, gex_Flags_t flags);

#ifdef __cplusplus
}
#endif
#endif
