/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/hsl.h>. If only one thread runs client code, a lock only serves for checks; a
 * library with checks asks for them through pen_hsl_traced. */
#ifndef PENSTOCK_INLINE_HSL_H
#define PENSTOCK_INLINE_HSL_H

#include <penstock/hsl.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(GASNET_PAR)
/* acquire: pairs with the release in pen_hsl_drop */
static __inline__ int pen_hsl_take(gex_HSL_t *lock)
{
    uint32_t free_word = 0;
    return __atomic_compare_exchange_n(&lock->word, &free_word, 1u, 0, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/* release: what was written under the lock is visible to the next holder */
static __inline__ void pen_hsl_drop(gex_HSL_t *lock)
{
    if (PEN_UNLIKELY(__atomic_exchange_n(&lock->word, 0u, __ATOMIC_RELEASE) == 2u))
        pen_api_hsl_wake(lock);
}
#endif

GEX_INLINE void gex_HSL_Init(gex_HSL_t *lock)
{
    lock->word = 0;
    lock->reserved = 0;
    lock->owner = NULL;
    lock->below = NULL;
}

GEX_INLINE void gex_HSL_Destroy(gex_HSL_t *lock)
{
    if (PEN_UNLIKELY(pen_hsl_traced))
        pen_api_hsl_destroy(lock);
}

GEX_INLINE void gex_HSL_Lock(gex_HSL_t *lock)
{
    if (PEN_UNLIKELY(pen_hsl_traced))
        pen_api_hsl_lock(lock);
#if defined(GASNET_PAR)
    else if (PEN_UNLIKELY(!pen_hsl_take(lock)))
        pen_api_hsl_wait(lock);
#endif
}

GEX_INLINE void gex_HSL_Unlock(gex_HSL_t *lock)
{
    if (PEN_UNLIKELY(pen_hsl_traced))
        pen_api_hsl_unlock(lock);
#if defined(GASNET_PAR)
    else
        pen_hsl_drop(lock);
#endif
}

GEX_INLINE int gex_HSL_Trylock(gex_HSL_t *lock)
{
    if (PEN_UNLIKELY(pen_hsl_traced))
        return pen_api_hsl_trylock(lock);
#if defined(GASNET_PAR)
    return pen_hsl_take(lock) ? GASNET_OK : GASNET_ERR_NOT_READY;
#else
    return GASNET_OK;
#endif
}

#ifdef __cplusplus
}
#endif
#endif
