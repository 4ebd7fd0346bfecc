/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/system.h>. */
#ifndef PENSTOCK_INLINE_SYSTEM_H
#define PENSTOCK_INLINE_SYSTEM_H

#include <penstock/system.h>

#ifdef __cplusplus
extern "C" {
#endif

GEX_INLINE gex_Rank_t gex_System_QueryJobRank(void)
{
    const pen_team_view *view = (const pen_team_view *)(const void *)pen_world;
    return view->rank;
}

GEX_INLINE gex_Rank_t gex_System_QueryJobSize(void)
{
    const pen_team_view *view = (const pen_team_view *)(const void *)pen_world;
    return view->size;
}

#ifdef __cplusplus
}
#endif
#endif
