/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/rma.h>. Memory of a peer on the same host is mapped here, so a put is a copy;
 * if the length is known, the compiler turns it into a store. All further calls go to the library:
 * for peers elsewhere, addresses outside the published segment, and flags with a meaning. If the
 * library checks or traces calls, it publishes nothing as mapped and so receives all calls. */
#ifndef PENSTOCK_INLINE_RMA_H
#define PENSTOCK_INLINE_RMA_H

#include <penstock/rma.h>

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags without effect when the peer's memory is mapped. */
#define PEN_RMA_INLINE_FLAGS                                                                      \
    (PEN_FLAG_GASNET1 | GEX_FLAG_IMMEDIATE | GEX_FLAG_SELF_SEG_UNKNOWN | GEX_FLAG_SELF_SEG_SOME | \
     GEX_FLAG_SELF_SEG_BOUND | GEX_FLAG_PEER_SEG_UNKNOWN | GEX_FLAG_PEER_SEG_SOME |               \
     GEX_FLAG_PEER_SEG_BOUND)

/* Calls the library at intervals, so that a rank that only puts and gets serves its peers, too. */
static __inline__ int pen_rma_is_turn_over(void)
{
#if defined(GASNET_PAR)
    return --pen_stores < 0;
#else
    return --pen_poll.stores < 0;
#endif
}

/* Whether the peer's memory is mapped here, and its local address. */
static __inline__ int pen_rma_mapped(gex_TM_t team, gex_Rank_t rank, const void *addr, size_t len,
                                     gex_Flags_t flags, void **alias)
{
    const pen_team_view *view = (const pen_team_view *)(const void *)team;
    uint32_t i = rank - view->mapped_first;
    const pen_mapped *mapped;
    uintptr_t offset;
    if (PEN_UNLIKELY(pen_rma_is_turn_over()))
        return 0;
    if (PEN_UNLIKELY(i >= view->mapped_count || (flags & ~PEN_RMA_INLINE_FLAGS) != 0))
        return 0;
    mapped = &view->mapped[i];
    offset = (uintptr_t)addr - mapped->base;
    /* "- 1" sends empty transfers to the library: their other address may be NULL */
    if (PEN_UNLIKELY(offset >= mapped->len || len - 1 >= mapped->len - offset))
        return 0;
    *alias = PEN_POINTER(void *, (uintptr_t)addr + (uintptr_t)mapped->delta);
    return 1;
}

/* Copies between local memory and a peer's memory, which do not overlap. */
static __inline__ void pen_rma_copy(void *to, const void *from, size_t len)
{
    if (len >= PEN_COPY_CALL_MIN)
        pen_api_copy(to, from, len);
    else
        memcpy(to, from, len);
}

/* A put is reported done only when the receiver of the report sees its bytes: the store that
 * reports must not overtake them. x86 keeps stores in order, so only the compiler needs a fence
 * there. */
