/* SPDX-License-Identifier: BSD-3-Clause */
/* am_categories.c: a test of messages as users have for their machines: ping-pong and floods in
 * Short, Medium, Long and LongAsync, with replies of each category, in all sizes up to 64 KiB,
 * which this program asks of every network. */
#include <gasnet.h>

enum { CATEGORIES = 3, REQUEST = 128, REPLY = 140, LIMIT = 65536, FLOOD = 100 };

static gasnet_node_t me, nodes, peer;
static unsigned char *mine,
    *theirs; /* segments: the first half for requests, the second for replies */
static volatile int requests, replies;
static int expected; /* requests that the peer has sent, or is about to */
static unsigned char *pattern;

#define MSG_ASSERT(c, text)                                                              \
    do {                                                                                 \
        if (!(c)) {                                                                      \
            fprintf(stderr, "node %i: %s (%s:%i)\n", (int)me, text, __FILE__, __LINE__); \
            abort();                                                                     \
        }                                                                                \
    } while (0)
#define GASNET_CALL(call) MSG_ASSERT((call) == GASNET_OK, #call)

static void check_payload(void *buf, size_t nbytes)
{
    MSG_ASSERT(nbytes <= LIMIT, "the length of a payload");
    MSG_ASSERT(memcmp(buf, pattern + (nbytes & 63), nbytes) == 0, "the bytes of a payload");
}

static void answer(gasnet_token_t token, size_t nbytes, int arg)
{
    unsigned char *from = pattern + (nbytes & 63);
    requests++;
    switch (arg % CATEGORIES) {
    case 0:
        gasnet_AMReplyShort1(token, REPLY, arg);
        break;
    case 1:
        gasnet_AMReplyMedium1(token, REPLY + 1, from, nbytes, arg);
        break;
    default:
        gasnet_AMReplyLong1(token, REPLY + 2, from, nbytes, theirs + LIMIT, arg);
    }
}

static void short_request(gasnet_token_t token, gasnet_handlerarg_t arg) { answer(token, 64, arg); }
static void medium_request(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t arg)
{
    MSG_ASSERT((uintptr_t)buf % 8 == 0, "the alignment of a Medium");
    check_payload(buf, nbytes);
    if (nbytes > 0)
        ((unsigned char *)buf)[0] ^= 1; /* the buffer may be written */
    answer(token, nbytes, arg);
}
static void long_request(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t arg)
{
    MSG_ASSERT(buf == mine, "the address of a Long");
    check_payload(buf, nbytes);
    answer(token, nbytes, arg);
}

static void short_reply(gasnet_token_t token, gasnet_handlerarg_t arg)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource(token, &from);
    MSG_ASSERT(from == peer && arg % CATEGORIES == 0, "a Short reply");
    replies++;
}
static void medium_reply(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t arg)
{
    (void)token;
    MSG_ASSERT(arg % CATEGORIES == 1, "a Medium reply");
    check_payload(buf, nbytes);
    replies++;
}
static void long_reply(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t arg)
{
    (void)token;
    MSG_ASSERT(arg % CATEGORIES == 2 && buf == mine + LIMIT, "a Long reply");
    check_payload(buf, nbytes);
    replies++;
}

static gasnet_handlerentry_t handlers[] = {
    { REQUEST + 0, (void (*)())short_request }, { REQUEST + 1, (void (*)())medium_request },
    { REQUEST + 2, (void (*)())long_request },  { REPLY + 0, (void (*)())short_reply },
    { REPLY + 1, (void (*)())medium_reply },    { REPLY + 2, (void (*)())long_reply },
};

static void request(int category, size_t nbytes, int arg)
{
    unsigned char *from = pattern + (nbytes & 63);
    if (category == 0)
        GASNET_CALL(gasnet_AMRequestShort1(peer, REQUEST, arg));
    else if (category == 1)
        GASNET_CALL(gasnet_AMRequestMedium1(peer, REQUEST + 1, from, nbytes, arg));
    else if (category == 2)
        GASNET_CALL(gasnet_AMRequestLong1(peer, REQUEST + 2, from, nbytes, theirs, arg));
    else
        GASNET_CALL(gasnet_AMRequestLongAsync1(peer, REQUEST + 2, from, nbytes, theirs, arg));
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    GASNET_CALL(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
}

/* Even ranks begin; the odd ones answer, then the reverse. */
static void ping_pong(int category, size_t nbytes)
{
    for (int turn = 0; turn < 2; turn++) {
        if (me % 2 == (unsigned)turn) {
            for (int arg = 0; arg < CATEGORIES; arg++) {
                int before = replies;
                request(category, nbytes, arg);
                GASNET_BLOCKUNTIL(replies == before + 1);
            }
        } else {
            expected += CATEGORIES; /* the first may have come before this rank got here */
            GASNET_BLOCKUNTIL(requests == expected);
        }
        barrier();
    }
}

/* All send at once, with replies of one category. Longs of a flood have the same bytes, for they
 * share an address. */
static void flood(int category, size_t nbytes)
{
    int before = replies;
    for (int i = 0; i < FLOOD; i++)
        request(category, nbytes, i % 2);
    GASNET_BLOCKUNTIL(replies == before + FLOOD);
    expected += FLOOD;
    GASNET_BLOCKUNTIL(requests == expected);
    barrier();
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = { 0, 1, 7, 512, 4095, 16384, 65000, LIMIT };
    gasnet_seginfo_t info[64];
    GASNET_CALL(gasnet_init(&argc, &argv));
    GASNET_CALL(gasnet_attach(handlers, sizeof(handlers) / sizeof(handlers[0]), 2 * LIMIT, 0));
    me = gasnet_mynode();
    nodes = gasnet_nodes();
    peer = me ^ 1;
    GASNET_CALL(gasnet_getSegmentInfo(info, (int)nodes));
    mine = info[me].addr;
    theirs = info[peer].addr;
    pattern = malloc(LIMIT + 64);
    for (int i = 0; i < LIMIT + 64; i++)
        pattern[i] = (unsigned char)(i * 31 + i / 256);
    MSG_ASSERT(gasnet_AMMaxLongRequest() >= LIMIT && gasnet_AMMaxLongReply() >= LIMIT,
               "the longest Long");
    MSG_ASSERT(gasnet_AMMaxMedium() >= 65536 && gasnet_AMMaxArgs() >= 16, "the longest Medium");
    barrier();
    for (int category = 0; category < 4; category++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            size_t nbytes = sizes[i];
            if (nbytes > gasnet_AMMaxMedium())
                nbytes = gasnet_AMMaxMedium();
            ping_pong(category, nbytes);
            if (i % 3 == 0)
                flood(category, nbytes);
        }
    printf("rank %u of %u: good\n", me, nodes);
    fflush(stdout);
    barrier();
    gasnet_exit(0);
}
