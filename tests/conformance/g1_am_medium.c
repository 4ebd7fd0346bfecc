/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_am_medium.c: GASNet-1 Core, Active Messages with a payload in memory of the library: sizes
 * from nothing to the largest, 0 to 16 arguments, alignment, who may write where and when.
 *
 * TESTS: gasnet_AMRequestMedium[M] gasnet_AMReplyMedium[M] gasnet_AMRequestMedium
 * TESTS: gasnet_AMReplyMedium gasnet_AMMaxMedium
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/arity.h"
#include "conformance/g1.h"

#include <stddef.h>

enum {
    REQUEST_FIRST = 130,
    REPLY_FIRST = REQUEST_FIRST + ARITIES,
    SIZED_REQUEST = REPLY_FIRST + ARITIES,
    SIZED_REPLY,
    VARARGS_REQUEST,
    VARARGS_REPLY,
    ARITY_LEN = 100
};

static check_count replies;
static check_count thread_replies[CHECK_THREADS];

#define DEFINE_HANDLERS(n)                                                                         \
    static void request_##n(gasnet_token_t token, void *payload, size_t len ARITY_PARAMETERS_##n)  \
    {                                                                                              \
        const gasnet_handlerarg_t args[] = { 0 ARITY_NAMES_##n };                                  \
        arity_check(args, n, n);                                                                   \
        CHECK_EQ(len, ARITY_LEN + n, "GASNet-1 Core, AM Medium: the length arrives");              \
        CHECK(check_filled(payload, len, n), "GASNet-1 Core, AM Medium: the payload arrives");     \
        CHECK_EQ(                                                                                  \
            gasnet_AMReplyMedium##n(token, REPLY_FIRST + n, payload, len ARITY_VALUES_##n(n + 1)), \
            GASNET_OK, "GASNet-1 Core, AM Medium: the payload may be a reply's source");           \
    }                                                                                              \
    static void reply_##n(gasnet_token_t token, void *payload, size_t len ARITY_PARAMETERS_##n)    \
    {                                                                                              \
        const gasnet_handlerarg_t args[] = { 0 ARITY_NAMES_##n };                                  \
        (void)token;                                                                               \
        arity_check(args, n, n + 1);                                                               \
        CHECK_EQ(len, ARITY_LEN + n, "GASNet-1 Core, AM Medium: the length arrives");              \
        CHECK(check_filled(payload, len, n), "GASNet-1 Core, AM Medium: the payload arrives");     \
        check_add(&replies, 1);                                                                    \
    }                                                                                              \
    static void send_##n(unsigned to)                                                              \
    {                                                                                              \
        unsigned char source[ARITY_LEN + n];                                                       \
        check_fill(source, sizeof(source), n);                                                     \
        CHECK_EQ(gasnet_AMRequestMedium##n((gasnet_node_t)to, REQUEST_FIRST + n, source,           \
                                           sizeof(source) ARITY_VALUES_##n(n)),                    \
                 GASNET_OK, "GASNet-1 Core, AM Medium: a request to any rank succeeds");           \
        memset(source, 0xee, sizeof(source)); /* the source may change again: GASNet-1 Core, AM    \
                                               * Medium */                                         \
    }
ARITY_EACH(DEFINE_HANDLERS)

/* The payload carries the pattern of its length; the answer is the same, turned round in place. */
static void sized_request(gasnet_token_t token, void *payload, size_t len,
                          gasnet_handlerarg_t len_sent, gasnet_handlerarg_t thread_i)
{
    unsigned char *bytes = (unsigned char *)payload;
    CHECK_EQ(len, len_sent, "GASNet-1 Core, AM Medium: the length arrives");
    if (len > 0) {
        CHECK_EQ((uintptr_t)payload % _Alignof(max_align_t), 0,
                 "GASNet-1 Core, AM Medium: the payload is aligned for any type");
        CHECK(check_filled(payload, len, (unsigned)len),
              "GASNet-1 Core, AM Medium: the payload arrives whole");
    }
    for (size_t byte_i = 0; byte_i < len; byte_i++)
        bytes[byte_i] = (unsigned char)~bytes[byte_i]; /* the handler may write to it */
    CHECK_EQ(gasnet_AMReplyMedium2(token, SIZED_REPLY, payload, len, len_sent, thread_i), GASNET_OK,
             "GASNet-1 Core, AM Medium: the payload may be a reply's source");
}

static void sized_reply(gasnet_token_t token, void *payload, size_t len,
                        gasnet_handlerarg_t len_sent, gasnet_handlerarg_t thread_i)
{
    const unsigned char *bytes = (const unsigned char *)payload;
    (void)token;
    CHECK_EQ(len, len_sent, "GASNet-1 Core, AM Medium: the length arrives");
    for (size_t byte_i = 0; byte_i < len; byte_i++)
        CHECK_EQ(bytes[byte_i], (unsigned char)~check_byte((unsigned)len, byte_i),
                 "GASNet-1 Core, AM Medium: what the handler wrote is what it sends");
    check_add(&thread_replies[thread_i], 1);
}

static void varargs_request(gasnet_token_t token, void *payload, size_t len, gasnet_handlerarg_t a)
{
    gasnet_AMReplyMedium(token, VARARGS_REPLY, payload, len, 2, a, -a);
}

static void varargs_reply(gasnet_token_t token, void *payload, size_t len, gasnet_handlerarg_t a,
                          gasnet_handlerarg_t b)
{
    (void)token;
    CHECK(len == 5 && memcmp(payload, "hello", 5) == 0 && a == 77 && b == -77,
          "GASNet-1 Core, AM Medium: the form without a number carries payload and arguments");
    check_add(&replies, 1);
}

#define REQUEST_ROW(n) { REQUEST_FIRST + n, (gex_AM_Fn_t)request_##n },
#define REPLY_ROW(n)   { REPLY_FIRST + n, (gex_AM_Fn_t)reply_##n },
static gasnet_handlerentry_t table[] = {
    ARITY_EACH(REQUEST_ROW) ARITY_EACH(REPLY_ROW){ SIZED_REQUEST, (gex_AM_Fn_t)sized_request },
    { SIZED_REPLY, (gex_AM_Fn_t)sized_reply },
    { VARARGS_REQUEST, (gex_AM_Fn_t)varargs_request },
    { VARARGS_REPLY, (gex_AM_Fn_t)varargs_reply },
};

/* Many in flight, of all sizes, from all threads; the source is overwritten at once. */
static void send_sizes(unsigned thread_i)
{
    static const size_t sizes[] = {
        0, 1, 2, 3, 7, 8, 9, 31, 48, 63, 64, 65, 127, 255, 500, 511, 512
    };
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
    const size_t len_max = gasnet_AMMaxMedium();
    unsigned char *source = (unsigned char *)malloc(len_max + 1);
    unsigned sent = 0;

    CHECK(source != NULL, "the system gives us memory");
    for (unsigned step = 0; step < (unsigned)check_size; step++) {
        for (size_t size_i = 0; size_i < SIZES + 3; size_i++) {
            const size_t len = size_i < SIZES    ? sizes[size_i]
                               : size_i == SIZES ? len_max
                                                 : len_max / (size_i - SIZES + 1);
            unsigned char *odd = source + size_i % 2; /* no alignment is asked of a source */
            check_fill(odd, len, (unsigned)len);
            CHECK_EQ(
                gasnet_AMRequestMedium2(check_next(step), SIZED_REQUEST, len == 0 ? NULL : odd, len,
                                        (gasnet_handlerarg_t)len, (gasnet_handlerarg_t)thread_i),
                GASNET_OK, "GASNet-1 Core, AM Medium: every size up to AMMaxMedium is carried");
            memset(source, 0xee, len_max + 1);
            sent++;
        }
    }
    CHECK_WAIT(thread_replies[thread_i], sent);
    free(source);
}

int main(int argc, char **argv)
{
    g1_open(&argc, &argv, table, (int)(sizeof(table) / sizeof(table[0])), GASNET_PAGESIZE);
    CHECK(gasnet_AMMaxMedium() >= 512, "GASNet-1 Core, AM sizes: Medium carries 512 bytes");

    for (unsigned step = 0; step < (unsigned)check_size; step++) {
        const unsigned to = check_next(step);
#define SEND_ONE(n) send_##n(to);
        ARITY_EACH(SEND_ONE)
    }
    CHECK_WAIT(replies, check_size * ARITIES);

    char hello[] = "hello";
    gasnet_AMRequestMedium(check_next(1), VARARGS_REQUEST, hello, 5, 1, 77);
    CHECK_WAIT(replies, check_size * ARITIES + 1);
    check_barrier();

    check_on_threads(send_sizes);
    return check_end();
}
