/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_am_short.c: GASNet-1 Core, Active Messages without payload: 0 to 16 arguments, request and
 * reply, to every rank and to oneself; who sent it; many at once.
 *
 * TESTS: gasnet_AMRequestShort[M] gasnet_AMReplyShort[M] gasnet_AMRequestShort gasnet_AMReplyShort
 * TESTS: gasnet_AMGetMsgSource gasnet_AMPoll gasnet_AMMaxArgs GASNET_BLOCKUNTIL
 * TESTS: gasnet_handlerarg_t gasnet_handler_t gasnet_token_t gasnet_handlerentry_t
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/arity.h"
#include "conformance/g1.h"

enum {
    REQUEST_FIRST = 130,
    REPLY_FIRST = REQUEST_FIRST + ARITIES,
    VARARGS_REQUEST = REPLY_FIRST + ARITIES,
    VARARGS_REPLY,
    FLOOD_REQUEST,
    FLOOD_REPLY,
    SILENT_REQUEST,
    FLOOD_COUNT = 2000
};

static check_count requests, replies, flood_replies, silent_requests;

/* Both sides know the seed: who asked, whom, and how many arguments there are. */
static unsigned seed_of(unsigned asker, unsigned asked, unsigned count)
{
    return asker * 1000 + asked * 40 + count;
}

static unsigned source_of(gasnet_token_t token)
{
    gasnet_node_t source = (gasnet_node_t)-1;
    CHECK_EQ(gasnet_AMGetMsgSource(token, &source), GASNET_OK,
             "GASNet-1 Core, AM: AMGetMsgSource succeeds in a handler");
    CHECK(source < (unsigned)check_size, "GASNet-1 Core, AM: the source is a rank of the job");
    return source;
}

