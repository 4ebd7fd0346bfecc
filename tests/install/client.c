/* SPDX-License-Identifier: BSD-3-Clause */
/* client.c: a small program of an installed tree, C and C++ alike: both interfaces, a message, a
 * put, a get and a barrier, on two ranks or more. Prints how it was compiled and which library it
 * has. */
#include <gasnet.h>

#include <stdio.h>
#include <string.h>

static volatile int greeted;

static void greet(gex_Token_t token, gex_AM_Arg_t from)
{
    (void)token;
    greeted = (int)from + 1;
}

/* The file that the library's code is in; "itself" for a static one. */
static void print_library(void)
{
    char line[4096], last[4096] = "itself";
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        const char *path = strchr(line, '/');
        if (path != NULL && strstr(path, "/libpenstock.so") != NULL) {
            strcpy(last, path);
            last[strcspn(last, "\n")] = '\0';
        }
    }
    if (maps != NULL)
        fclose(maps);
    printf("library %s\n", last);
}

static int exchange(gex_TM_t team, uint64_t *mine)
{
    gex_Rank_t rank = gex_TM_QueryRank(team), size = gex_TM_QuerySize(team);
    gex_Rank_t peer = (rank + 1) % size;
    void *there = NULL;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, peer, &there, NULL, NULL, 0));
    uint64_t value = 1000 + rank, back = 0;
    gex_RMA_PutBlocking(team, peer, there, &value, sizeof(value), 0);
    gex_RMA_GetBlocking(team, &back, peer, there, sizeof(back), 0);
    gex_AM_RequestShort1(team, peer, GEX_AM_INDEX_BASE, 0, (gex_AM_Arg_t)rank);
    GASNET_BLOCKUNTIL(greeted != 0);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gex_Rank_t before = (rank + size - 1) % size;
    return back == value && *mine == 1000 + before && greeted == (int)before + 1;
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_Segment_t segment;
    gex_AM_Entry_t handler = { GEX_AM_INDEX_BASE,
                               (gex_AM_Fn_t)greet,
                               GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT,
                               1,
                               NULL,
                               "greet" };
    if (gex_Client_Init(&client, &endpoint, &team, "INSTALLED", &argc, &argv,
                        GEX_FLAG_USES_GASNET1) != GASNET_OK ||
        gex_Segment_Attach(&segment, team, GASNET_PAGESIZE) != GASNET_OK ||
        gex_EP_RegisterHandlers(endpoint, &handler, 1) != GASNET_OK)
        return 1;
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    int good = exchange(team, (uint64_t *)gex_Segment_QueryAddr(segment));
    printf("rank %d of %d on %s: %s, %d arguments\n", (int)gasnet_mynode(), (int)gasnet_nodes(),
           GASNET_CONDUIT_NAME_STR, good ? "good" : "WRONG", argc);
    if (gasnet_mynode() == 0)
        print_library();
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); /* the first one out ends all */
    gasnet_exit(good ? 0 : 3);
    return 0;
}
