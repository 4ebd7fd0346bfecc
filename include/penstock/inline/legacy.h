/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/legacy.h>. */
#ifndef PENSTOCK_INLINE_LEGACY_H
#define PENSTOCK_INLINE_LEGACY_H

#include <penstock/legacy.h>

#ifdef __cplusplus
extern "C" {
#endif

GEX_INLINE int gasnet_init(int *argc, char ***argv)
{
    pen_build build = pen_this_build();
    return pen_api_init(&build, argc, argv);
}

GEX_INLINE gasnet_node_t gasnet_mynode(void) { return gex_System_QueryJobRank(); }
GEX_INLINE gasnet_node_t gasnet_nodes(void) { return gex_System_QueryJobSize(); }

GEX_INLINE void gasnet_hsl_init(gasnet_hsl_t *lock) { gex_HSL_Init(lock); }
GEX_INLINE void gasnet_hsl_destroy(gasnet_hsl_t *lock) { gex_HSL_Destroy(lock); }
GEX_INLINE void gasnet_hsl_lock(gasnet_hsl_t *lock) { gex_HSL_Lock(lock); }
GEX_INLINE void gasnet_hsl_unlock(gasnet_hsl_t *lock) { gex_HSL_Unlock(lock); }
GEX_INLINE int gasnet_hsl_trylock(gasnet_hsl_t *lock) { return gex_HSL_Trylock(lock); }

#ifdef __cplusplus
}
#endif
#endif
