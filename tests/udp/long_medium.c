/* SPDX-License-Identifier: BSD-3-Clause */
/* long_medium.c: Mediums and Longs of up to 64 KiB, and more than a frame of the link carries: as
 * requests and as replies, prepared, and to oneself. Each rank sends to all. */
#include <gasnetex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK = 200, ANSWER, LAND, LONGEST = 65536, LENS = 6, ROUNDS = 4 };

static gex_TM_t team;
static unsigned answers, landed, wrong;
static char payload[LONGEST];

static char letter(gex_Rank_t from, size_t at, size_t len)
{
    return (char)(from * 31 + at * 7 + at / 251 + len);
}

static void fill(gex_Rank_t from, size_t len)
{
    for (size_t at = 0; at < len; at++)
        payload[at] = letter(from, at, len);
}

static void check(gex_Rank_t from, const char *bytes, size_t len, gex_AM_Arg_t told)
{
    size_t at = 0;
    while (at < len && bytes[at] == letter(from, at, len))
        at++;
    if (at != len || (size_t)told != len || (uintptr_t)bytes % 8 != 0)
        wrong++;
}

static void ask(gex_Token_t token, void *bytes, size_t len, gex_AM_Arg_t from, gex_AM_Arg_t told)
{
    check((gex_Rank_t)from, bytes, len, told);
    gex_AM_ReplyMedium2(token, ANSWER, bytes, len, GEX_EVENT_NOW, 0, from, told);
}

static void answer(gex_Token_t token, void *bytes, size_t len, gex_AM_Arg_t from, gex_AM_Arg_t told)
{
    (void)token;
    check((gex_Rank_t)from, bytes, len, told);
    answers++;
}

static void land(gex_Token_t token, void *bytes, size_t len, gex_AM_Arg_t from, gex_AM_Arg_t told)
{
    (void)token;
    check((gex_Rank_t)from, bytes, len, told);
    landed++;
}

static void barrier(void) { gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); }

static void send_medium(gex_Rank_t rank, size_t len, bool is_prepared)
{
    const gex_AM_Arg_t from = (gex_AM_Arg_t)gex_TM_QueryRank(team), told = (gex_AM_Arg_t)len;
    fill((gex_Rank_t)from, len);
    if (is_prepared) {
        gex_AM_SrcDesc_t desc = gex_AM_PrepareRequestMedium(team, rank, NULL, len, len, NULL, 0, 2);
        memcpy(gex_AM_SrcDescAddr(desc), payload, len);
        gex_AM_CommitRequestMedium2(desc, ASK, len, from, told);
    } else {
        gex_Event_t done = GEX_EVENT_INVALID;
        gex_AM_RequestMedium2(team, rank, ASK, payload, len, &done, 0, from, told);
        gex_Event_Wait(done);
    }
    memset(payload, 0, sizeof payload); /* it has left */
}

static void send_long(gex_Rank_t rank, unsigned place, size_t len)
{
    const gex_AM_Arg_t from = (gex_AM_Arg_t)gex_TM_QueryRank(team), told = (gex_AM_Arg_t)len;
    void *base;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, &base, NULL, NULL, 0));
    fill((gex_Rank_t)from, len);
    char *to = (char *)base + ((size_t)from * LENS + place) * LONGEST;
    gex_AM_RequestLong2(team, rank, LAND, payload, len, to, GEX_EVENT_NOW, 0, from, told);
}

/* Whether every rank takes messages of 64 KiB. */
static void check_limits(gex_Rank_t ranks)
{
    for (gex_Rank_t rank = 0; rank < ranks; rank++)
        if (gex_AM_MaxRequestMedium(team, rank, GEX_EVENT_NOW, 0, 16) < LONGEST ||
            gex_AM_MaxReplyMedium(team, rank, GEX_EVENT_NOW, 0, 16) < LONGEST ||
            gex_AM_MaxRequestLong(team, rank, GEX_EVENT_NOW, 0, 16) < LONGEST ||
            gex_AM_MaxReplyLong(team, rank, GEX_EVENT_NOW, 0, 16) < LONGEST)
            wrong++;
}

int main(void)
{
    static const size_t lens[LENS] = { 1, 1024, 8192, 40000, 65535, LONGEST };
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_Segment_t segment;
    gex_AM_Entry_t table[] = {
        { ASK, (gex_AM_Fn_t)ask, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 2, NULL, "ask" },
        { ANSWER, (gex_AM_Fn_t)answer, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 2, NULL, "answer" },
        { LAND, (gex_AM_Fn_t)land, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 2, NULL, "land" },
    };
    if (gex_Client_Init(&client, &endpoint, &team, "LONG", NULL, NULL, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(endpoint, table, 3) != GASNET_OK ||
        gex_Segment_Attach(&segment, team, (uintptr_t)64 << 20) != GASNET_OK)
        return 1;
    const gex_Rank_t ranks = gex_TM_QuerySize(team);
    barrier();
    check_limits(ranks);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        for (unsigned i = 0; i < LENS * ranks; i++) {
            send_medium(i / LENS, lens[i % LENS], round % 2 == 0);
            send_long(i / LENS, i % LENS, lens[i % LENS]);
        }
        GASNET_BLOCKUNTIL(answers == round * LENS * ranks && landed == round * LENS * ranks);
        barrier();
    }
    if (wrong != 0)
        fprintf(stderr, "rank %u: %u wrong\n", gex_TM_QueryRank(team), wrong);
    gasnet_exit(wrong != 0);
    return 0;
}
