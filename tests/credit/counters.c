/* SPDX-License-Identifier: BSD-3-Clause */
/* counters.c: `counters static|activity|loan QUOTA` reads each peer's credits on a rank while the
 * job runs. The job has three ranks. Two of them write to rank 0, one after the other, more
 * packets than they have credits for, and read their counters at every step; rank 0 reads its
 * counters in the handler. At the end rank 0 sends each rank its counts, which must equal the
 * counts of that rank. `counters none`: the conduit has no credits. */
#include <gasnetex.h>
#include <penstock/stats.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA = 200, TOLD, MESSAGES = 150, LEN = 1024, PACKETS = LEN / 120, PEERS = 2 };

static gex_Rank_t me;
static unsigned handled, told, quota;
static const char *policy;

static void __attribute__((format(printf, 2, 3))) expect(int holds, const char *format, ...)
{
    va_list args;
    if (holds)
        return;
    va_start(args, format);
    fprintf(stderr, "counters: rank %u, %s: ", (unsigned)me, policy);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    gasnet_exit(1);
}

static pen_peer_stats of(gex_Rank_t peer)
{
    pen_peer_stats stats;
    expect(pen_peer_stats_read(peer, &stats, sizeof stats) == GASNET_OK, "nothing of peer %u",
           (unsigned)peer);
    return stats;
}

/* Checks at any time that the credits of all peers together do not exceed the mailbox's data
 * slots. */
static void check_range(gex_Rank_t peer, const pen_peer_stats *stats)
{
    uint64_t slots = PEERS * quota;
    expect(stats->quota >= 3 && stats->quota <= slots && stats->hand <= slots,
           "quota %u, in hand %u", (unsigned)stats->quota, (unsigned)stats->hand);
    expect(stats->quota_given >= 3 && of(peer).quota_given <= slots, "given %u",
           (unsigned)stats->quota_given);
    expect(stats->mailbox <= slots, "%u in the mailbox", (unsigned)stats->mailbox);
}

static void data(gex_Token_t token, void *buffer, size_t len)
{
    gex_Token_Info_t info;
    (void)buffer;
    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    pen_peer_stats stats = of(info.gex_srcrank);
    check_range(info.gex_srcrank, &stats);
    expect(len == LEN && stats.packets_received > handled % MESSAGES * PACKETS,
           "%u packets received at message %u", (unsigned)stats.packets_received, handled);
    handled++;
}

static void tell(gex_Token_t token, gex_AM_Arg_t received, gex_AM_Arg_t given, gex_AM_Arg_t control,
                 gex_AM_Arg_t recalls, gex_AM_Arg_t others)
{
    (void)token;
    pen_peer_stats own = of(0);
    bool is_static = strcmp(policy, "static") == 0;
    expect(own.packets_sent == (uint64_t)received, "%u packets sent, %d received",
           (unsigned)own.packets_sent, (int)received);
    expect(own.recalls_answered == (uint64_t)recalls, "%u recalls answered, %d sent",
           (unsigned)own.recalls_answered, (int)recalls);
    expect(control > 0, "no control packets");
    expect(own.stalls > 0, "no stalls");
    expect(is_static ? own.quota == quota && given == (gex_AM_Arg_t)quota
                     : given + others <= (int)(PEERS * quota),
           "quota %u, given %d, the other's %d", (unsigned)own.quota, (int)given, (int)others);
    if (is_static || me == 2)
        expect(recalls == 0, "%d recalls", (int)recalls);
    else
        expect(recalls > 0, "no recalls, though another wanted credits");
    if (strcmp(policy, "activity") == 0 && me == 2)
        expect(given > others, "%d credits, and the one that stopped has %d", (int)given,
               (int)others);
    told++;
}

static void write_to_zero(gex_TM_t team)
{
    static char text[LEN];
    pen_peer_stats before = of(0);
    for (unsigned i = 0; i < MESSAGES; i++) {
        gex_AM_RequestMedium0(team, 0, DATA, text, LEN, GEX_EVENT_NOW, 0);
        pen_peer_stats now = of(0);
        check_range(0, &now);
        expect(now.packets_sent >= before.packets_sent && now.stalls >= before.stalls,
               "counters that only grow fell");
        before = now;
    }
}

static void barrier(gex_TM_t team) { gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); }

static void play(gex_TM_t team)
{
    barrier(team);
    for (gex_Rank_t writer = 1; writer <= PEERS; writer++) {
        if (me == writer)
            write_to_zero(team);
        if (me == 0)
            GASNET_BLOCKUNTIL(handled == writer * MESSAGES);
        barrier(team);
    }
    for (gex_Rank_t peer = 1; me == 0 && peer <= PEERS; peer++) {
        pen_peer_stats stats = of(peer), other = of(PEERS + 1 - peer);
        gex_AM_RequestShort5(team, peer, TOLD, 0, (gex_AM_Arg_t)stats.packets_received,
                             (gex_AM_Arg_t)stats.quota_given, (gex_AM_Arg_t)stats.control_sent,
                             (gex_AM_Arg_t)stats.recalls, (gex_AM_Arg_t)other.quota_given);
    }
    if (me != 0)
        GASNET_BLOCKUNTIL(told == 1);
    barrier(team);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    pen_peer_stats none;
    gex_AM_Entry_t handlers[] = {
        { DATA, (void (*)(void))data, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL, "data" },
        { TOLD, (void (*)(void))tell, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 5, NULL, "tell" },
    };
    if (gex_Client_Init(&client, &endpoint, &team, "COUNTERS", &argc, &argv, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(endpoint, handlers, 2) != GASNET_OK || argc < 2)
        return 2;
    me = gex_TM_QueryRank(team);
    policy = argv[1];
    quota = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    expect(pen_peer_stats_read(me, &none, sizeof none) == GASNET_ERR_RESOURCE, "counted of itself");
    if (strcmp(policy, "none") == 0)
        expect(pen_peer_stats_read(!me, &none, sizeof none) == GASNET_ERR_RESOURCE, "counted");
    else
        play(team);
    barrier(team);
    gasnet_exit(0);
}
