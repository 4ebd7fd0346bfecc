/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/tools/atomic.h>.
 *
 * An operation with flags has an order of the C language, which tools that look for data races
 * understand. The flags promise more, so fences stand around it: around reads and writes on every
 * processor, around read-modify-writes where they are no full fence themselves. */
#ifndef PENSTOCK_TOOLS_ATOMIC_INLINE_H
#define PENSTOCK_TOOLS_ATOMIC_INLINE_H

#include <penstock/tools/atomic.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__x86_64__) || defined(__i386__)
#    define PEN_RMW_IS_FENCE 1
#else
#    define PEN_RMW_IS_FENCE 0
#endif

static __inline__ void pen_atomic_before(int flags)
{
    if ((flags & GASNETT_ATOMIC_WMB_PRE) != 0)
        gasnett_local_mb();
    else if ((flags & GASNETT_ATOMIC_RMB_PRE) != 0)
        gasnett_local_rmb();
}

static __inline__ void pen_atomic_after(int flags)
{
    if ((flags & GASNETT_ATOMIC_WMB_POST) != 0)
        gasnett_local_mb();
    else if ((flags & GASNETT_ATOMIC_RMB_POST) != 0)
        gasnett_local_rmb();
}

static __inline__ void pen_rmw_before(int flags)
{
    if (!PEN_RMW_IS_FENCE)
        pen_atomic_before(flags);
}

static __inline__ void pen_rmw_after(int flags, int truth)
{
    if (PEN_RMW_IS_FENCE)
        return;
    if ((flags & (truth ? GASNETT_ATOMIC_RMB_POST_IF_TRUE : GASNETT_ATOMIC_RMB_POST_IF_FALSE)) != 0)
        flags |= GASNETT_ATOMIC_RMB_POST;
    pen_atomic_after(flags);
}

/* Functions of each family, for a width. threads: whether other threads use the atomic. */
#define PEN_ATOMIC_WIDTH(bits)                                                                     \
    static __inline__ void pen_atomic##bits##_set(pen_atomic##bits *p, uint##bits##_t value,       \
                                                  int flags, int threads)                          \
    {                                                                                              \
        if (!threads) {                                                                            \
            p->value = value;                                                                      \
            return;                                                                                \
        }                                                                                          \
        pen_atomic_before(flags);                                                                  \
        if (flags != 0)                                                                            \
            __atomic_store_n(&p->value, value, __ATOMIC_RELEASE);                                  \
        else                                                                                       \
            __atomic_store_n(&p->value, value, __ATOMIC_RELAXED);                                  \
        pen_atomic_after(flags);                                                                   \
    }                                                                                              \
    static __inline__ uint##bits##_t pen_atomic##bits##_read(const pen_atomic##bits *p, int flags, \
                                                             int threads)                          \
    {                                                                                              \
        uint##bits##_t value;                                                                      \
        if (!threads)                                                                              \
            return p->value;                                                                       \
        pen_atomic_before(flags);                                                                  \
        if (flags != 0)                                                                            \
            value = __atomic_load_n(&p->value, __ATOMIC_ACQUIRE);                                  \
        else                                                                                       \
            value = __atomic_load_n(&p->value, __ATOMIC_RELAXED);                                  \
        pen_atomic_after(flags);                                                                   \
        return value;                                                                              \
    }                                                                                              \
    static __inline__ uint##bits##_t pen_atomic##bits##_add(                                       \
        pen_atomic##bits *p, uint##bits##_t value, int flags, int threads)                         \
    {                                                                                              \
        uint##bits##_t sum;                                                                        \
        if (!threads) {                                                                            \
            sum = p->value + value;                                                                \
            p->value = sum;                                                                        \
            return sum;                                                                            \
        }                                                                                          \
        pen_rmw_before(flags);                                                                     \
        if (flags != 0)                                                                            \
            sum = __atomic_add_fetch(&p->value, value, __ATOMIC_SEQ_CST);                          \
        else                                                                                       \
            sum = __atomic_add_fetch(&p->value, value, __ATOMIC_RELAXED);                          \
        pen_rmw_after(flags, sum == 0);                                                            \
        return sum;                                                                                \
    }                                                                                              \
    static __inline__ uint##bits##_t pen_atomic##bits##_swap(                                      \
        pen_atomic##bits *p, uint##bits##_t value, int flags, int threads)                         \
    {                                                                                              \
        uint##bits##_t old;                                                                        \
        if (!threads) {                                                                            \
            old = p->value;                                                                        \
            p->value = value;                                                                      \
            return old;                                                                            \
        }                                                                                          \
        pen_rmw_before(flags);                                                                     \
        if (flags != 0)                                                                            \
            old = __atomic_exchange_n(&p->value, value, __ATOMIC_SEQ_CST);                         \
        else                                                                                       \
            old = __atomic_exchange_n(&p->value, value, __ATOMIC_RELAXED);                         \
        pen_rmw_after(flags, 0);                                                                   \
        return old;                                                                                \
    }                                                                                              \
    static __inline__ int pen_atomic##bits##_cas(pen_atomic##bits *p, uint##bits##_t old,          \
                                                 uint##bits##_t value, int flags, int threads)     \
    {                                                                                              \
        int same;                                                                                  \
        if (!threads) {                                                                            \
            same = p->value == old;                                                                \
            if (same)                                                                              \
                p->value = value;                                                                  \
            return same;                                                                           \
        }                                                                                          \
        pen_rmw_before(flags);                                                                     \
        if (flags != 0)                                                                            \
            same = __atomic_compare_exchange_n(&p->value, &old, value, 0, __ATOMIC_SEQ_CST,        \
                                               __ATOMIC_SEQ_CST);                                  \
        else                                                                                       \
            same = __atomic_compare_exchange_n(&p->value, &old, value, 0, __ATOMIC_RELAXED,        \
                                               __ATOMIC_RELAXED);                                  \
        pen_rmw_after(flags, same);                                                                \
        return same;                                                                               \
    }
