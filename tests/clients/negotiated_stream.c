/* SPDX-License-Identifier: BSD-3-Clause */
/* negotiated_stream.c: a stream of bytes from each rank to its right neighbour, cut into pieces by
 * negotiated messages of every kind: the library's buffers and the program's, exact lengths, ranges
 * of lengths, the limits themselves, shorter commits, cancelled pieces, refusals when there is no
 * room, and negotiated replies. All messages travel over pairs. */
#include <gasnetex.h>
#include <stdbool.h>
#include <stdint.h>

enum { STREAM = 600000, SEGMENT = 4 << 20, ANSWERS = 2 << 20 }; /* ANSWERS: where long replies go */

enum { MEDIUM = 130, LONG, DONE_MEDIUM, DONE_LONG };

static gex_TM_t world, pair;
static gex_Rank_t me, right, left, ranks;
static unsigned char *own, *next, *last; /* segments: this rank's, and its neighbours' */
static unsigned char source[STREAM + 64];
static unsigned char arrived[STREAM + 64];
static volatile size_t arrived_len, answered_len;
static volatile unsigned answers, bad;
static unsigned sent;
static size_t medium_len; /* bytes that were sent in Mediums */

static unsigned char byte_of(gex_Rank_t rank, size_t i)
{
    return (unsigned char)(rank * 37 + i * 7 + i / 251);
}

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "rank %u: %s\n", me, what);
    gasnet_exit(1);
}

static void take(const void *buf, size_t len, size_t at)
{
    memcpy(arrived + at, buf, len);
    arrived_len += len;
}

/* Each piece of the stream is answered by a reply of its kind: a Medium with its length, in a
 * buffer of the library or of this program. */
static void answer_from_library(gex_Token_t token, size_t len, gex_AM_Arg_t at, gex_AM_Arg_t way)
{
    uint64_t count = len;
    size_t least = way % 3 ? sizeof(count) : 0;
    gex_AM_SrcDesc_t desc = gex_AM_PrepareReplyMedium(token, NULL, least, 4096, NULL, 0, 2);
    size_t room = gex_AM_SrcDescSize(desc);
    bad += room < least || room > 4096 || (uintptr_t)gex_AM_SrcDescAddr(desc) % 8 != 0;
    if (room < sizeof(count)) { /* legal if the least length is 0 */
        gex_AM_CancelReplyMedium(desc, 0);
        gex_AM_ReplyMedium2(token, DONE_MEDIUM, &count, sizeof(count), GEX_EVENT_NOW, 0, at, way);
        return;
    }
    memcpy(gex_AM_SrcDescAddr(desc), &count, sizeof(count));
    gex_AM_CommitReplyMedium2(desc, DONE_MEDIUM, sizeof(count), at, way);
}

static void on_medium(gex_Token_t token, void *buf, size_t len, gex_AM_Arg_t at, gex_AM_Arg_t way)
{
    take(buf, len, (size_t)at);
    if (way % 2) {
        answer_from_library(token, len, at, way);
        return;
    }
    uint64_t lent = len;
    gex_AM_SrcDesc_t desc =
        gex_AM_PrepareReplyMedium(token, &lent, sizeof(lent), sizeof(lent), GEX_EVENT_NOW, 0, 2);
    bad += gex_AM_SrcDescAddr(desc) != &lent || gex_AM_SrcDescSize(desc) != sizeof(lent);
    gex_AM_CommitReplyMedium2(desc, DONE_MEDIUM, sizeof(lent), at, way);
}

/* A Long is answered with its bytes inverted, as far as the buffer has room. Every other reply
 * names its destination when it is committed. */
static void on_long(gex_Token_t token, void *buf, size_t len, gex_AM_Arg_t at, gex_AM_Arg_t way)
{
    gex_Token_Info_t info;
    bad += buf != own + at;
    take(buf, len, (size_t)at);
    gex_TI_t answered = gex_Token_Info(token, &info, GEX_TI_ALL);
    bad += !(answered & GEX_TI_SRCRANK) || info.gex_srcrank != left;
    bad += gex_Token_MaxReplyLong(token, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 2) < 512;
    unsigned char *to = last + ANSWERS + (size_t)at;
    gex_AM_SrcDesc_t desc =
        gex_AM_PrepareReplyLong(token, NULL, 1, len ? len : 1, way % 2 ? to : NULL, NULL, 0, 2);
    unsigned char *out = gex_AM_SrcDescAddr(desc);
    size_t room = gex_AM_SrcDescSize(desc);
    room = room < len ? room : len;
    for (size_t i = 0; i < room; i++)
        out[i] = (unsigned char)~((unsigned char *)buf)[i];
    gex_AM_CommitReplyLong2(desc, DONE_LONG, room, to, at, way);
}

