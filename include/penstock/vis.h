/* SPDX-License-Identifier: BSD-3-Clause */
/* vis.h: put and get of memory in pieces. Each side is described on its own, in one of three ways:
 *   vector   a list of pieces, each with its address and length; those of length 0 are legal
 *   indexed  a list of addresses of pieces that all have the same length
 *   strided  a box of elements of elem_len contiguous bytes: level i has counts[i] indices, and
 *            stepping index i goes strides[i] bytes on, which may be negative. Both sides have the
 *            same elements; dest and source are the addresses of those whose indices are all 0.
 *            With levels 0 it is one element.
 * Common to all calls:
 *   team, rank    the peer, to whose memory the addresses on its side belong: inside its bound
 *                 segment (any address in GASNET_SEGMENT_EVERYTHING); the caller itself is one
 *   dest, source  the bytes of the source, in its order, become those of the destination, in its
 *                 order; the two may be cut differently, but have to be of the same length.
 *                 Pieces of the source may overlap one another, those of the destination not, and
 *                 neither the destination the source. Nothing at all to move is legal.
 *   flags         0 or GEX_FLAG_IMMEDIATE: do not wait for resources; puts also
 *                 GEX_FLAG_ENABLE_LEAF_LC: gex_Event_QueryLeaf with GEX_EC_LC will be asked
 * The source of a put may be changed when the operation is done, or its leaf event is; lists,
 * strides and counts when the call returns. When a put or get is done, and all else, is as in
 * <penstock/rma.h>. Wrong arguments end the job. Context: no handler.
 * GASNet-EX, chapter "Vector, Indexed & Strided". */
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

/* Names a handler at the target of this thread's next put of this chapter, to be run when all of
 * the put has arrived. It is run like a handler of a Medium Reply without arguments, so it is
 * registered with GEX_FLAG_AM_MEDIUM and GEX_FLAG_AM_REPLY and sends nothing; its payload is the
 * len bytes at source, at most GEX_VIS_MAX_PEERCOMPLETION. source may be changed on return. That
 * put then waits, in every form, until it is done. A put that GEX_FLAG_IMMEDIATE refuses is not the
 * next one. flags has to be 0. Deprecated: send the message after the put. Context: no handler.
 * Does not poll. GASNet-EX, chapter "Vector, Indexed & Strided". */
PEN_API void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source,
                                              size_t len, gex_Flags_t flags);

#ifdef __cplusplus
}
#endif
#endif
