/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/event.h>. An operation that completed at once has no event, so the common
 * case is a compare. */
#ifndef PENSTOCK_INLINE_EVENT_H
#define PENSTOCK_INLINE_EVENT_H

#include <penstock/event.h>

#ifdef __cplusplus
extern "C" {
#endif

GEX_INLINE int gex_Event_Test(gex_Event_t event)
{
    return event == GEX_EVENT_INVALID ? GASNET_OK : pen_api_event_test(event);
}

GEX_INLINE void gex_Event_Wait(gex_Event_t event)
{
    if (event != GEX_EVENT_INVALID)
        pen_api_event_wait(event);
}

GEX_INLINE gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t category)
{
    return root == GEX_EVENT_INVALID ? GEX_EVENT_INVALID : pen_api_event_leaf(root, category);
}

#ifdef __cplusplus
}
#endif
#endif
