/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_limits.c: GASNet-EX, objects of which a release may have few or no: endpoints beyond the
 * first,
 * progress threads for the client to run; and segments that come and go without an endpoint. Also
 * what a program asks in #if before it uses such things.
 *
 * PEN_RANKS: 1 2
 * TESTS: gex_EP_Create gex_Segment_Destroy gex_System_QueryProgressThreads GASNET_MAXEPS
 * GASNET_NULL_ARGV_OK GASNET_HIDDEN_AM_CONCURRENCY_LEVEL GASNET_SUPPORTS_TI_SRCRANK
 * GASNET_SUPPORTS_TI_EP GEX_SPEC_VERSION_MAJOR GEX_SPEC_VERSION_MINOR GASNET_SEGMENT_FAST
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/ex.h"

_Static_assert(GASNET_MAXEPS >= 1, "GASNet-EX Introduction: there is a primordial endpoint");
_Static_assert(GEX_SPEC_VERSION_MAJOR == 0 && GEX_SPEC_VERSION_MINOR >= 13,
               "GASNet-EX Introduction: the version of the specification");
_Static_assert(GASNET_NULL_ARGV_OK == 0 || GASNET_NULL_ARGV_OK == 1,
               "GASNet-1 Core, constants: NULL arguments are accepted or not");
#if !GASNET_SUPPORTS_TI_SRCRANK || !GASNET_SUPPORTS_TI_EP
#    error GASNet-EX Active messages: source and endpoint of a message are always told
#endif
#if GASNET_HIDDEN_AM_CONCURRENCY_LEVEL < 0 || !defined(GASNET_SEGMENT_FAST)
#    error GASNet-EX Introduction: the level is a number, and FAST the default segment
#endif
#if defined(GASNET_DEBUG) == defined(GASNET_NDEBUG)
#    error GASNet-1 Introduction: a library is one for debugging, or not
#endif

static void check_endpoints(void)
{
    gex_EP_t endpoint = GEX_EP_INVALID;
    for (int count = 1; count <= GASNET_MAXEPS; count++) {
        const int status = gex_EP_Create(&endpoint, ex_client, GEX_EP_CAPABILITY_RMA, 0);
        if (count < GASNET_MAXEPS)
            CHECK_EQ(status, GASNET_OK, "GASNet-EX Endpoints: GASNET_MAXEPS of them can be had");
        else
            CHECK_EQ(status, GASNET_ERR_RESOURCE, "GASNet-EX Endpoints: and not one more");
    }
    CHECK_EQ(gex_EP_Create(NULL, ex_client, GEX_EP_CAPABILITY_RMA, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: the place for the result is needed");
}

/* Creates many in turn: destroyed segments are given back; the client's memory stays the
 * client's. */
static void check_segments(void)
{
    static char own[10000];
    for (int i = 0; i < 2500; i++) { /* more than there may be at once */
        gex_Segment_t segment = GEX_SEGMENT_INVALID;
        gex_Addr_t addr = i % 2 ? own : NULL;
        CHECK_EQ(gex_Segment_Create(&segment, ex_client, addr, sizeof(own), GEX_MK_HOST, 0),
                 GASNET_OK, "GASNet-EX Segments: a segment can be made again and again");
        memset(gex_Segment_QueryAddr(segment), i, sizeof(own));
        gex_Segment_Destroy(segment, 0);
        CHECK(addr == NULL || check_all(own, sizeof(own), i),
              "GASNet-EX Segments: memory that the client lent is left as it is");
    }
}

/* One call, by a client that said it would run them. */
static void check_progress_threads(void)
{
    unsigned int count = 99;
    const gex_ProgressThreadInfo_t *info = NULL;
    CHECK_EQ(gex_System_QueryProgressThreads(ex_client, NULL, &info, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX System: the place for the count is needed");
    CHECK_EQ(gex_System_QueryProgressThreads(ex_client, &count, &info, 0), GASNET_OK,
             "GASNet-EX System: a client with GEX_FLAG_DEFER_THREADS may ask");
    CHECK(count == 0 || (count < 99 && info != NULL && info[0].gex_progress_fn != NULL),
          "GASNet-EX System: each progress thread comes with its function");
}

int main(void)
{
    ex_begin(NULL, NULL, GEX_FLAG_DEFER_THREADS); /* all ranks pass NULL: legal in GASNet-EX */
    gex_System_SetVerboseErrors(0);
    check_endpoints();
    check_segments();
    check_progress_threads();
    return check_end();
}