PEN_ATOMIC_WIDTH(32)
PEN_ATOMIC_WIDTH(64)

#define PEN_ATOMIC_FAMILY(family, bits, threads)                                                \
    GEX_INLINE void family##_set(family##_t *p, uint##bits##_t value, int flags)                \
    {                                                                                           \
        pen_atomic##bits##_set(p, value, flags, threads);                                       \
    }                                                                                           \
    GEX_INLINE uint##bits##_t family##_read(const family##_t *p, int flags)                     \
    {                                                                                           \
        return pen_atomic##bits##_read(p, flags, threads);                                      \
    }                                                                                           \
    GEX_INLINE void family##_increment(family##_t *p, int flags)                                \
    {                                                                                           \
        (void)pen_atomic##bits##_add(p, 1, flags, threads);                                     \
    }                                                                                           \
    GEX_INLINE void family##_decrement(family##_t *p, int flags)                                \
    {                                                                                           \
        (void)pen_atomic##bits##_add(p, (uint##bits##_t) - 1, flags, threads);                  \
    }                                                                                           \
    GEX_INLINE int family##_decrement_and_test(family##_t *p, int flags)                        \
    {                                                                                           \
        return pen_atomic##bits##_add(p, (uint##bits##_t) - 1, flags, threads) == 0;            \
    }                                                                                           \
    GEX_INLINE uint##bits##_t family##_add(family##_t *p, uint##bits##_t value, int flags)      \
    {                                                                                           \
        return pen_atomic##bits##_add(p, value, flags, threads);                                \
    }                                                                                           \
    GEX_INLINE uint##bits##_t family##_subtract(family##_t *p, uint##bits##_t value, int flags) \
    {                                                                                           \
        return pen_atomic##bits##_add(p, (uint##bits##_t)0 - value, flags, threads);            \
    }                                                                                           \
    GEX_INLINE uint##bits##_t family##_swap(family##_t *p, uint##bits##_t value, int flags)     \
    {                                                                                           \
        return pen_atomic##bits##_swap(p, value, flags, threads);                               \
    }                                                                                           \
    GEX_INLINE int family##_compare_and_swap(family##_t *p, uint##bits##_t old,                 \
                                             uint##bits##_t value, int flags)                   \
    {                                                                                           \
        return pen_atomic##bits##_cas(p, old, value, flags, threads);                           \
    }
PEN_ATOMIC_FAMILY(gasnett_atomic, 32, PEN_TOOLS_THREADED)
PEN_ATOMIC_FAMILY(gasnett_atomic32, 32, PEN_TOOLS_THREADED)
PEN_ATOMIC_FAMILY(gasnett_atomic64, 64, PEN_TOOLS_THREADED)
PEN_ATOMIC_FAMILY(gasnett_strongatomic, 32, 1)
PEN_ATOMIC_FAMILY(gasnett_strongatomic32, 32, 1)
PEN_ATOMIC_FAMILY(gasnett_strongatomic64, 64, 1)

#ifdef __cplusplus
}
#endif
#endif
