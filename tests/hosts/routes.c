/* SPDX-License-Identifier: BSD-3-Clause */
/* routes.c: rank 0 sends each rank a request and asks its counters which way it went, and says who
 * is near. */
#include <gasnetex.h>
#include <penstock/stats.h>

#include <stdio.h>

#define PING 200

static void ping(gex_Token_t token) { (void)token; }

/* "memory", "network" or "neither": the counter that one request has raised. */
static const char *way_to(gex_TM_t team, gex_Rank_t rank)
{
    pen_stats before, after;
    pen_stats_read(&before, sizeof(before));
    gex_AM_RequestShort0(team, rank, PING, 0);
    pen_stats_read(&after, sizeof(after));
    if (after.am_sent_net == before.am_sent_net + 1 && after.am_sent_shm == before.am_sent_shm)
        return "network";
    return after.am_sent_shm == before.am_sent_shm + 1 && after.am_sent_net == before.am_sent_net
               ? "memory"
               : "neither";
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_AM_Entry_t handlers[] = { { PING, (void (*)(void))ping,
                                    GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "ping" } };
    if (gex_Client_Init(&client, &endpoint, &team, "ROUTES", &argc, &argv, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(endpoint, handlers, 1) != GASNET_OK)
        return 1;
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (gex_TM_QueryRank(team) == 0) {
        gex_Rank_t neighbours, ranks_here, hosts;
        gex_System_QueryNbrhdInfo(NULL, &neighbours, NULL);
        gex_System_QueryHostInfo(NULL, &ranks_here, NULL);
        gex_System_QueryMyPosition(NULL, NULL, &hosts, NULL);
        for (gex_Rank_t rank = 0; rank < gex_TM_QuerySize(team); rank++)
            printf("to %u: %s\n", rank, way_to(team, rank));
        printf("neighbours %u host %u hosts %u\n", neighbours, ranks_here, hosts);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
