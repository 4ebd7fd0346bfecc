/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_client.c: GASNet-EX: client, system and object queries; messages and barriers before any
 * segment is attached.
 *
 * TESTS: gex_Client_Init gex_Client_QueryFlags gex_Client_QueryName gex_Client_SetCData
 * TESTS: gex_Client_QueryCData gex_EP_SetCData gex_EP_QueryCData gex_TM_SetCData gex_TM_QueryCData
 * TESTS: gex_System_QueryJobRank gex_System_QueryJobSize gex_System_GetVerboseErrors
 * TESTS: gex_System_SetVerboseErrors gex_System_QueryMaxThreads
 * gex_System_QueryHiddenAMConcurrencyLevel TESTS: gex_System_QueryNbrhdInfo
 * gex_System_QueryHostInfo gex_System_QueryMyPosition TESTS: gex_EP_QueryClient gex_EP_QueryFlags
 * gex_EP_QuerySegment gex_EP_QueryIndex gex_EP_RegisterHandlers TESTS: gex_TM_QueryClient
 * gex_TM_QueryEP gex_TM_QueryFlags gex_TM_QueryRank gex_TM_QuerySize TESTS:
 * gex_TM_TranslateRankToJobrank gex_TM_TranslateJobrankToRank gex_TM_TranslateRankToEP
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

static check_count arrived;
static gex_AM_Index_t chosen; /* the handler whose index the library chooses */

static void early(gex_Token_t token, gex_AM_Arg_t value)
{
    (void)token;
    CHECK_EQ(value, 4711, "GASNet-EX AM: arguments arrive before a segment is attached");
    check_add(&arrived, 1);
}

static void early_medium(gex_Token_t token, void *buffer, size_t len)
{
    (void)token;
    CHECK(len == 100 && check_filled(buffer, len, 9),
          "GASNet-EX AM: Medium before a segment is attached");
    check_add(&arrived, 1);
}

static void queries(void)
{
    CHECK_EQ(gex_Client_QueryFlags(ex_client), 0, "GASNet-EX Client: flags are echoed");
    CHECK(strcmp(gex_Client_QueryName(ex_client), "CONFORMANCE") == 0,
          "GASNet-EX Client: the name is echoed");
    CHECK(gex_EP_QueryClient(ex_ep) == ex_client,
          "GASNet-EX Endpoints: an endpoint knows its client");
    CHECK(gex_TM_QueryClient(ex_tm) == ex_client, "GASNet-EX Teams: a team knows its client");
    CHECK(gex_TM_QueryEP(ex_tm) == ex_ep,
          "GASNet-EX Teams: the primordial team holds the primordial endpoint");
    CHECK_EQ(gex_EP_QueryIndex(ex_ep), 0, "GASNet-EX Endpoints: the primordial index is 0");
    CHECK(gex_EP_QuerySegment(ex_ep) == GEX_SEGMENT_INVALID,
          "GASNet-EX Endpoints: no segment is bound yet");
    (void)gex_EP_QueryFlags(ex_ep);
    (void)gex_TM_QueryFlags(ex_tm);
    CHECK_EQ(gex_TM_QueryRank(ex_tm), gex_System_QueryJobRank(),
             "GASNet-EX Teams: primordial rank is the job rank");
    CHECK_EQ(gex_TM_QuerySize(ex_tm), gex_System_QueryJobSize(),
             "GASNet-EX Teams: primordial size is the job size");
    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(ex_tm); r++) {
        CHECK_EQ(gex_TM_TranslateRankToJobrank(ex_tm, r), r,
                 "GASNet-EX Teams: rank translation is identity");
        CHECK_EQ(gex_TM_TranslateJobrankToRank(ex_tm, r), r,
                 "GASNet-EX Teams: rank translation is identity");
        gex_EP_Location_t at = gex_TM_TranslateRankToEP(ex_tm, r, 0);
        CHECK(at.gex_rank == r && at.gex_ep_index == 0,
              "GASNet-EX Teams: members are primordial endpoints");
    }
    CHECK_EQ(gex_TM_TranslateJobrankToRank(ex_tm, gex_TM_QuerySize(ex_tm)), GEX_RANK_INVALID,
             "GASNet-EX Teams: a job rank that is no member is GEX_RANK_INVALID");
}

static void client_data(void)
{
    static int things[3];
    CHECK(gex_Client_QueryCData(ex_client) == NULL && gex_EP_QueryCData(ex_ep) == NULL &&
              gex_TM_QueryCData(ex_tm) == NULL,
          "GASNet-EX CData: initially NULL");
    gex_Client_SetCData(ex_client, &things[0]);
    gex_EP_SetCData(ex_ep, &things[1]);
    gex_TM_SetCData(ex_tm, &things[2]);
    CHECK(gex_Client_QueryCData(ex_client) == &things[0] &&
              gex_EP_QueryCData(ex_ep) == &things[1] && gex_TM_QueryCData(ex_tm) == &things[2],
          "GASNet-EX CData: what was set is returned, for each object apart");
}

