/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_np.c: GASNet-EX negotiated payload: every commit with 0 to 16 arguments, in all its forms,
 * request and reply, with buffers of the program and of the library, to all peers and to the own
 * rank.
 *
 * TESTS: gex_AM_PrepareRequestMedium gex_AM_PrepareRequestLong gex_AM_PrepareReplyMedium
 * gex_AM_PrepareReplyLong gex_AM_SrcDescAddr gex_AM_SrcDescSize gex_AM_CommitRequestMedium[M]
 * gex_AM_CommitRequestLong[M] gex_AM_CommitReplyMedium[M] gex_AM_CommitReplyLong[M]
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

#include "conformance/arity.h"

enum {
    MEDIUM_REQ = 128,
    LONG_REQ = 145,
    MEDIUM_REP = 162,
    LONG_REP = 179,
    SEGMENT_LEN = 1 << 20,
    PLACE_LEN = 1024,
    RANKS_MAX = 16,
    PASSES = 4 /* numbered, numbered with _v2, counting, counting with _v2; odd: buffers of the
                * program */
};

static check_count replies;
static char *my_base, *bases[RANKS_MAX];

static size_t len_of(unsigned count, unsigned pass) { return 16 + (size_t)count * 32 + pass; }

/* Where in a rank's segment the Long of one sender and arity lands. */
static char *place(gex_Rank_t at, gex_Rank_t from, unsigned count, int reply)
{
    size_t slot = ((size_t)from * ARITIES + count) * 2 + (size_t)reply;
    return bases[at] + slot * PLACE_LEN;
}

static void check_payload(const void *payload, size_t len, unsigned count)
{
    CHECK_EQ(len / 4, len_of(count, 0) / 4, "GASNet-EX NP: the length that was committed");
    CHECK(check_filled(payload, len, count), "GASNet-EX NP: the payload arrives intact");
}