static __inline__ void pen_rma_put_done(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ __volatile__("" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/* The loads of announced data must not overtake the get of the flag that announces them. x86 keeps
 * loads in order. */
static __inline__ void pen_rma_get_done(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ __volatile__("" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* Offset of an integer of len bytes in a longer one. */
static __inline__ void *pen_rma_low_bytes(gex_RMA_Value_t *value, size_t len)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (unsigned char *)value + (sizeof *value - len);
#else
    (void)len;
    return value;
#endif
}

GEX_INLINE int gex_RMA_PutBlocking(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source,
                                   size_t len, gex_Flags_t flags)
{
    void *alias;
    if (PEN_UNLIKELY(!pen_rma_mapped(team, rank, dest, len, flags, &alias)))
        return pen_api_put(team, rank, dest, source, len, flags);
    pen_rma_copy(alias, source, len);
    pen_rma_put_done();
    return 0;
}

GEX_INLINE int gex_RMA_GetBlocking(gex_TM_t team, void *dest, gex_Rank_t rank, void *source,
                                   size_t len, gex_Flags_t flags)
{
    void *alias;
    if (PEN_UNLIKELY(!pen_rma_mapped(team, rank, source, len, flags, &alias)))
        return pen_api_get(team, dest, rank, source, len, flags);
    pen_rma_copy(dest, alias, len);
    pen_rma_get_done();
    return 0;
}

GEX_INLINE gex_Event_t gex_RMA_PutNB(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source,
                                     size_t len, gex_Event_t *local, gex_Flags_t flags)
{
    void *alias;
    if (PEN_UNLIKELY(!pen_rma_mapped(team, rank, dest, len, flags, &alias)))
        return pen_api_put_nb(team, rank, dest, source, len, local, flags);
    pen_rma_copy(alias, source, len);
    pen_rma_put_done();
    if ((uintptr_t)local > 3u)
        *local = GEX_EVENT_INVALID;
    return GEX_EVENT_INVALID;
}

GEX_INLINE gex_Event_t gex_RMA_GetNB(gex_TM_t team, void *dest, gex_Rank_t rank, void *source,
                                     size_t len, gex_Flags_t flags)
{
    void *alias;
    if (PEN_UNLIKELY(!pen_rma_mapped(team, rank, source, len, flags, &alias)))
        return pen_api_get_nb(team, dest, rank, source, len, flags);
    pen_rma_copy(dest, alias, len);
    pen_rma_get_done();
    return GEX_EVENT_INVALID;
}

GEX_INLINE int gex_RMA_PutNBI(gex_TM_t team, gex_Rank_t rank, void *dest, const void *source,
                              size_t len, gex_Event_t *local, gex_Flags_t flags)
{
    void *alias;
    if (PEN_UNLIKELY(!pen_rma_mapped(team, rank, dest, len, flags, &alias)))
        return pen_api_put_nbi(team, rank, dest, source, len, local, flags);
    pen_rma_copy(alias, source, len);
    pen_rma_put_done();
    return 0;
}

GEX_INLINE int gex_RMA_GetNBI(gex_TM_t team, void *dest, gex_Rank_t rank, void *source, size_t len,
                              gex_Flags_t flags)
{
    void *alias;
    if (PEN_UNLIKELY(!pen_rma_mapped(team, rank, source, len, flags, &alias)))
        return pen_api_get_nbi(team, dest, rank, source, len, flags);
    pen_rma_copy(dest, alias, len);
    pen_rma_get_done();
    return 0;
}

GEX_INLINE gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t team, gex_Rank_t rank, void *source,
                                                  size_t len, gex_Flags_t flags)
{
    gex_RMA_Value_t value = 0;
    (void)gex_RMA_GetBlocking(team, pen_rma_low_bytes(&value, len), rank, source, len,
                              flags & ~GEX_FLAG_IMMEDIATE);
    return value;
}

GEX_INLINE int gex_RMA_PutBlockingVal(gex_TM_t team, gex_Rank_t rank, void *dest,
                                      gex_RMA_Value_t value, size_t len, gex_Flags_t flags)
{
    return gex_RMA_PutBlocking(team, rank, dest, pen_rma_low_bytes(&value, len), len, flags);
}

GEX_INLINE gex_Event_t gex_RMA_PutNBVal(gex_TM_t team, gex_Rank_t rank, void *dest,
                                        gex_RMA_Value_t value, size_t len, gex_Flags_t flags)
{
    return gex_RMA_PutNB(team, rank, dest, pen_rma_low_bytes(&value, len), len, GEX_EVENT_NOW,
                         flags);
}

GEX_INLINE int gex_RMA_PutNBIVal(gex_TM_t team, gex_Rank_t rank, void *dest, gex_RMA_Value_t value,
                                 size_t len, gex_Flags_t flags)
{
    return gex_RMA_PutNBI(team, rank, dest, pen_rma_low_bytes(&value, len), len, GEX_EVENT_NOW,
                          flags);
}

#ifdef __cplusplus
}
#endif
#endif
