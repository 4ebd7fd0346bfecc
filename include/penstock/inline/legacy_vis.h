/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/legacy_vis.h>. They call the GASNet-EX calls on the primordial team. A
 * gasnet_memvec_t has the layout of a gex_Memvec_t. */
#ifndef PENSTOCK_INLINE_LEGACY_VIS_H
#define PENSTOCK_INLINE_LEGACY_VIS_H

#include <penstock/legacy_vis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vector ---------------------------------------------------------------------------------- */

GEX_INLINE void gasnet_putv_bulk(gasnet_node_t dstnode, size_t dstcount,
                                 gasnet_memvec_t const dstlist[], size_t srccount,
                                 gasnet_memvec_t const srclist[])
{
    (void)gex_VIS_VectorPutBlocking(pen_world, dstnode, dstcount,
                                    PEN_POINTER(const gex_Memvec_t *, dstlist), srccount,
                                    PEN_POINTER(const gex_Memvec_t *, srclist), 0);
}

GEX_INLINE void gasnet_getv_bulk(size_t dstcount, gasnet_memvec_t const dstlist[],
                                 gasnet_node_t srcnode, size_t srccount,
                                 gasnet_memvec_t const srclist[])
{
    (void)gex_VIS_VectorGetBlocking(pen_world, dstcount, PEN_POINTER(const gex_Memvec_t *, dstlist),
                                    srcnode, srccount, PEN_POINTER(const gex_Memvec_t *, srclist),
                                    0);
}

GEX_INLINE gasnet_handle_t gasnet_putv_nb_bulk(gasnet_node_t dstnode, size_t dstcount,
                                               gasnet_memvec_t const dstlist[], size_t srccount,
                                               gasnet_memvec_t const srclist[])
{
    return gex_VIS_VectorPutNB(pen_world, dstnode, dstcount,
                               PEN_POINTER(const gex_Memvec_t *, dstlist), srccount,
                               PEN_POINTER(const gex_Memvec_t *, srclist), 0);
}

GEX_INLINE gasnet_handle_t gasnet_getv_nb_bulk(size_t dstcount, gasnet_memvec_t const dstlist[],
                                               gasnet_node_t srcnode, size_t srccount,
                                               gasnet_memvec_t const srclist[])
{
    return gex_VIS_VectorGetNB(pen_world, dstcount, PEN_POINTER(const gex_Memvec_t *, dstlist),
                               srcnode, srccount, PEN_POINTER(const gex_Memvec_t *, srclist), 0);
}

GEX_INLINE void gasnet_putv_nbi_bulk(gasnet_node_t dstnode, size_t dstcount,
                                     gasnet_memvec_t const dstlist[], size_t srccount,
                                     gasnet_memvec_t const srclist[])
{
    (void)gex_VIS_VectorPutNBI(pen_world, dstnode, dstcount,
                               PEN_POINTER(const gex_Memvec_t *, dstlist), srccount,
                               PEN_POINTER(const gex_Memvec_t *, srclist), 0);
}

GEX_INLINE void gasnet_getv_nbi_bulk(size_t dstcount, gasnet_memvec_t const dstlist[],
                                     gasnet_node_t srcnode, size_t srccount,
                                     gasnet_memvec_t const srclist[])
{
    (void)gex_VIS_VectorGetNBI(pen_world, dstcount, PEN_POINTER(const gex_Memvec_t *, dstlist),
                               srcnode, srccount, PEN_POINTER(const gex_Memvec_t *, srclist), 0);
}

/* ---- indexed --------------------------------------------------------------------------------- */

GEX_INLINE void gasnet_puti_bulk(gasnet_node_t dstnode, size_t dstcount, void *const dstlist[],
                                 size_t dstlen, size_t srccount, void *const srclist[],
                                 size_t srclen)
{
    (void)gex_VIS_IndexedPutBlocking(pen_world, dstnode, dstcount, dstlist, dstlen, srccount,
                                     srclist, srclen, 0);
}

GEX_INLINE void gasnet_geti_bulk(size_t dstcount, void *const dstlist[], size_t dstlen,
                                 gasnet_node_t srcnode, size_t srccount, void *const srclist[],
                                 size_t srclen)
{
    (void)gex_VIS_IndexedGetBlocking(pen_world, dstcount, dstlist, dstlen, srcnode, srccount,
                                     srclist, srclen, 0);
}

GEX_INLINE gasnet_handle_t gasnet_puti_nb_bulk(gasnet_node_t dstnode, size_t dstcount,
                                               void *const dstlist[], size_t dstlen,
                                               size_t srccount, void *const srclist[],
                                               size_t srclen)
{
    return gex_VIS_IndexedPutNB(pen_world, dstnode, dstcount, dstlist, dstlen, srccount, srclist,
                                srclen, 0);
}