static gex_Rank_t source_of(gex_Token_t token)
{
    gex_Token_Info_t info;
    (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    return info.gex_srcrank;
}

/* A prepared message has a suitable buffer, which receives the payload. */
static gex_AM_SrcDesc_t filled(gex_AM_SrcDesc_t desc, const char *ours, size_t len, unsigned count)
{
    CHECK(desc != GEX_AM_SRCDESC_NO_OP, "GASNet-EX NP: without IMMEDIATE there is a descriptor");
    CHECK(gex_AM_SrcDescSize(desc) >= len && gex_AM_SrcDescSize(desc) <= len + 64,
          "GASNet-EX NP: a size between least and most");
    if (ours != NULL)
        CHECK(gex_AM_SrcDescAddr(desc) == ours, "GASNet-EX NP: a client's buffer is the buffer");
    check_fill(gex_AM_SrcDescAddr(desc), len, count);
    return desc;
}

/* Commits in the form of a pass. WHERE: the destination with its comma, or nothing. */
#define COMMIT(kind, n, pass, desc, handler, len, WHERE, ...)                               \
    do {                                                                                    \
        int status_ = 0;                                                                    \
        if ((pass) == 0)                                                                    \
            gex_AM_Commit##kind##n(desc, handler, len WHERE __VA_ARGS__);                   \
        else if ((pass) == 1)                                                               \
            status_ = gex_AM_Commit##kind##n##_v2(desc, handler, len WHERE, 0 __VA_ARGS__); \
        else if ((pass) == 2)                                                               \
            gex_AM_Commit##kind(desc, handler, len WHERE __VA_ARGS__);                      \
        else                                                                                \
            status_ = gex_AM_Commit##kind##_v2(desc, handler, len WHERE, 0 __VA_ARGS__);    \
        CHECK_EQ(status_, 0, "GASNet-EX NP: without IMMEDIATE a commit is not refused");    \
    } while (0)
#define NOWHERE
#define AT(address) , address

#define HANDLERS(n)                                                                               \
    static void medium_rep_##n(gex_Token_t token, void *payload, size_t len ARITY_PARAMETERS_##n) \
    {                                                                                             \
        const gex_AM_Arg_t args[] = { 0 ARITY_NAMES_##n };                                        \
        (void)token;                                                                              \
        arity_check(args, n, n + 1);                                                              \
        check_payload(payload, len, n);                                                           \
        check_add(&replies, 1);                                                                   \
    }                                                                                             \
    static void long_rep_##n(gex_Token_t token, void *payload, size_t len ARITY_PARAMETERS_##n)   \
    {                                                                                             \
        CHECK(payload == place((gex_Rank_t)check_rank, source_of(token), n, 1),                   \
              "GASNet-EX NP: a Long lies where the commit said");                                 \
        medium_rep_##n(token, payload, len ARITY_NAMES_##n);                                      \
    }                                                                                             \
    static void medium_req_##n(gex_Token_t token, void *payload, size_t len ARITY_PARAMETERS_##n) \
    {                                                                                             \
        const gex_AM_Arg_t args[] = { 0 ARITY_NAMES_##n };                                        \
        char buffer[PLACE_LEN] = "", *ours = len % 2 ? buffer : NULL;                             \
        gex_Event_t *local = ours != NULL ? GEX_EVENT_NOW : NULL;                                 \
        arity_check(args, n, n + 1);                                                              \
        check_payload(payload, len, n);                                                           \
        gex_AM_SrcDesc_t desc = filled(                                                           \
            gex_AM_PrepareReplyMedium(token, ours, len, len + 64, local, 0, n), ours, len, n);    \
        COMMIT(ReplyMedium, n, len % PASSES, desc, MEDIUM_REP + n, len, NOWHERE,                  \
               ARITY_VALUES_##n(n + 1));                                                          \
    }                                                                                             \
    static void long_req_##n(gex_Token_t token, void *payload, size_t len ARITY_PARAMETERS_##n)   \
    {                                                                                             \
        const gex_AM_Arg_t args[] = { 0 ARITY_NAMES_##n };                                        \
        const gex_Rank_t from = source_of(token);                                                 \
        char *dest = place(from, (gex_Rank_t)check_rank, n, 1);                                   \
        char buffer[PLACE_LEN] = "", *ours = len % 2 ? buffer : NULL;                             \
        gex_Event_t *local = ours != NULL ? GEX_EVENT_NOW : NULL;                                 \
        arity_check(args, n, n + 1);                                                              \
        check_payload(payload, len, n);                                                           \
        CHECK(payload == place((gex_Rank_t)check_rank, from, n, 0),                               \
              "GASNet-EX NP: a Long lies where the commit said");                                 \
        gex_AM_SrcDesc_t desc =                                                                   \
            filled(gex_AM_PrepareReplyLong(token, ours, len, len + 64, len % 2 ? dest : NULL,     \
                                           local, 0, n),                                          \
                   ours, len, n);                                                                 \
        COMMIT(ReplyLong, n, len % PASSES, desc, LONG_REP + n, len, AT(dest),                     \
               ARITY_VALUES_##n(n + 1));                                                          \
    }
/* NOLINTBEGIN(bugprone-branch-clone): forms that count their arguments become numbered ones */
ARITY_EACH(HANDLERS)

#define SEND(n)                                                                                   \
    static void send_##n(gex_Rank_t peer, unsigned pass)                                          \
    {                                                                                             \
        const size_t len = len_of(n, pass);                                                       \
        char buffer[PLACE_LEN] = "", *ours = pass % 2 ? buffer : NULL;                            \
        char *dest = place(peer, (gex_Rank_t)check_rank, n, 0);                                   \
        gex_Event_t *local = ours != NULL ? GEX_EVENT_NOW : NULL;                                 \
        gex_AM_SrcDesc_t desc =                                                                   \
            filled(gex_AM_PrepareRequestMedium(ex_tm, peer, ours, len, len + 64, local, 0, n),    \
                   ours, len, n);                                                                 \
        COMMIT(RequestMedium, n, pass, desc, MEDIUM_REQ + n, len, NOWHERE,                        \
               ARITY_VALUES_##n(n + 1));                                                          \
        desc = filled(gex_AM_PrepareRequestLong(ex_tm, peer, ours, len, len + 64,                 \
                                                pass / 2 ? dest : NULL, local, 0, n),             \
                      ours, len, n);                                                              \
        COMMIT(RequestLong, n, pass, desc, LONG_REQ + n, len, AT(dest), ARITY_VALUES_##n(n + 1)); \
    }
ARITY_EACH(SEND)
/* NOLINTEND(bugprone-branch-clone) */

#define CALL(n) send_##n(peer, pass);

static void send_arities(gex_Rank_t peer, unsigned pass)
{
    unsigned before = check_counted(&replies);
    ARITY_EACH(CALL)
    CHECK_WAIT(replies, before + 2 * ARITIES); /* the next pass uses the same places */
}

#define ENTRY(base, n, kind, role, function)                                                     \
    {                                                                                            \
        base + n, (gex_AM_Fn_t)function##_##n, GEX_FLAG_AM_##kind | GEX_FLAG_AM_##role, n, NULL, \
        NULL                                                                                     \
    }
#define ENTRIES(n)                                       \
    ENTRY(MEDIUM_REQ, n, MEDIUM, REQUEST, medium_req),   \
        ENTRY(MEDIUM_REP, n, MEDIUM, REPLY, medium_rep), \
        ENTRY(LONG_REQ, n, LONG, REQUEST, long_req), ENTRY(LONG_REP, n, LONG, REPLY, long_rep),

int main(int argc, char **argv)
{
    static gex_AM_Entry_t entries[] = { ARITY_EACH(ENTRIES) };
    ex_begin(&argc, &argv, 0);
    ex_register(entries, sizeof entries / sizeof entries[0]);
    my_base = ex_attach(SEGMENT_LEN);
    for (gex_Rank_t peer = 0; peer < (gex_Rank_t)check_size; peer++)
        bases[peer] = ex_base(peer);
    CHECK(bases[check_rank] == my_base, "GASNet-EX Segments: one's own address");
    ex_barrier();                                                    /* handlers reply by these */
    for (gex_Rank_t peer = 0; peer < (gex_Rank_t)check_size; peer++) /* oneself among them */
        for (unsigned pass = 0; pass < PASSES; pass++)
            send_arities(peer, pass);
    return check_end();
}
