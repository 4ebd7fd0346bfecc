/* SPDX-License-Identifier: BSD-3-Clause */
/* legacy_vis.h: put and get of memory in pieces, as GASNet-1 clients call them: "v" by lists of
 * memory, "i" by lists of pieces of one length, "s" by boxes of elements. See <penstock/vis.h>. The
 * strided calls differ from it: there are stridelevels levels; count[0] is the length of an element
 * in bytes, count[i] the number of indices of level i, and strides[i - 1] the stride of level i,
 * which is not negative. The plain form waits until all is done, "nb" returns a handle, "nbi"
 * counts as implicit. The source of a put may be changed when the operation is done. Wrong
 * arguments end the job. Context: no handler. GASNet-1, chapter "Extended API"; its note on
 * non-contiguous access describes the calls. */
#ifndef PENSTOCK_LEGACY_VIS_H
#define PENSTOCK_LEGACY_VIS_H

#include <penstock/legacy.h>
#include <penstock/vis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vector ---------------------------------------------------------------------------------- */

/* Put and get lists of memory, and wait until that is done. Block and poll. */
GEX_INLINE void gasnet_putv_bulk(gasnet_node_t dstnode, size_t dstcount,
                                 gasnet_memvec_t const dstlist[], size_t srccount,
                                 gasnet_memvec_t const srclist[]);
GEX_INLINE void gasnet_getv_bulk(size_t dstcount, gasnet_memvec_t const dstlist[],
                                 gasnet_node_t srcnode, size_t srccount,
                                 gasnet_memvec_t const srclist[]);

/* Begin to put and get lists of memory, and return a handle, GASNET_INVALID_HANDLE if all is done
 * already. May wait for resources, and poll meanwhile. */
GEX_INLINE gasnet_handle_t gasnet_putv_nb_bulk(gasnet_node_t dstnode, size_t dstcount,
                                               gasnet_memvec_t const dstlist[], size_t srccount,
                                               gasnet_memvec_t const srclist[]);
GEX_INLINE gasnet_handle_t gasnet_getv_nb_bulk(size_t dstcount, gasnet_memvec_t const dstlist[],
                                               gasnet_node_t srcnode, size_t srccount,
                                               gasnet_memvec_t const srclist[]);

/* Begin to put and get lists of memory, as implicit operations of the thread, or in its access
 * region. May wait for resources, and poll meanwhile. */
GEX_INLINE void gasnet_putv_nbi_bulk(gasnet_node_t dstnode, size_t dstcount,
                                     gasnet_memvec_t const dstlist[], size_t srccount,
                                     gasnet_memvec_t const srclist[]);
GEX_INLINE void gasnet_getv_nbi_bulk(size_t dstcount, gasnet_memvec_t const dstlist[],
                                     gasnet_node_t srcnode, size_t srccount,
                                     gasnet_memvec_t const srclist[]);

/* ---- indexed --------------------------------------------------------------------------------- */

/* Put and get lists of pieces of one length, and wait until that is done. Block and poll. */
GEX_INLINE void gasnet_puti_bulk(gasnet_node_t dstnode, size_t dstcount, void *const dstlist[],
                                 size_t dstlen, size_t srccount, void *const srclist[],
                                 size_t srclen);
GEX_INLINE void gasnet_geti_bulk(size_t dstcount, void *const dstlist[], size_t dstlen,
                                 gasnet_node_t srcnode, size_t srccount, void *const srclist[],
                                 size_t srclen);

/* Begin to put and get lists of pieces of one length, and return a handle, GASNET_INVALID_HANDLE if
 * all is done already. May wait for resources, and poll meanwhile. */
GEX_INLINE gasnet_handle_t gasnet_puti_nb_bulk(gasnet_node_t dstnode, size_t dstcount,
                                               void *const dstlist[], size_t dstlen,
                                               size_t srccount, void *const srclist[],
                                               size_t srclen);
GEX_INLINE gasnet_handle_t gasnet_geti_nb_bulk(size_t dstcount, void *const dstlist[],
                                               size_t dstlen, gasnet_node_t srcnode,
                                               size_t srccount, void *const srclist[],
                                               size_t srclen);

/* Begin to put and get lists of pieces of one length, as implicit operations of the thread, or in
 * its access region. May wait for resources, and poll meanwhile. */
GEX_INLINE void gasnet_puti_nbi_bulk(gasnet_node_t dstnode, size_t dstcount, void *const dstlist[],
                                     size_t dstlen, size_t srccount, void *const srclist[],
                                     size_t srclen);
GEX_INLINE void gasnet_geti_nbi_bulk(size_t dstcount, void *const dstlist[], size_t dstlen,
                                     gasnet_node_t srcnode, size_t srccount, void *const srclist[],
                                     size_t srclen);

/* ---- strided --------------------------------------------------------------------------------- */

/* Put and get boxes of elements, and wait until that is done. Block and poll. */
GEX_INLINE void gasnet_puts_bulk(gasnet_node_t dstnode, void *dstaddr, const size_t dststrides[],
                                 void *srcaddr, const size_t srcstrides[], const size_t count[],
                                 size_t stridelevels);
GEX_INLINE void gasnet_gets_bulk(void *dstaddr, const size_t dststrides[], gasnet_node_t srcnode,
                                 void *srcaddr, const size_t srcstrides[], const size_t count[],
                                 size_t stridelevels);

/* Begin to put and get boxes of elements, and return a handle, GASNET_INVALID_HANDLE if all is done
 * already. May wait for resources, and poll meanwhile. */
GEX_INLINE gasnet_handle_t gasnet_puts_nb_bulk(gasnet_node_t dstnode, void *dstaddr,
                                               const size_t dststrides[], void *srcaddr,
                                               const size_t srcstrides[], const size_t count[],
                                               size_t stridelevels);
GEX_INLINE gasnet_handle_t gasnet_gets_nb_bulk(void *dstaddr, const size_t dststrides[],
                                               gasnet_node_t srcnode, void *srcaddr,
                                               const size_t srcstrides[], const size_t count[],
                                               size_t stridelevels);

/* Begin to put and get boxes of elements, as implicit operations of the thread, or in its access
 * region. May wait for resources, and poll meanwhile. */
GEX_INLINE void gasnet_puts_nbi_bulk(gasnet_node_t dstnode, void *dstaddr,
                                     const size_t dststrides[], void *srcaddr,
                                     const size_t srcstrides[], const size_t count[],
                                     size_t stridelevels);
GEX_INLINE void gasnet_gets_nbi_bulk(void *dstaddr, const size_t dststrides[],
                                     gasnet_node_t srcnode, void *srcaddr,
                                     const size_t srcstrides[], const size_t count[],
                                     size_t stridelevels);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/legacy_vis.h>
#endif
