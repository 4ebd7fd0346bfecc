/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_am_early.c: GASNet-EX Active Messages and GASNet-1 Core, sizes: lengths that a program asks
 * for before it starts the job hold for every job, over any conduit with any settings.
 *
 * TESTS: gex_AM_LUBRequestMedium gex_AM_LUBReplyMedium gex_AM_LUBRequestLong gex_AM_LUBReplyLong
 * TESTS: gasnet_AMMaxMedium gasnet_AMMaxLongRequest gasnet_AMMaxLongReply
 * PEN_RANKS: 1 2 3
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { HANDLER = 200, ANSWER = 201, KINDS = 7 };

static size_t (*const ask[KINDS])(void) = {
    gex_AM_LUBRequestMedium, gex_AM_LUBReplyMedium,   gex_AM_LUBRequestLong, gex_AM_LUBReplyLong,
    gasnet_AMMaxMedium,      gasnet_AMMaxLongRequest, gasnet_AMMaxLongReply,
};
static size_t early[KINDS];
static char source[65536], *mine;
static check_count answers;

/* As a static initialiser of C++ would. */
static void __attribute__((constructor)) before_main(void)
{
    for (unsigned i = 0; i < KINDS; i++)
        early[i] = ask[i]();
}

static void answered(gex_Token_t token, void *payload, size_t len)
{
    (void)token;
    CHECK(len == early[1] && check_filled(payload, len, 2),
          "GASNet-EX AM: a Medium reply as long as was said before the start");
    check_add(&answers, 1);
}

static void asked(gex_Token_t token, void *payload, size_t len)
{
    static char reply[65536];
    CHECK(len == early[0] && check_filled(payload, len, 1),
          "GASNet-EX AM: a Medium request as long as was said before the start");
    check_fill(reply, early[1], 2);
    CHECK_EQ(gex_AM_ReplyMedium0(token, ANSWER, reply, early[1], GEX_EVENT_NOW, 0), 0,
             "GASNet-EX AM: a reply is not refused");
}

/* early: request and reply of a Medium and of a Long, in that order. */
static void compare(gex_TM_t team, gex_Rank_t rank)
{
    static const gex_Flags_t flags[] = { 0, GEX_FLAG_IMMEDIATE, GEX_FLAG_AM_PREPARE_LEAST_CLIENT,
                                         GEX_FLAG_AM_PREPARE_LEAST_ALLOC };
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned n = 0; n <= gex_AM_MaxArgs(); n++) {
            CHECK(gex_AM_MaxRequestMedium(team, rank, GEX_EVENT_NOW, flags[i], n) >= early[0] &&
                      gex_AM_MaxReplyMedium(team, rank, GEX_EVENT_NOW, flags[i], n) >= early[1] &&
                      gex_AM_MaxRequestLong(team, rank, GEX_EVENT_NOW, flags[i], n) >= early[2] &&
                      gex_AM_MaxReplyLong(team, rank, GEX_EVENT_NOW, flags[i], n) >= early[3],
                  "GASNet-EX AM: what was said before the start holds for every peer");
        }
    }
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < KINDS; i++)
        CHECK(early[i] >= 65536, "at least 64 KiB, before the start, too: clients rely on it");
    CHECK(early[0] <= sizeof(source) && early[1] <= sizeof(source), "the test's memory does");
    ex_begin(&argc, &argv, 0);
    gex_AM_Entry_t entries[] = {
        { HANDLER, (gex_AM_Fn_t)asked, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL, NULL },
        { ANSWER, (gex_AM_Fn_t)answered, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0, NULL, NULL },
    };
    ex_register(entries, 2);
    mine = ex_attach(65536);
    for (unsigned i = 0; i < KINDS; i++)
        CHECK_EQ(ask[i](), early[i], "GASNet-EX AM: who asked before the start is told the same");
    for (gex_Rank_t rank = 0; rank < (gex_Rank_t)check_size; rank++)
        compare(ex_tm, rank);
    compare(ex_tm, GEX_RANK_INVALID);
    check_fill(source, early[0], 1);
    for (gex_Rank_t rank = 0; rank < (gex_Rank_t)check_size; rank++)
        CHECK_EQ(gex_AM_RequestMedium0(ex_tm, rank, HANDLER, source, early[0], GEX_EVENT_NOW, 0), 0,
                 "GASNet-EX AM: a request is not refused");
    CHECK_WAIT(answers, check_size);
    ex_barrier();
    return check_end();
}
