/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_am_long.c: GASNet-1 Core, Active Messages whose payload lands in the target's segment: it is
 * there before the handler runs, at the address the sender gave; sizes, alignment, nothing at all;
 * and the asynchronous form, which keeps the source until the reply's handler begins.
 *
 * TESTS: gasnet_AMRequestLong[M] gasnet_AMReplyLong[M] gasnet_AMRequestLongAsync[M]
 * TESTS: gasnet_AMRequestLong gasnet_AMReplyLong gasnet_AMRequestLongAsync
 * TESTS: gasnet_AMMaxLongRequest gasnet_AMMaxLongReply
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/arity.h"
#include "conformance/g1.h"

enum {
    REQUEST_FIRST = 130,
    REPLY_FIRST = REQUEST_FIRST + ARITIES,
    SIZED_REQUEST = REPLY_FIRST + ARITIES,
    SIZED_REPLY,
    EMPTY_REQUEST,
    EMPTY_REPLY,
    VARARGS_REQUEST,
    VARARGS_REPLY,
    ARITY_LEN = 200,
    SLOT_LEN = 256 * 1024, /* bytes that one thread of one rank may fill at its target */
    ODD = 3                /* slots begin aligned; payloads need not */
};

/* Each rank's segment: a slot for the requests of every thread of every rank, then a slot for the
 * replies to each of its own threads. */
static size_t request_slot(unsigned asker, unsigned thread_i)
{
    return (size_t)(asker * CHECK_THREADS + thread_i) * SLOT_LEN;
}

static size_t reply_slot(unsigned thread_i) { return request_slot((unsigned)check_size, thread_i); }

static check_count replies;
static check_count thread_replies[CHECK_THREADS];

static unsigned source_of(gasnet_token_t token)
{
    gasnet_node_t source = 0;
    gasnet_AMGetMsgSource(token, &source);
    return source;
}

/* ---- 0 to 16 arguments ---------------------------------------------------------------------- */