static void check_set(gex_RankInfo_t *info, gex_Rank_t count, gex_Rank_t mine)
{
    CHECK(info != NULL && count >= 1 && mine < count, "GASNet-EX System: the set holds the caller");
    CHECK_EQ(info[mine].gex_jobrank, gex_System_QueryJobRank(),
             "GASNet-EX System: the caller's own entry");
    for (gex_Rank_t i = 1; i < count; i++)
        CHECK(info[i - 1].gex_jobrank < info[i].gex_jobrank,
              "GASNet-EX System: entries sorted by job rank");
}

static void system_queries(void)
{
    gex_RankInfo_t *near_info = NULL, *host_info = NULL;
    gex_Rank_t near_count = 0, near_mine = 99, host_count = 0, host_mine = 99,
               positions[4] = { 99, 99, 99, 99 };
    gex_System_QueryNbrhdInfo(&near_info, &near_count, &near_mine);
    gex_System_QueryHostInfo(&host_info, &host_count, &host_mine);
    gex_System_QueryNbrhdInfo(NULL, NULL, NULL);
    gex_System_QueryHostInfo(NULL, NULL, NULL);
    check_set(near_info, near_count, near_mine);
    check_set(host_info, host_count, host_mine);
    CHECK(near_count <= host_count, "GASNet-EX System: the neighbourhood is a subset of the host");
    gex_System_QueryMyPosition(&positions[0], &positions[1], &positions[2], &positions[3]);
    gex_System_QueryMyPosition(NULL, NULL, NULL, NULL);
    CHECK(positions[1] < positions[0] && positions[3] < positions[2],
          "GASNet-EX System: set ranks lie below set sizes");
    CHECK((positions[0] == 1) == (near_count == (gex_Rank_t)check_size),
          "GASNet-EX System: one neighbourhood has all ranks, and several have not");
    CHECK(host_count == (gex_Rank_t)check_size || positions[2] > 1,
          "GASNet-EX System: one host has all ranks");

    int before = gex_System_GetVerboseErrors();
    CHECK_EQ(before, 1, "GASNet-EX System: verbose errors are on by default");
    gex_System_SetVerboseErrors(0);
    CHECK_EQ(gex_System_GetVerboseErrors(), 0,
             "GASNet-EX System: verbose errors can be turned off");
    gex_System_SetVerboseErrors(before);
#if defined(GASNET_SEQ)
    CHECK_EQ(gex_System_QueryMaxThreads(), 1, "GASNet-EX System: SEQ has one thread");
#else
    CHECK(gex_System_QueryMaxThreads() >= 1, "GASNet-EX System: at least one thread");
#endif
    CHECK(gex_System_QueryHiddenAMConcurrencyLevel() <= GASNET_HIDDEN_AM_CONCURRENCY_LEVEL,
          "GASNet-EX System: the run-time level refines the macro");
}

static void registration(void)
{
    gex_AM_Entry_t entries[] = {
        { 0, (gex_AM_Fn_t)early, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "early" },
        { 200, (gex_AM_Fn_t)early_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL, NULL },
        { 255, (gex_AM_Fn_t)early, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "fixed" },
        { 0, (gex_AM_Fn_t)early, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "second" },
    };
    ex_register(entries, 4);
    CHECK_EQ(entries[0].gex_index, 254,
             "GASNet-EX Endpoints: index 0 becomes the highest free one");
    CHECK_EQ(entries[3].gex_index, 253, "GASNet-EX Endpoints: then the next, in table order");
    CHECK(entries[1].gex_index == 200 && entries[2].gex_index == 255,
          "GASNet-EX Endpoints: fixed indices stay");
    chosen = entries[0].gex_index;

    gex_System_SetVerboseErrors(0);
    gex_AM_Entry_t again[] = { { 200, (gex_AM_Fn_t)early, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                                 1, NULL, NULL } };
    CHECK(gex_EP_RegisterHandlers(ex_ep, again, 1) != GASNET_OK,
          "GASNet-EX Endpoints: an index registers once");
    again[0].gex_index = 127;
    CHECK(gex_EP_RegisterHandlers(ex_ep, again, 1) != GASNET_OK,
          "GASNet-EX Endpoints: client indices begin at 128");
    gex_System_SetVerboseErrors(1);
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    CHECK(argc == 1 && argv[1] == NULL, "GASNet-EX Client: argv keeps what the client passed");
    queries();
    client_data();
    system_queries();
    registration();
    ex_barrier();

    char payload[100];
    check_fill(payload, sizeof payload, 9);
    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(ex_tm); r++) {
        gex_AM_RequestShort1(ex_tm, r, chosen, 0, 4711);
        gex_AM_RequestMedium0(ex_tm, r, 200, payload, sizeof payload, GEX_EVENT_NOW, 0);
    }
    CHECK_WAIT(arrived, 2 * gex_TM_QuerySize(ex_tm));
    ex_barrier();
    return check_end();
}
