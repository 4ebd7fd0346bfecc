/* SPDX-License-Identifier: BSD-3-Clause */
/* endpoint.h: one more endpoint on each rank, with a segment that all may know. */
#ifndef PEN_TESTS_MISUSE_ENDPOINT_H
#define PEN_TESTS_MISUSE_ENDPOINT_H

#include "misuse/misuse.h"

static gex_EP_t second MAYBE_UNUSED;
static char *second_theirs MAYBE_UNUSED; /* its segment on the peer */

static void make_second(gex_EP_Capabilities_t capabilities)
{
    gex_Segment_t memory;
    void *base = NULL;
    if (gex_EP_Create(&second, client, capabilities, 0) != GASNET_OK ||
        gex_Segment_Create(&memory, client, NULL, SEGMENT_LEN, GEX_MK_HOST, 0) != GASNET_OK ||
        gex_EP_BindSegment(second, memory, 0) != GASNET_OK ||
        gex_EP_PublishBoundSegment(team, &second, 1, 0) != GASNET_OK)
        exit(73);
    gex_Event_Wait(
        gex_EP_QueryBoundSegmentNB(gex_TM_Pair(endpoint, 1), peer, &base, NULL, NULL, 0));
    second_theirs = (char *)base;
}

/* A team of the second endpoints of all ranks. */
MAYBE_UNUSED static gex_TM_t team_of_second(void)
{
    gex_EP_Location_t members[8];
    gex_TM_t made;
    const gex_Rank_t count = gex_TM_QuerySize(team);
    for (gex_Rank_t rank = 0; rank < count; rank++)
        members[rank] = (gex_EP_Location_t){ rank, 1 };
    (void)gex_TM_Create(&made, 1, team, members, count, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    return made;
}

#endif