#define DEFINE_HANDLERS(n)                                                                        \
    static void request_##n(gasnet_token_t token, void *payload, size_t len ARITY_PARAMETERS_##n) \
    {                                                                                             \
        const gasnet_handlerarg_t args[] = { 0 ARITY_NAMES_##n };                                 \
        const unsigned asker = source_of(token);                                                  \
        arity_check(args, n, n);                                                                  \
        CHECK_EQ(len, ARITY_LEN + n, "GASNet-1 Core, AM Long: the length arrives");               \
        CHECK(payload == g1_mine(request_slot(asker, 0)),                                         \
              "GASNet-1 Core, AM Long: the handler is given the address the sender gave");        \
        CHECK(check_filled(payload, len, n),                                                      \
              "GASNet-1 Core, AM Long: the payload is there before the handler runs");            \
        CHECK_EQ(gasnet_AMReplyLong##n(token, REPLY_FIRST + n, payload, len,                      \
                                       g1_at(asker, reply_slot(0)) ARITY_VALUES_##n(n + 1)),      \
                 GASNET_OK, "GASNet-1 Core, AM Long: a reply may carry a payload");               \
    }                                                                                             \
    static void reply_##n(gasnet_token_t token, void *payload, size_t len ARITY_PARAMETERS_##n)   \
    {                                                                                             \
        const gasnet_handlerarg_t args[] = { 0 ARITY_NAMES_##n };                                 \
        (void)token;                                                                              \
        arity_check(args, n, n + 1);                                                              \
        CHECK_EQ(len, ARITY_LEN + n, "GASNet-1 Core, AM Long: the length arrives");               \
        CHECK(payload == g1_mine(reply_slot(0)),                                                  \
              "GASNet-1 Core, AM Long: the handler is given the address the sender gave");        \
        CHECK(check_filled(payload, len, n),                                                      \
              "GASNet-1 Core, AM Long: the payload is there before the handler runs");            \
        check_add(&replies, 1);                                                                   \
    }                                                                                             \
    static void send_##n(unsigned to)                                                             \
    {                                                                                             \
        unsigned char source[ARITY_LEN + n];                                                      \
        const unsigned before = check_counted(&replies);                                          \
        void *dest = g1_at(to, request_slot((unsigned)check_rank, 0));                            \
        check_fill(source, sizeof(source), n);                                                    \
        CHECK_EQ(gasnet_AMRequestLong##n((gasnet_node_t)to, REQUEST_FIRST + n, source,            \
                                         sizeof(source), dest ARITY_VALUES_##n(n)),               \
                 GASNET_OK, "GASNet-1 Core, AM Long: a request to any rank succeeds");            \
        memset(source, 0xee, sizeof(source)); /* ours again */                                    \
        CHECK_WAIT(replies, before + 1);                                                          \
        check_fill(source, sizeof(source), n);                                                    \
        CHECK_EQ(gasnet_AMRequestLongAsync##n((gasnet_node_t)to, REQUEST_FIRST + n, source,       \
                                              sizeof(source), dest ARITY_VALUES_##n(n)),          \
                 GASNET_OK, "GASNet-1 Core, AM LongAsync: a request to any rank succeeds");       \
        CHECK_WAIT(replies, before + 2); /* until then the source is not touched */               \
    }
ARITY_EACH(DEFINE_HANDLERS)

/* ---- sizes ----------------------------------------------------------------------------------- */

static void sized_request(gasnet_token_t token, void *payload, size_t len, gasnet_handlerarg_t seed,
                          gasnet_handlerarg_t thread_i)
{
    const unsigned asker = source_of(token);
    CHECK(payload == g1_mine(request_slot(asker, (unsigned)thread_i) + ODD),
          "GASNet-1 Core, AM Long: the handler is given the address the sender gave");
    CHECK(check_filled(payload, len, (unsigned)seed),
          "GASNet-1 Core, AM Long: the payload is whole before the handler runs");
    const size_t reply_len = len < gasnet_AMMaxLongReply() ? len : gasnet_AMMaxLongReply();
    gasnet_AMReplyLong2(token, SIZED_REPLY, payload, reply_len,
                        g1_at(asker, reply_slot((unsigned)thread_i) + 1), seed, thread_i);
}

static void sized_reply(gasnet_token_t token, void *payload, size_t len, gasnet_handlerarg_t seed,
                        gasnet_handlerarg_t thread_i)
{
    (void)token;
    CHECK(payload == g1_mine(reply_slot((unsigned)thread_i) + 1),
          "GASNet-1 Core, AM Long: the handler is given the address the sender gave");
    CHECK(check_filled(payload, len, (unsigned)seed),
          "GASNet-1 Core, AM Long: the payload is whole before the handler runs");
    check_add(&thread_replies[thread_i], 1);
}

/* One message, by either form, and its answer. */
static void send_sized(unsigned to, unsigned thread_i, void *source, size_t len, unsigned seed,
                       int is_async)
{
    char *dest = g1_at(to, request_slot((unsigned)check_rank, thread_i) + ODD);
    const unsigned before = check_counted(&thread_replies[thread_i]);
    check_fill(source, len, seed);
    if (is_async) {
        gasnet_AMRequestLongAsync2(to, SIZED_REQUEST, source, len, dest, (gasnet_handlerarg_t)seed,
                                   (gasnet_handlerarg_t)thread_i);
    } else {
        gasnet_AMRequestLong2(to, SIZED_REQUEST, source, len, dest, (gasnet_handlerarg_t)seed,
                              (gasnet_handlerarg_t)thread_i);
        memset(source, 0xee, len); /* the source may change again on return */
    }
    CHECK_WAIT(thread_replies[thread_i], before + 1);
}

static void send_sizes(unsigned thread_i)
{
    const size_t room = SLOT_LEN - 64;
    const size_t largest = gasnet_AMMaxLongRequest() < room ? gasnet_AMMaxLongRequest() : room;
    const size_t sizes[] = { 1, 2, 7, 8, 9, 63, 64, 65, 511, 512, 513, 4095, 4096, 65537, largest };
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
    unsigned char *source = (unsigned char *)malloc(largest);

    CHECK(source != NULL, "the system gives us memory");
    for (unsigned i = 0; i < (unsigned)check_size * SIZES; i++) {
        const size_t size = sizes[i % SIZES];
        send_sized(check_next(i / SIZES), thread_i, source, size < largest ? size : largest,
                   i + thread_i, i % 2);
    }
    free(source);
}

/* ---- nothing at all, and the forms without a number ------------------------------------------ */

static char nowhere; /* no segment holds it */

static void empty_request(gasnet_token_t token, void *dest, size_t len, gasnet_handlerarg_t is_null)
{
    CHECK_EQ(len, 0, "GASNet-1 Core, AM Long: an empty payload has length 0");
    if (is_null)
        CHECK(dest == NULL, "GASNet-1 Core, AM Long: the address of nothing is handed through");
    gasnet_AMReplyLong0(token, EMPTY_REPLY, NULL, 0, dest);
}

static void empty_reply(gasnet_token_t token, void *dest, size_t len)
{
    (void)token;
    CHECK_EQ(len, 0, "GASNet-1 Core, AM Long: an empty payload has length 0");
    CHECK(dest == NULL || dest == &nowhere || dest == (void *)(uintptr_t)0x123456789abcdef1u,
          "GASNet-1 Core, AM Long: the address of nothing is handed through, there and back");
    check_add(&replies, 1);
}

static void varargs_request(gasnet_token_t token, void *payload, size_t len, gasnet_handlerarg_t a)
{
    const unsigned asker = source_of(token);
    CHECK(check_filled(payload, len, 5), "GASNet-1 Core, AM Long: the payload is there");
    gasnet_AMReplyLong(token, VARARGS_REPLY, payload, len, g1_at(asker, reply_slot(0)), 2, a,
                       a + 1);
}

static void varargs_reply(gasnet_token_t token, void *payload, size_t len, gasnet_handlerarg_t a,
                          gasnet_handlerarg_t b)
{
    (void)token;
    CHECK(a == 41 && b == 42 && check_filled(payload, len, 5),
          "GASNet-1 Core, AM Long: the form without a number carries payload and arguments");
    check_add(&replies, 1);
}

static void send_nothing(void)
{
    void *const dests[] = { NULL, &nowhere, (void *)(uintptr_t)0x123456789abcdef1u };
    const unsigned before = check_counted(&replies);
    for (unsigned i = 0; i < 3; i++)
        gasnet_AMRequestLong1(check_next(1), EMPTY_REQUEST, NULL, 0, dests[i], dests[i] == NULL);
    CHECK_WAIT(replies, before + 3);
}

static void send_varargs(void)
{
    unsigned char source[300];
    const unsigned to = check_next(1), before = check_counted(&replies);
    void *dest = g1_at(to, request_slot((unsigned)check_rank, 0));
    check_fill(source, sizeof(source), 5);
    gasnet_AMRequestLong(to, VARARGS_REQUEST, source, sizeof(source), dest, 1, 41);
    CHECK_WAIT(replies, before + 1);
    gasnet_AMRequestLongAsync(to, VARARGS_REQUEST, source, sizeof(source), dest, 1, 41);
    CHECK_WAIT(replies, before + 2);
}

#define REQUEST_ROW(n) { REQUEST_FIRST + n, (gex_AM_Fn_t)request_##n },
#define REPLY_ROW(n)   { REPLY_FIRST + n, (gex_AM_Fn_t)reply_##n },
static gasnet_handlerentry_t table[] = {
    ARITY_EACH(REQUEST_ROW) ARITY_EACH(REPLY_ROW){ SIZED_REQUEST, (gex_AM_Fn_t)sized_request },
    { SIZED_REPLY, (gex_AM_Fn_t)sized_reply },
    { EMPTY_REQUEST, (gex_AM_Fn_t)empty_request },
    { EMPTY_REPLY, (gex_AM_Fn_t)empty_reply },
    { VARARGS_REQUEST, (gex_AM_Fn_t)varargs_request },
    { VARARGS_REPLY, (gex_AM_Fn_t)varargs_reply },
};

int main(int argc, char **argv)
{
    g1_start(&argc, &argv);
    g1_attach(table, (int)(sizeof(table) / sizeof(table[0])), reply_slot(CHECK_THREADS));
    check_barrier();

    CHECK(gasnet_AMMaxLongRequest() >= 512 && gasnet_AMMaxLongReply() >= 512,
          "GASNet-1 Core, AM sizes: Long carries 512 bytes");
    for (unsigned step = 0; step < (unsigned)check_size; step++) {
        const unsigned to = check_next(step);
#define SEND_ONE(n) send_##n(to);
        ARITY_EACH(SEND_ONE)
    }
    check_barrier();
    check_on_threads(send_sizes);
    check_barrier();
    send_nothing();
    send_varargs();
    return check_end();
}
