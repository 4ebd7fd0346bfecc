// SPDX-License-Identifier: BSD-3-Clause
// static_bounds.cpp: a module that plans its buffers while objects are initialised, before there is
// a job: bounds of messages, versions, constants, ticks. Afterwards every plan has to hold for
// every pair of ranks and every shape of message.
#include <gasnet.h>
#include <gasnet_vis.h>

#include <algorithm>
#include <vector>

static_assert(sizeof(gex_Event_t) == sizeof(uintptr_t) && sizeof(gex_TM_t) == sizeof(uintptr_t),
              "handles");
static_assert(GASNET_OK == 0 && GASNET_ERR_NOT_READY == 10004, "errors");
static_assert(GEX_DT_U64 == 1 << 3 && GEX_OP_ADD == 1 << 3 && GEX_FLAG_IMMEDIATE == 1 << 0,
              "bits of the interface");
static_assert(GEX_FLAG_AM_PREPARE_LEAST_CLIENT == 1 << 11 &&
                  GEX_FLAG_AM_PREPARE_LEAST_ALLOC == 1 << 12,
              "flags");
static_assert(GEX_EP_CAPABILITY_RMA == 1 << 0 && sizeof(gex_Rank_t) == 4 &&
                  sizeof(gex_EP_Index_t) == 2,
              "types");
#if GASNET_RELEASE_VERSION_MAJOR < 2000 || GEX_SPEC_VERSION_MAJOR > 0 || GEX_SPEC_VERSION_MINOR < 10
#    error an old release
#endif
#if GASNET_MAXEPS < 1 || \
    GASNET_HIDDEN_AM_CONCURRENCY_LEVEL != 0 && GASNET_HIDDEN_AM_CONCURRENCY_LEVEL < 1
#    error constants for the preprocessor
#endif

namespace
{

struct Plan {
    size_t medium_request = gex_AM_LUBRequestMedium(), medium_reply = gex_AM_LUBReplyMedium();
    size_t long_request = gex_AM_LUBRequestLong(), long_reply = gex_AM_LUBReplyLong();
    size_t old_medium = gasnet_AMMaxMedium(), old_request = gasnet_AMMaxLongRequest();
    size_t old_reply = gasnet_AMMaxLongReply(), arguments = gasnet_AMMaxArgs();
    gasnett_tick_t start = gasnett_ticks_now();
};
const Plan plan;

size_t longest;
void check_length(gasnet_token_t, void *data, size_t len, gasnet_handlerarg_t last)
{
    const unsigned char *bytes = static_cast<unsigned char *>(data);
    if (len == 0 || bytes[len - 1] != (unsigned char)last)
        gasnett_fatalerror("the last of %zu bytes", len);
    longest += len;
}

void require(bool good, const char *what)
{
    if (!good)
        gasnett_fatalerror("rank %u: %s", gasnet_mynode(), what);
}

void check_pair(gex_TM_t team, gex_Rank_t rank)
{
    for (unsigned args = 0; args <= gex_AM_MaxArgs(); args++) {
        require(plan.medium_request <= gex_AM_MaxRequestMedium(team, rank, GEX_EVENT_NOW, 0, args),
                "Medium requests");
        require(plan.medium_reply <= gex_AM_MaxReplyMedium(team, rank, GEX_EVENT_NOW, 0, args),
                "Medium replies");
        require(plan.long_request <= gex_AM_MaxRequestLong(team, rank, GEX_EVENT_NOW, 0, args),
                "Long requests");
        require(plan.long_reply <= gex_AM_MaxReplyLong(team, rank, GEX_EVENT_NOW, 0, args),
                "Long replies");
        require(plan.medium_request <= gex_AM_MaxRequestMedium(team, rank, nullptr,
                                                               GEX_FLAG_AM_PREPARE_LEAST_ALLOC,
                                                               args),
                "negotiated Mediums");
        require(plan.old_medium <= gex_AM_MaxRequestMedium(team, rank, GEX_EVENT_NOW, 0, args),
                "old Mediums");
    }
}

} // namespace

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = { { 0, (void (*)())check_length } };
    gasnet_init(&argc, &argv);
    uintptr_t size = (std::max(plan.old_request, size_t(1)) > 4u << 20) ? 4u << 20 : 1u << 20;
    gasnet_attach(table, 1, size, 0);
    gex_TM_t team;
    gasnet_QueryGexObjects(nullptr, nullptr, &team, nullptr);
    require(table[0].index >= 128, "an index that the library chose");
    require(plan.arguments >= 16 && plan.old_medium >= 512, "bounds");
    require(plan.medium_request == gex_AM_LUBRequestMedium() &&
                plan.old_request == gasnet_AMMaxLongRequest(),
            "a bound that changed");
    for (gex_Rank_t r = 0; r < gasnet_nodes(); r++)
        check_pair(team, r);
    check_pair(team, GEX_RANK_INVALID);
    std::vector<unsigned char> bytes(plan.old_medium);
    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = (unsigned char)(i * 7);
    for (gex_Rank_t r = 0; r < gasnet_nodes(); r++)
        gasnet_AMRequestMedium1(r, table[0].index, bytes.data(), bytes.size(), bytes.back());
    GASNET_BLOCKUNTIL(longest == plan.old_medium * gasnet_nodes());
    require(gasnett_ticks_now() > plan.start, "ticks");
    printf("rank %u of %u: good\n", gasnet_mynode(), gasnet_nodes());
    fflush(stdout);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(0);
}