#define DEFINE_HANDLERS(n)                                                                         \
    static void request_##n(gasnet_token_t token ARITY_PARAMETERS_##n)                             \
    {                                                                                              \
        const gasnet_handlerarg_t args[] = { 0 ARITY_NAMES_##n };                                  \
        const unsigned seed = seed_of(source_of(token), (unsigned)check_rank, n);                  \
        arity_check(args, n, seed);                                                                \
        check_add(&requests, 1);                                                                   \
        CHECK_EQ(gasnet_AMReplyShort##n(token, REPLY_FIRST + n ARITY_VALUES_##n(seed + 1)),        \
                 GASNET_OK, "GASNet-1 Core, AM: a request handler may reply once");                \
    }                                                                                              \
    static void reply_##n(gasnet_token_t token ARITY_PARAMETERS_##n)                               \
    {                                                                                              \
        const gasnet_handlerarg_t args[] = { 0 ARITY_NAMES_##n };                                  \
        arity_check(args, n, seed_of((unsigned)check_rank, source_of(token), n) + 1);              \
        check_add(&replies, 1);                                                                    \
    }                                                                                              \
    static void send_##n(unsigned to)                                                              \
    {                                                                                              \
        const unsigned seed = seed_of((unsigned)check_rank, to, n);                                \
        (void)seed;                                                                                \
        CHECK_EQ(                                                                                  \
            gasnet_AMRequestShort##n((gasnet_node_t)to, REQUEST_FIRST + n ARITY_VALUES_##n(seed)), \
            GASNET_OK, "GASNet-1 Core, AM: a request to any rank succeeds");                       \
    }
ARITY_EACH(DEFINE_HANDLERS)

static void varargs_request(gasnet_token_t token, gasnet_handlerarg_t a1, gasnet_handlerarg_t a2,
                            gasnet_handlerarg_t a3)
{
    CHECK_EQ(gasnet_AMReplyShort(token, VARARGS_REPLY, 2, a1 + a2, a3), GASNET_OK,
             "GASNet-1 Core, AM: the form without a number is told how many arguments follow");
}

static void varargs_reply(gasnet_token_t token, gasnet_handlerarg_t sum, gasnet_handlerarg_t last)
{
    (void)token;
    CHECK_EQ(sum, 30, "GASNet-1 Core, AM: the form without a number carries its arguments");
    CHECK_EQ(last, -7, "GASNet-1 Core, AM: the form without a number carries its arguments");
    check_add(&replies, 1);
}

static void flood_request(gasnet_token_t token, gasnet_handlerarg_t number)
{
    gasnet_AMReplyShort1(token, FLOOD_REPLY, number);
}

static void flood_reply(gasnet_token_t token, gasnet_handlerarg_t number)
{
    (void)token;
    CHECK(number >= 0 && number < FLOOD_COUNT, "GASNet-1 Core, AM: arguments arrive bit for bit");
    check_add(&flood_replies, 1);
}

static void silent_request(gasnet_token_t token)
{
    (void)token;
    check_add(&silent_requests, 1);
}

#define REQUEST_ROW(n) { REQUEST_FIRST + n, (gex_AM_Fn_t)request_##n },
#define REPLY_ROW(n)   { REPLY_FIRST + n, (gex_AM_Fn_t)reply_##n },
static gasnet_handlerentry_t table[] = {
    ARITY_EACH(REQUEST_ROW) ARITY_EACH(REPLY_ROW){ VARARGS_REQUEST, (gex_AM_Fn_t)varargs_request },
    { VARARGS_REPLY, (gex_AM_Fn_t)varargs_reply },
    { FLOOD_REQUEST, (gex_AM_Fn_t)flood_request },
    { FLOOD_REPLY, (gex_AM_Fn_t)flood_reply },
    { SILENT_REQUEST, (gex_AM_Fn_t)silent_request },
};

/* Every thread asks every rank with every number of arguments. */
static void ask_everyone(unsigned thread_i)
{
    (void)thread_i;
    for (unsigned step = 0; step < (unsigned)check_size; step++) {
        const unsigned to = check_next(step);
#define SEND_ONE(n) send_##n(to);
        ARITY_EACH(SEND_ONE)
    }
}

/* All to one, without waiting: requests, and the replies they cause, always find room in the end.
 */
static void flood_rank0(unsigned thread_i)
{
    (void)thread_i;
    for (int number = 0; number < FLOOD_COUNT; number++)
        CHECK_EQ(gasnet_AMRequestShort1(0, FLOOD_REQUEST, number), GASNET_OK,
                 "GASNet-1 Core, AM: a flood to one rank makes progress");
}

int main(int argc, char **argv)
{
    g1_open(&argc, &argv, table, (int)(sizeof(table) / sizeof(table[0])), GASNET_PAGESIZE);
    CHECK(gasnet_AMMaxArgs() >= 2 * sizeof(void *),
          "GASNet-1 Core, AM sizes: at least twice the size of a pointer in arguments");
    CHECK(gasnet_AMMaxArgs() >= ARITY_MAX, "GASNet-1 Core, AM sizes: 16 arguments on LP64");

    const unsigned asked = (unsigned)check_size * ARITIES * CHECK_THREADS;
    check_on_threads(ask_everyone);
    CHECK_WAIT(replies, asked);
    CHECK_WAIT(requests, asked); /* as many ask us as we asked */
    check_barrier();

    CHECK_EQ(gasnet_AMRequestShort(check_next(1), VARARGS_REQUEST, 3, 10, 20, -7), GASNET_OK,
             "GASNet-1 Core, AM: the form without a number is told how many arguments follow");
    while (check_counted(&replies) < asked + 1)
        CHECK_EQ(gasnet_AMPoll(), GASNET_OK, "GASNet-1 Core, AM: AMPoll runs what has arrived");
    check_barrier();

    check_on_threads(flood_rank0);
    CHECK_WAIT(flood_replies, FLOOD_COUNT * CHECK_THREADS);
    check_barrier();

    for (unsigned step = 0; step < (unsigned)check_size; step++)
        gasnet_AMRequestShort0(check_next(step), SILENT_REQUEST);
    CHECK_WAIT(silent_requests, check_size); /* a request needs no reply */
    check_barrier();
    CHECK_EQ(check_counted(&requests), asked, "GASNet-1 Core, AM: a handler runs once a message");
    CHECK_EQ(check_counted(&replies), asked + 1,
             "GASNet-1 Core, AM: a handler runs once a message");
    CHECK_EQ(check_counted(&silent_requests), check_size,
             "GASNet-1 Core, AM: a handler runs once a message");
    return check_end();
}
