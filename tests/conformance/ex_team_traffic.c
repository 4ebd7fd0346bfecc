/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_team_traffic.c: everything between two ranks, on child teams: put and get inline and not,
 * scattered ones, active messages of every category, limits and questions for segments; with
 * segments that were attached before the team was made, and after. Ranks are the team's, addresses
 * the peer's own.
 * PEN_RANKS: 1 2 3 8
 * PEN_MODES: seq parsync par
 * TESTS: gex_TM_Split gex_TM_Destroy gex_RMA_PutBlocking gex_RMA_GetBlocking gex_RMA_PutNB
 * gex_RMA_GetNB gex_RMA_PutNBI gex_RMA_GetNBI gex_RMA_PutBlockingVal gex_RMA_GetBlockingVal
 * gex_VIS_StridedPutBlocking gex_VIS_StridedGetNB gex_AM_RequestShort[M] gex_AM_RequestMedium[M]
 * gex_AM_RequestLong[M] gex_AM_ReplyShort[M] gex_AM_MaxRequestMedium gex_AM_MaxReplyMedium
 * gex_AM_MaxRequestLong gex_AM_MaxReplyLong gex_EP_QueryBoundSegmentNB gex_Segment_QueryBound
 * gex_Token_Info gex_TM_TranslateRankToJobrank */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"
#include "conformance/ex_team.h"

enum { SHORT = 201, MEDIUM, LONG, ANSWER };
enum { RANKS_MAX = 8, PART = 4096 }; /* each rank has a part of every segment */

static gex_Rank_t me, all;
static char source[PART], back[PART];
static check_count shorts, mediums, longs, answers;

/* ---- handlers ------------------------------------------------------------------------------- */

static gex_Rank_t sender(gex_Token_t token)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    return info.gex_srcrank;
}

static void on_short(gex_Token_t token, gex_AM_Arg_t from, gex_AM_Arg_t to)
{
    CHECK(sender(token) == (gex_Rank_t)from && to == check_rank,
          "GASNet-EX AM: a message on a team reaches that rank of it, and tells a job rank");
    check_add(&shorts, 1);
    gex_AM_ReplyShort2(token, ANSWER, 0, to, from);
}

static void on_medium(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t from, gex_AM_Arg_t to)
{
    CHECK(sender(token) == (gex_Rank_t)from && to == check_rank, "GASNet-EX AM: Medium on a team");
    CHECK(check_filled(data, len, (unsigned)from), "GASNet-EX AM: Medium data arrives whole");
    check_add(&mediums, 1);
    gex_AM_ReplyShort2(token, ANSWER, 0, to, from);
}

static void on_long(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t from, gex_AM_Arg_t to)
{
    CHECK(sender(token) == (gex_Rank_t)from && to == check_rank, "GASNet-EX AM: Long on a team");
    CHECK(check_filled(data, len, (unsigned)from), "GASNet-EX AM: Long data lies at its address");
    check_add(&longs, 1);
    gex_AM_ReplyShort2(token, ANSWER, 0, to, from);
}

static void on_answer(gex_Token_t token, gex_AM_Arg_t from, gex_AM_Arg_t to)
{
    CHECK(sender(token) == (gex_Rank_t)from && to == check_rank, "GASNet-EX AM: replies go back");
    check_add(&answers, 1);
}

static gex_AM_Entry_t handlers[] = {
    { SHORT, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL, "short" },
    { MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 2, NULL, "medium" },
    { LONG, (gex_AM_Fn_t)on_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 2, NULL, "long" },
    { ANSWER, (gex_AM_Fn_t)on_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2, NULL, "answer" },
};

/* ---- one peer ------------------------------------------------------------------------------- */

/* My part of a member's segment, at its own address. */
static char *part_of(gex_TM_t team, gex_Rank_t rank)
{
    void *owner = NULL, *local = NULL, *again = NULL;
    uintptr_t len = 0, same = 0;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, &owner, &local, &len, 0));
    gex_Rank_t jobrank = gex_TM_TranslateRankToJobrank(team, rank);
    CHECK(owner == ex_base(jobrank) && len == RANKS_MAX * PART,
          "GASNet-EX Endpoints: a member's segment is asked for by its rank in the team");
    CHECK(gex_Segment_QueryBound(team, rank, &again, NULL, &same) == 0 && again == owner &&
              same == len,
          "GASNet-EX Segments: both questions answer alike");
    return (char *)owner + (size_t)me * PART;
}

static void put_and_get(gex_TM_t team, gex_Rank_t rank, char *there)
{
    const unsigned seed = me * 16 + rank;
    for (unsigned way = 0; way < 3; way++) {
        check_fill(source, PART, seed + way);
        memset(back, 0, PART);
        if (way == 0) {
            gex_RMA_PutBlocking(team, rank, there, source, PART, 0);
            gex_RMA_GetBlocking(team, back, rank, there, PART, 0);
        } else if (way == 1) {
            gex_Event_Wait(gex_RMA_PutNB(team, rank, there, source, PART, GEX_EVENT_NOW, 0));
            gex_Event_Wait(gex_RMA_GetNB(team, back, rank, there, PART, 0));
        } else {
            gex_RMA_PutNBI(team, rank, there, source, PART, GEX_EVENT_DEFER, 0);
            gex_NBI_Wait(GEX_EC_PUT, 0);
            gex_RMA_GetNBI(team, back, rank, there, PART, 0);
            gex_NBI_Wait(GEX_EC_GET, 0);
        }
        CHECK(check_filled(back, PART, seed + way),
              "GASNet-EX RMA: a get on a team returns what the put on it wrote");
        gex_RMA_GetBlocking(ex_tm, source, gex_TM_TranslateRankToJobrank(team, rank), there, PART,
                            0);
        CHECK(check_filled(source, PART, seed + way),
              "GASNet-EX RMA: a team's rank is the process it translates to");
    }
    gex_RMA_PutBlockingVal(team, rank, there + 8, UINT64_C(0x123456789abcdef) + me, 8, 0);
    CHECK(gex_RMA_GetBlockingVal(team, rank, there + 8, 8, 0) == UINT64_C(0x123456789abcdef) + me,
          "GASNet-EX RMA: values on a team");
}

