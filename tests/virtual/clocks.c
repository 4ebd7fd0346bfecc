/* SPDX-License-Identifier: BSD-3-Clause */
/* clocks.c: a program under `penstock sim` that compares all clocks and sleeps with each other.
 * Rank 0 prints a line that is the same in every run. */
#include <gasnetex.h>

#include <gasnet_tools.h>

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t calendar_us(void)
{
    struct timeval now;
    (void)gettimeofday(&now, NULL);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_usec;
}

static void check(const char *what, uint64_t found, uint64_t least, uint64_t most)
{
    if (found >= least && found <= most)
        return;
    printf("%s: %" PRIu64 " is not between %" PRIu64 " and %" PRIu64 "\n", what, found, least,
           most);
    exit(1);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    if (gex_Client_Init(&client, &endpoint, &team, "clocks", &argc, &argv, 0) != GASNET_OK)
        return 1;
    enum { NS_PER_MS = 1000000, SLACK_NS = 10000 };
    uint64_t begin_ns = monotonic_ns(), begin_us = calendar_us();
    gasnett_tick_t begin_tick = gasnett_ticks_now();
    (void)usleep(3000);
    check("usleep", monotonic_ns() - begin_ns, 3 * NS_PER_MS, 3 * NS_PER_MS + SLACK_NS);
    check("gettimeofday", calendar_us() - begin_us, 3000, 3010);
    check("ticks", gasnett_ticks_to_ns(gasnett_ticks_now() - begin_tick), 3 * NS_PER_MS,
          3 * NS_PER_MS + SLACK_NS);
    const struct timespec day = { 86400, 1 };
    (void)nanosleep(&day, NULL);
    check("nanosleep", monotonic_ns() - begin_ns, UINT64_C(86400003000001),
          UINT64_C(86400003020000));
    check("calendar", (uint64_t)time(NULL), 946684800 + 86400, 946684800 + 86402);
    uint64_t before_ns = monotonic_ns();
    while (monotonic_ns() - before_ns < NS_PER_MS) /* ends without a call that waits */
        (void)sched_yield();
    /* Ranks come to the barrier one after the other, and leave it together. */
    (void)usleep((useconds_t)(1000 * (gex_TM_QueryRank(team) + 1)));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    check("barrier", monotonic_ns() - before_ns, (1 + gex_TM_QuerySize(team)) * NS_PER_MS,
          (1 + gex_TM_QuerySize(team)) * NS_PER_MS + 2 * SLACK_NS);
    if (gex_TM_QueryRank(team) == 0)
        printf("%" PRIu64 "\n", monotonic_ns());
    return 0;
}
