/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_am_self.c: a request to oneself, and the reply to it, run inside the call that sends them:
 * Short, Medium and Long, at once or negotiated, of GASNet-EX and of GASNet-1, on any thread.
 * Nothing here polls between the call and the look at what the handlers did.
 *
 * TESTS: gex_AM_RequestShort gex_AM_RequestMedium gex_AM_RequestLong gex_AM_ReplyShort
 * TESTS: gex_AM_ReplyMedium gex_AM_ReplyLong gex_AM_PrepareRequestMedium gex_AM_CommitRequestMedium
 * TESTS: gex_AM_PrepareRequestLong gex_AM_CommitRequestLong gasnet_AMRequestShort
 * TESTS: gasnet_AMRequestMedium gasnet_AMRequestLong
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { ASK_SHORT = 200, ASK_MEDIUM, ASK_LONG, ANSWER_SHORT, ANSWER_MEDIUM, ANSWER_LONG };
enum { ROUNDS = 50, PART = 128 * 1024, THREADS_MAX = 8 };

static const char rule[] = "a message to oneself runs inside the call that sends it";

/* By thread, which is the last argument. */
static check_count asked[THREADS_MAX], answered[THREADS_MAX];
static char *base; /* a part of the segment for each thread, half for requests, half for replies */

static char *part(gex_AM_Arg_t thread) { return base + (size_t)thread * PART; }

static void ask_short(gex_Token_t token, gex_AM_Arg_t thread)
{
    check_add(&asked[thread], 1);
    gex_AM_ReplyShort1(token, ANSWER_SHORT, 0, thread);
    CHECK_EQ(check_counted(&answered[thread]), check_counted(&asked[thread]), rule);
}

static void ask_medium(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t thread)
{
    CHECK(check_filled(data, len, (unsigned)thread), rule);
    check_add(&asked[thread], 1);
    memset(data, 0, len); /* it is the handler's own copy */
    check_fill(data, len, 77);
    gex_AM_ReplyMedium1(token, ANSWER_MEDIUM, data, len, GEX_EVENT_NOW, 0, thread);
    CHECK_EQ(check_counted(&answered[thread]), check_counted(&asked[thread]), rule);
}

static void ask_long(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t thread)
{
    CHECK((char *)data == part(thread) && check_filled(data, len, (unsigned)thread), rule);
    check_add(&asked[thread], 1);
    gex_AM_ReplyLong1(token, ANSWER_LONG, data, len, part(thread) + PART / 2, GEX_EVENT_NOW, 0,
                      thread);
    CHECK_EQ(check_counted(&answered[thread]), check_counted(&asked[thread]), rule);
}

static void answer_short(gex_Token_t token, gex_AM_Arg_t thread)
{
    gex_Token_Info_t info;
    (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    CHECK_EQ(info.gex_srcrank, check_rank, "GASNet-EX AM: a token knows the source");
    check_add(&answered[thread], 1);
}

static void answer_medium(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t thread)
{
    (void)token;
    CHECK(check_filled(data, len, 77), rule);
    check_add(&answered[thread], 1);
}

static void answer_long(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t thread)
{
    (void)token;
    CHECK((char *)data == part(thread) + PART / 2 && check_filled(data, len, (unsigned)thread),
          rule);
    check_add(&answered[thread], 1);
}

#define ENTRY(index, function, flags) \
    { index, (gex_AM_Fn_t)(function), (flags), 1, NULL, #function }
static gex_AM_Entry_t table[] = {
    ENTRY(ASK_SHORT, ask_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST),
    ENTRY(ASK_MEDIUM, ask_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST),
    ENTRY(ASK_LONG, ask_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST),
    ENTRY(ANSWER_SHORT, answer_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY),
    ENTRY(ANSWER_MEDIUM, answer_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY),
    ENTRY(ANSWER_LONG, answer_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY),
};

static void prepared(gex_AM_Arg_t thread, size_t len, unsigned expected)
{
    gex_AM_SrcDesc_t desc =
        gex_AM_PrepareRequestMedium(ex_tm, (gex_Rank_t)check_rank, NULL, len, len, NULL, 0, 1);
    check_fill(gex_AM_SrcDescAddr(desc), len, (unsigned)thread);
    gex_AM_CommitRequestMedium1(desc, ASK_MEDIUM, len, thread);
    CHECK_EQ(check_counted(&answered[thread]), expected + 1, rule);
    desc = gex_AM_PrepareRequestLong(ex_tm, (gex_Rank_t)check_rank, NULL, len, len, part(thread),
                                     NULL, 0, 1);
    check_fill(gex_AM_SrcDescAddr(desc), len, (unsigned)thread);
    gex_AM_CommitRequestLong1(desc, ASK_LONG, len, part(thread), thread);
    CHECK_EQ(check_counted(&answered[thread]), expected + 2, rule);
}

static void work(unsigned thread_i)
{
    static char data[THREADS_MAX][PART / 2];
    const gex_AM_Arg_t thread = (gex_AM_Arg_t)thread_i;
    const gex_Rank_t me = (gex_Rank_t)check_rank;
    const size_t medium_max = gex_AM_MaxRequestMedium(ex_tm, me, GEX_EVENT_NOW, 0, 1);
    const size_t lens[] = { 0, 1, 100, 4096, medium_max < PART / 2 ? medium_max : PART / 2 };
    char *source = data[thread_i];
    unsigned expected = check_counted(&answered[thread_i]);
    check_fill(source, PART / 2, thread_i);
    for (int round = 0; round < ROUNDS; round++) {
        const size_t len = lens[round % 5];
        const gex_Flags_t flags = round % 2 ? GEX_FLAG_IMMEDIATE : 0;
        gex_AM_RequestShort1(ex_tm, me, ASK_SHORT, flags, thread);
        CHECK_EQ(check_counted(&answered[thread_i]), ++expected, rule);
        gasnet_AMRequestShort1(me, ASK_SHORT, thread);
        CHECK_EQ(check_counted(&answered[thread_i]), ++expected, rule);
        gex_AM_RequestMedium1(ex_tm, me, ASK_MEDIUM, source, len, GEX_EVENT_NOW, flags, thread);
        CHECK_EQ(check_counted(&answered[thread_i]), ++expected, rule);
        gasnet_AMRequestMedium1(me, ASK_MEDIUM, source, len, thread);
        CHECK_EQ(check_counted(&answered[thread_i]), ++expected, rule);
        CHECK(check_filled(source, len, thread_i), "a payload's source stays as it is");
        gex_Event_t event = GEX_EVENT_INVALID;
        gex_AM_RequestLong1(ex_tm, me, ASK_LONG, source, PART / 2, part(thread), &event, flags,
                            thread);
        CHECK_EQ(check_counted(&answered[thread_i]), ++expected, rule);
        gex_Event_Wait(event);
        gasnet_AMRequestLong1(me, ASK_LONG, source, len, part(thread), thread);
        CHECK_EQ(check_counted(&answered[thread_i]), ++expected, rule);
        prepared(thread, len, expected);
        expected += 2;
    }
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, GEX_FLAG_USES_GASNET1);
    ex_register(table, sizeof table / sizeof table[0]);
    base = ex_attach((uintptr_t)PART * THREADS_MAX);
    ex_barrier();
    check_on_threads(work);
    return check_end();
}