static void on_done_medium(gex_Token_t, void *buf, size_t len, gex_AM_Arg_t, gex_AM_Arg_t)
{
    uint64_t count;
    bad += len != sizeof(count);
    memcpy(&count, buf, sizeof(count));
    answered_len += (size_t)count;
    answers++;
}

static void on_done_long(gex_Token_t, void *buf, size_t len, gex_AM_Arg_t at, gex_AM_Arg_t)
{
    unsigned char *bytes = buf;
    bad += bytes != own + ANSWERS + (unsigned)at;
    for (size_t i = 0; i < len; i++)
        bad += bytes[i] != (unsigned char)~source[(size_t)at + i];
    answers++;
}

static gex_AM_Entry_t table[] = {
    { MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 2, NULL, "medium" },
    { LONG, (gex_AM_Fn_t)on_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 2, NULL, "long" },
    { DONE_MEDIUM, (gex_AM_Fn_t)on_done_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 2, NULL,
      NULL },
    { DONE_LONG, (gex_AM_Fn_t)on_done_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY, 2, NULL, NULL },
};

/* A way to send a piece: the arguments of Prepare. */
typedef struct {
    bool is_long, lends, at_once, dest_early;
    size_t least, most; /* 0: the limit */
} way_t;

static const way_t ways[] = {
    { false, false, false, false, 1, 5000 }, { false, false, true, false, 0, 0 },
    { false, false, false, false, 0, 0 },    { false, true, false, false, 700, 700 },
    { false, true, true, false, 1, 0 },      { true, false, false, true, 1, 9000 },
    { true, false, true, false, 0, 0 },      { true, true, false, true, 3000, 3000 },
    { true, true, true, false, 1, 40000 },   { false, false, false, false, 512, 512 },
};
enum { WAYS = sizeof(ways) / sizeof(*ways) };

static size_t limit(const way_t *way, gex_Event_t *event, bool least)
{
    gex_Flags_t flags = way->at_once ? GEX_FLAG_IMMEDIATE : 0;
    if (least)
        flags |= way->lends ? GEX_FLAG_AM_PREPARE_LEAST_CLIENT : GEX_FLAG_AM_PREPARE_LEAST_ALLOC;
    return way->is_long ? gex_AM_MaxRequestLong(pair, right, event, flags, 2)
                        : gex_AM_MaxRequestMedium(pair, right, event, flags, 2);
}

static void check_buffer(gex_AM_SrcDesc_t desc, size_t least, size_t most, const void *lent)
{
    size_t room = gex_AM_SrcDescSize(desc);
    const void *buffer = gex_AM_SrcDescAddr(desc);
    expect(room >= least && room <= most, "the length of a descriptor");
    expect(lent ? buffer == lent : (uintptr_t)buffer % 8 == 0, "the address of a descriptor");
}

static gex_AM_SrcDesc_t prepare(const way_t *way, size_t at, size_t left_over, gex_Event_t *event)
{
    gex_Event_t *local = way->lends ? event : NULL;
    size_t most = way->most ? way->most : limit(way, local, true);
    most = most < left_over ? most : left_over;
    size_t least = way->least < most ? way->least : most;
    const void *lent = way->lends ? source + at : NULL;
    void *dest = way->dest_early ? next + at : NULL;
    gex_Flags_t flags = way->at_once ? GEX_FLAG_IMMEDIATE : 0;
    for (;;) {
        gex_AM_SrcDesc_t desc =
            way->is_long
                ? gex_AM_PrepareRequestLong(pair, right, lent, least, most, dest, local, flags, 2)
                : gex_AM_PrepareRequestMedium(pair, right, lent, least, most, local, flags, 2);
        if (desc != GEX_AM_SRCDESC_NO_OP) {
            check_buffer(desc, least, most, lent);
            return desc;
        }
        expect(way->at_once, "a refusal that was not asked for");
        gasnet_AMPoll();
    }
}

