/* SPDX-License-Identifier: BSD-3-Clause */
/* ex.h: code that the GASNet-EX programs share: one client, its segment, and each rank's segment
 * address.
 * Included after <gasnet.h> and "check.h". */
#ifndef PEN_TESTS_CONFORMANCE_EX_H
#define PEN_TESTS_CONFORMANCE_EX_H

static gex_Client_t ex_client CHECK_MAYBE_UNUSED;
static gex_EP_t ex_ep CHECK_MAYBE_UNUSED;
static gex_TM_t ex_tm CHECK_MAYBE_UNUSED;
static gex_Segment_t ex_segment CHECK_MAYBE_UNUSED;

/* Starts the client; no segment yet. */
CHECK_MAYBE_UNUSED static void ex_begin(int *argc, char ***argv, gex_Flags_t flags)
{
    int status = gex_Client_Init(&ex_client, &ex_ep, &ex_tm, "CONFORMANCE", argc, argv, flags);
    CHECK_EQ(status, GASNET_OK, "GASNet-EX Client: gex_Client_Init succeeds");
    check_begin();
}

CHECK_MAYBE_UNUSED static void ex_register(gex_AM_Entry_t *entries, size_t count)
{
    CHECK_EQ(gex_EP_RegisterHandlers(ex_ep, entries, count), GASNET_OK,
             "GASNet-EX Endpoints: a correct table registers");
}

CHECK_MAYBE_UNUSED static void ex_barrier(void) { gex_Event_Wait(gex_Coll_BarrierNB(ex_tm, 0)); }

/* Attaches a segment of len bytes on every rank; ends with a barrier. */
CHECK_MAYBE_UNUSED static char *ex_attach(uintptr_t len)
{
    CHECK_EQ(gex_Segment_Attach(&ex_segment, ex_tm, len), GASNET_OK,
             "GASNet-EX Segments: gex_Segment_Attach succeeds");
    return (char *)gex_Segment_QueryAddr(ex_segment);
}

/* A rank's own address of its segment. */
CHECK_MAYBE_UNUSED static char *ex_base(gex_Rank_t rank)
{
    void *base = NULL;
    uintptr_t len = 0;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(ex_tm, rank, &base, NULL, &len, 0));
    CHECK(base != NULL && len > 0, "GASNet-EX Segments: an attached segment can be queried");
    return (char *)base;
}

#endif
