/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/team.h>. */
#ifndef PENSTOCK_INLINE_TEAM_H
#define PENSTOCK_INLINE_TEAM_H

#include <penstock/team.h>

#ifdef __cplusplus
extern "C" {
#endif

GEX_INLINE gex_Rank_t gex_TM_QueryRank(gex_TM_t team)
{
    const pen_team_view *view = (const pen_team_view *)(const void *)team;
    return view->rank;
}

GEX_INLINE gex_Rank_t gex_TM_QuerySize(gex_TM_t team)
{
    const pen_team_view *view = (const pen_team_view *)(const void *)team;
    return view->size;
}

#ifdef __cplusplus
}
#endif
#endif