/* Commits a piece; non-zero if it has to be sent again. */
static int commit(const way_t *way, gex_AM_SrcDesc_t desc, size_t len, size_t at, unsigned number)
{
    gex_AM_Arg_t a = (gex_AM_Arg_t)at, b = (gex_AM_Arg_t)number;
    if (way->at_once && way->is_long)
        return gex_AM_CommitRequestLong2_v2(desc, LONG, len, next + at, GEX_FLAG_IMMEDIATE, a, b);
    if (way->at_once)
        return gex_AM_CommitRequestMedium2_v2(desc, MEDIUM, len, GEX_FLAG_IMMEDIATE, a, b);
    if (way->is_long)
        gex_AM_CommitRequestLong2(desc, LONG, len, next + at, a, b);
    else
        gex_AM_CommitRequestMedium2(desc, MEDIUM, len, a, b);
    return 0;
}

/* Sends a piece of the stream; returns its length. */
static size_t send_piece(unsigned number, size_t at)
{
    const way_t *way = &ways[number % WAYS];
    gex_Event_t event = GEX_EVENT_INVALID;
    gex_AM_SrcDesc_t desc = prepare(way, at, STREAM - at, &event);
    if (number % 7 == 3) { /* think again */
        way->is_long ? gex_AM_CancelRequestLong(desc, 0) : gex_AM_CancelRequestMedium(desc, 0);
        desc = prepare(way, at, STREAM - at, &event);
    }
    size_t len = gex_AM_SrcDescSize(desc);
    if (number % 5 == 2)
        len /= 2; /* 0 is legal */
    if (len > 20000)
        len = 20000 + number % 3;
    if (!way->lends)
        memcpy(gex_AM_SrcDescAddr(desc), source + at, len);
    if (commit(way, desc, len, at,
               number)) { /* no room: give the descriptor back before the poll */
        way->is_long ? gex_AM_CancelRequestLong(desc, 0) : gex_AM_CancelRequestMedium(desc, 0);
        gasnet_AMPoll();
        return 0;
    }
    if (way->lends)
        gex_Event_Wait(event);
    sent++;
    medium_len += way->is_long ? 0 : len;
    return len;
}

static void check_limits(void)
{
    for (unsigned i = 0; i < WAYS; i++) {
        gex_Event_t event, *local = ways[i].lends ? &event : NULL;
        size_t most = limit(&ways[i], local, false), least = limit(&ways[i], local, true);
        expect(least >= 512 && most >= 512, "a limit");
        gex_Flags_t kind =
            ways[i].lends ? GEX_FLAG_AM_PREPARE_LEAST_CLIENT : GEX_FLAG_AM_PREPARE_LEAST_ALLOC;
        size_t any = ways[i].is_long
                         ? gex_AM_MaxRequestLong(world, GEX_RANK_INVALID, local, kind, 16)
                         : gex_AM_MaxRequestMedium(world, GEX_RANK_INVALID, local, kind, 16);
        size_t bound = ways[i].is_long ? gex_AM_LUBRequestLong() : gex_AM_LUBRequestMedium();
        expect(any >= bound && any <= least, "a limit of all peers");
    }
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    expect(!gex_Client_Init(&client, &ep, &world, "NEGOTIATED", &argc, &argv, 0), "start");
    me = gex_TM_QueryRank(world);
    ranks = gex_TM_QuerySize(world);
    right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    pair = gex_TM_Pair(ep, 0);
    check_limits();
    expect(!gex_EP_RegisterHandlers(ep, table, sizeof(table) / sizeof(*table)), "handlers");
    expect(!gex_Segment_Attach(&segment, world, SEGMENT), "segment");
    own = gex_Segment_QueryAddr(segment);
    void *owner = NULL;
    uintptr_t size = 0;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, right, &owner, NULL, &size, 0));
    expect(owner && size == SEGMENT, "the segment of a neighbour");
    next = owner;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, left, &owner, NULL, NULL, 0));
    last = owner;
    for (size_t i = 0; i < STREAM; i++)
        source[i] = byte_of(me, i);
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    size_t at = 0;
    for (unsigned number = 0; at < STREAM; number++)
        at += send_piece(number, at);
    GASNET_BLOCKUNTIL(answers == sent);
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0)); /* the neighbour has all answers, too */
    expect(arrived_len == STREAM, "the length of the stream");
    for (size_t i = 0; i < STREAM; i++)
        expect(arrived[i] == byte_of(left, i), "a byte of the stream");
    expect(bad == 0, "a handler's message, buffer or limit");
    expect(answered_len == medium_len, "the lengths in the answers");
    printf("rank %u of %u: good\n", me, ranks);
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    gasnet_exit(0);
}