GEX_INLINE gasnet_handle_t gasnet_geti_nb_bulk(size_t dstcount, void *const dstlist[],
                                               size_t dstlen, gasnet_node_t srcnode,
                                               size_t srccount, void *const srclist[],
                                               size_t srclen)
{
    return gex_VIS_IndexedGetNB(pen_world, dstcount, dstlist, dstlen, srcnode, srccount, srclist,
                                srclen, 0);
}

GEX_INLINE void gasnet_puti_nbi_bulk(gasnet_node_t dstnode, size_t dstcount, void *const dstlist[],
                                     size_t dstlen, size_t srccount, void *const srclist[],
                                     size_t srclen)
{
    (void)gex_VIS_IndexedPutNBI(pen_world, dstnode, dstcount, dstlist, dstlen, srccount, srclist,
                                srclen, 0);
}

GEX_INLINE void gasnet_geti_nbi_bulk(size_t dstcount, void *const dstlist[], size_t dstlen,
                                     gasnet_node_t srcnode, size_t srccount, void *const srclist[],
                                     size_t srclen)
{
    (void)gex_VIS_IndexedGetNBI(pen_world, dstcount, dstlist, dstlen, srcnode, srccount, srclist,
                                srclen, 0);
}

/* ---- strided --------------------------------------------------------------------------------- */

GEX_INLINE void gasnet_puts_bulk(gasnet_node_t dstnode, void *dstaddr, const size_t dststrides[],
                                 void *srcaddr, const size_t srcstrides[], const size_t count[],
                                 size_t stridelevels)
{
    (void)gex_VIS_StridedPutBlocking(
        pen_world, dstnode, dstaddr, PEN_POINTER(const ptrdiff_t *, dststrides), srcaddr,
        PEN_POINTER(const ptrdiff_t *, srcstrides), count[0], count + 1, stridelevels, 0);
}

GEX_INLINE void gasnet_gets_bulk(void *dstaddr, const size_t dststrides[], gasnet_node_t srcnode,
                                 void *srcaddr, const size_t srcstrides[], const size_t count[],
                                 size_t stridelevels)
{
    (void)gex_VIS_StridedGetBlocking(pen_world, dstaddr, PEN_POINTER(const ptrdiff_t *, dststrides),
                                     srcnode, srcaddr, PEN_POINTER(const ptrdiff_t *, srcstrides),
                                     count[0], count + 1, stridelevels, 0);
}

GEX_INLINE gasnet_handle_t gasnet_puts_nb_bulk(gasnet_node_t dstnode, void *dstaddr,
                                               const size_t dststrides[], void *srcaddr,
                                               const size_t srcstrides[], const size_t count[],
                                               size_t stridelevels)
{
    return gex_VIS_StridedPutNB(
        pen_world, dstnode, dstaddr, PEN_POINTER(const ptrdiff_t *, dststrides), srcaddr,
        PEN_POINTER(const ptrdiff_t *, srcstrides), count[0], count + 1, stridelevels, 0);
}

GEX_INLINE gasnet_handle_t gasnet_gets_nb_bulk(void *dstaddr, const size_t dststrides[],
                                               gasnet_node_t srcnode, void *srcaddr,
                                               const size_t srcstrides[], const size_t count[],
                                               size_t stridelevels)
{
    return gex_VIS_StridedGetNB(pen_world, dstaddr, PEN_POINTER(const ptrdiff_t *, dststrides),
                                srcnode, srcaddr, PEN_POINTER(const ptrdiff_t *, srcstrides),
                                count[0], count + 1, stridelevels, 0);
}

GEX_INLINE void gasnet_puts_nbi_bulk(gasnet_node_t dstnode, void *dstaddr,
                                     const size_t dststrides[], void *srcaddr,
                                     const size_t srcstrides[], const size_t count[],
                                     size_t stridelevels)
{
    (void)gex_VIS_StridedPutNBI(
        pen_world, dstnode, dstaddr, PEN_POINTER(const ptrdiff_t *, dststrides), srcaddr,
        PEN_POINTER(const ptrdiff_t *, srcstrides), count[0], count + 1, stridelevels, 0);
}

GEX_INLINE void gasnet_gets_nbi_bulk(void *dstaddr, const size_t dststrides[],
                                     gasnet_node_t srcnode, void *srcaddr,
                                     const size_t srcstrides[], const size_t count[],
                                     size_t stridelevels)
{
    (void)gex_VIS_StridedGetNBI(pen_world, dstaddr, PEN_POINTER(const ptrdiff_t *, dststrides),
                                srcnode, srcaddr, PEN_POINTER(const ptrdiff_t *, srcstrides),
                                count[0], count + 1, stridelevels, 0);
}

#ifdef __cplusplus
}
#endif
#endif