static void scattered(gex_TM_t team, gex_Rank_t rank, char *there)
{
    const size_t count[1] = { 64 };
    const ptrdiff_t apart[1] = { 32 }, close[1] = { 8 };
    check_fill(source, 64 * 8, me + 3);
    memset(back, 0, sizeof back);
    gex_VIS_StridedPutBlocking(team, rank, there, apart, source, close, 8, count, 1, 0);
    gex_Event_Wait(gex_VIS_StridedGetNB(team, back, close, rank, there, apart, 8, count, 1, 0));
    CHECK(check_filled(back, 64 * 8, me + 3), "GASNet-EX VIS: strided access on a team");
}

static void messages(gex_TM_t team, gex_Rank_t rank, char *there)
{
    const gex_AM_Arg_t to = (gex_AM_Arg_t)gex_TM_TranslateRankToJobrank(team, rank);
    const unsigned before = check_counted(&answers);
    check_fill(source, PART, me);
    gex_AM_RequestShort2(team, rank, SHORT, 0, check_rank, to);
    gex_AM_RequestMedium2(team, rank, MEDIUM, source, 500, GEX_EVENT_NOW, 0, check_rank, to);
    gex_AM_RequestLong2(team, rank, LONG, source, PART, there, GEX_EVENT_NOW, 0, check_rank, to);
    CHECK_WAIT(answers, before + 3);
}

/* The limit towards one member, and of all of them. */
static void limits(gex_TM_t team, gex_Rank_t rank)
{
    typedef size_t (*limit_fn)(gex_TM_t, gex_Rank_t, const gex_Event_t *, gex_Flags_t, unsigned);
    static const limit_fn ask[4] = { gex_AM_MaxRequestMedium, gex_AM_MaxReplyMedium,
                                     gex_AM_MaxRequestLong, gex_AM_MaxReplyLong };
    for (unsigned i = 0; i < 4; i++) {
        size_t one = ask[i](team, rank, GEX_EVENT_NOW, 0, 2);
        size_t least = ask[i](team, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 2);
        CHECK_EQ(one, ask[i](ex_tm, gex_TM_TranslateRankToJobrank(team, rank), GEX_EVENT_NOW, 0, 2),
                 "GASNet-EX AM: a limit is a matter of two processes, not of the team");
        CHECK(least >= 512 && least <= one, "GASNet-EX AM: the limit of all is no larger");
    }
}

/* ---- teams ---------------------------------------------------------------------------------- */

static void all_of(gex_TM_t team)
{
    gex_Rank_t size = gex_TM_QuerySize(team);
    for (gex_Rank_t step = 0; step < size; step++) {
        gex_Rank_t rank = (gex_TM_QueryRank(team) + step) % size;
        char *there = part_of(team, rank);
        put_and_get(team, rank, there);
        scattered(team, rank, there);
        messages(team, rank, there);
        limits(team, rank);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    unsigned wanted = (unsigned)size;
    CHECK(check_counted(&shorts) >= wanted && check_counted(&mediums) >= wanted &&
              check_counted(&longs) >= wanted,
          "GASNet-EX AM: every member's messages arrived before the barrier ended");
}

static const struct {
    int colors, factor, order; /* color: rank % colors; key: rank * factor % order */
} shapes[] = { { 1, 1, 64 }, { 2, 1, 64 }, { 1, -1, 64 }, { 1, 3, 7 }, { 2, -1, 64 }, { 3, 5, 7 } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

static gex_TM_t make(unsigned i)
{
    gex_TM_t team = GEX_TM_INVALID;
    gex_TM_Split(&team, ex_tm, check_rank % shapes[i].colors,
                 check_rank * shapes[i].factor % shapes[i].order, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    return team;
}

int main(int argc, char **argv)
{
    gex_TM_t early[SHAPES], late[SHAPES];
    ex_begin(&argc, &argv, 0);
    me = (gex_Rank_t)check_rank;
    all = (gex_Rank_t)check_size;
    CHECK(all <= RANKS_MAX, "the program has room for its ranks");
    ex_register(handlers, sizeof handlers / sizeof *handlers);
    for (unsigned i = 0; i < SHAPES; i++)
        early[i] = make(i);
    ex_attach(RANKS_MAX * PART);
    for (unsigned i = 0; i < SHAPES; i++)
        late[i] = make(i);
    for (unsigned i = 0; i < SHAPES; i++) {
        all_of(early[i]);
        all_of(late[i]);
        ex_team_end(early[i]);
        all_of(late[i]);
        ex_team_end(late[i]);
    }
    return check_end();
}
