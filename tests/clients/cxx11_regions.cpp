// SPDX-License-Identifier: BSD-3-Clause
// cxx11_regions.cpp: a C++11 program that marks its phases for a trace of the job, with objects
// whose destructors end them, and runs with and without a trace.
#include <gasnetex.h>

#include <gasnet_coll.h>
#include <penstock/trace.h>

#include <cstdio>

static double phase(int depth)
{
    penstock::trace_region region(depth == 0 ? "outer" : "inner");
    return depth == 0 ? phase(1) + 1 : 1;
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    pen_trace_mark("before the start"); // has no effect
    if (gex_Client_Init(&client, &endpoint, &team, "regions", &argc, &argv, 0) != GASNET_OK)
        return 1;
    for (int i = 0; i < 3; i++)
        pen_trace_value("sum", phase(0));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    bool good = (argc > 1) == (pen_trace_is_on() != 0);
    std::printf("rank %d of %d: %s\n", (int)gex_TM_QueryRank(team), (int)gex_TM_QuerySize(team),
                good ? "good" : "pen_trace_is_on is wrong");
    std::fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(good ? 0 : 1);
}
