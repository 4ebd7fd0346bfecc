/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_vis.c: GASNet-EX vector, indexed and strided access: every call, sides that are cut
 * differently, strides of either sign, empty transfers, leaf events, access regions, immediate
 * calls, and the message to a put's target.
 *
 * TESTS: gex_VIS_VectorPutBlocking gex_VIS_VectorGetBlocking gex_VIS_VectorPutNB
 * TESTS: gex_VIS_VectorGetNB gex_VIS_VectorPutNBI gex_VIS_VectorGetNBI
 * TESTS: gex_VIS_IndexedPutBlocking gex_VIS_IndexedGetBlocking gex_VIS_IndexedPutNB
 * TESTS: gex_VIS_IndexedGetNB gex_VIS_IndexedPutNBI gex_VIS_IndexedGetNBI
 * TESTS: gex_VIS_StridedPutBlocking gex_VIS_StridedGetBlocking gex_VIS_StridedPutNB
 * TESTS: gex_VIS_StridedGetNB gex_VIS_StridedPutNBI gex_VIS_StridedGetNBI
 * TESTS: gex_VIS_SetPeerCompletionHandler GEX_VIS_MAX_PEERCOMPLETION gex_Memvec_t
 * TESTS: gex_Event_QueryLeaf GEX_FLAG_ENABLE_LEAF_LC
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { LEN = 1 << 16, FORMS = 4, HANDLER = 210 };

static char source[LEN], back[LEN];

/* ---- every call in every form ---------------------------------------------------------------- */

static void done(int form, int status)
{
    CHECK_EQ(status, 0, "GASNet-EX VIS: without IMMEDIATE the int forms return 0");
    if (form == 0)
        return;
    gex_NBI_Wait(GEX_EC_GET | GEX_EC_PUT, 0);
}

static void wait_leaf(gex_Event_t event)
{
    gex_Event_Wait(gex_Event_QueryLeaf(event, GEX_EC_LC));
    memset(source, 0x55, sizeof source);
    gex_Event_Wait(event);
}

/* Forms: 0 blocking, 1 implicit, 2 with an event, 3 (puts) with a leaf. */
static void put_vector(int form, gex_Rank_t peer, size_t to_count, const gex_Memvec_t *to,
                       size_t from_count, const gex_Memvec_t *from)
{
    switch (form) {
    case 0:
        done(0, gex_VIS_VectorPutBlocking(ex_tm, peer, to_count, to, from_count, from, 0));
        break;
    case 1:
        done(1, gex_VIS_VectorPutNBI(ex_tm, peer, to_count, to, from_count, from, 0));
        break;
    case 2:
        gex_Event_Wait(gex_VIS_VectorPutNB(ex_tm, peer, to_count, to, from_count, from, 0));
        break;
    default:
        wait_leaf(gex_VIS_VectorPutNB(ex_tm, peer, to_count, to, from_count, from,
                                      GEX_FLAG_ENABLE_LEAF_LC));
    }
}

static void get_vector(int form, gex_Rank_t peer, size_t to_count, const gex_Memvec_t *to,
                       size_t from_count, const gex_Memvec_t *from)
{
    if (form == 0)
        done(0, gex_VIS_VectorGetBlocking(ex_tm, to_count, to, peer, from_count, from, 0));
    else if (form == 1)
        done(1, gex_VIS_VectorGetNBI(ex_tm, to_count, to, peer, from_count, from, 0));
    else
        gex_Event_Wait(gex_VIS_VectorGetNB(ex_tm, to_count, to, peer, from_count, from, 0));
}

static void vector(gex_Rank_t peer, char *remote, int form)
{
    const gex_Memvec_t from[] = { { source + 7, 1000 }, { NULL, 0 }, { source + 2000, 24 } };
    const gex_Memvec_t there[] = { { remote + 500, 8 },
                                   { remote + 3, 16 },
                                   { remote + 600, 1000 } };
    const gex_Memvec_t to[] = { { back + 100, 1 }, { back + 5000, 1022 }, { back + 99, 1 } };
    check_fill(source, LEN, (unsigned)form + 1);
    put_vector(form, peer, 3, there, 3, from);
    memset(back, 0, LEN);
    get_vector(form, peer, 3, to, 3, there);
    CHECK(back[100] == (char)check_byte((unsigned)form + 1, 7) &&
              back[99] == (char)check_byte((unsigned)form + 1, 2023),
          "GASNet-EX VIS: the bytes of the source, in order, become those of the destination");
    for (size_t i = 0; i < 1022; i++) {
        size_t at = i + 1 < 1000 ? 7 + i + 1 : 2000 + (i + 1 - 1000);
        CHECK_EQ((unsigned char)back[5000 + i], check_byte((unsigned)form + 1, at),
                 "GASNet-EX VIS: sides of a vector transfer are cut independently");
    }
    CHECK(check_all(back, 99, 0) && check_all(back + 101, 4899, 0) &&
              check_all(back + 6022, LEN - 6022, 0),
          "GASNet-EX VIS: a vector get writes its own bytes only");
}

static void indexed(gex_Rank_t peer, char *remote, int form)
{
    enum { PIECES = 50 };
    static const size_t lens[] = { 1, 2, 4, 8, 12, 16, 32, 64, 100 };
    for (size_t k = 0; k < sizeof lens / sizeof lens[0]; k++) {
        size_t len = lens[k];
        void *there[PIECES], *whole[1] = { source }, *two[2] = { back + 4, back + 9000 };
        for (size_t i = 0; i < PIECES; i++) /* backwards, with gaps */
            there[i] = remote + (PIECES - 1 - i) * (len + 3);
        check_fill(source, PIECES * len, (unsigned)k);
        memset(back, 0, LEN);
        if (form == 0) {
            done(0, gex_VIS_IndexedPutBlocking(ex_tm, peer, PIECES, there, len, 1, whole,
                                               PIECES * len, 0));
            done(0, gex_VIS_IndexedGetBlocking(ex_tm, 2, two, PIECES / 2 * len, peer, PIECES, there,
                                               len, 0));
        } else if (form == 1) {
            done(1,
                 gex_VIS_IndexedPutNBI(ex_tm, peer, PIECES, there, len, 1, whole, PIECES * len, 0));
            done(1, gex_VIS_IndexedGetNBI(ex_tm, 2, two, PIECES / 2 * len, peer, PIECES, there, len,
                                          0));
        } else {
            gex_Event_t event =
                gex_VIS_IndexedPutNB(ex_tm, peer, PIECES, there, len, 1, whole, PIECES * len,
                                     form == 3 ? GEX_FLAG_ENABLE_LEAF_LC : 0);
            if (form == 3)
                wait_leaf(event);
            else
                gex_Event_Wait(event);
            gex_Event_Wait(
                gex_VIS_IndexedGetNB(ex_tm, 2, two, PIECES / 2 * len, peer, PIECES, there, len, 0));
        }
        check_fill(source, PIECES * len, (unsigned)k);
        CHECK(memcmp(back + 4, source, PIECES / 2 * len) == 0 &&
                  memcmp(back + 9000, source + PIECES / 2 * len, PIECES / 2 * len) == 0,
              "GASNet-EX VIS: pieces of one length on each side, cut differently");
        CHECK(check_all(back + 4 + PIECES / 2 * len, 8000 - PIECES / 2 * len, 0),
              "GASNet-EX VIS: an indexed get writes its own bytes only");
    }
}

/* ---- strided --------------------------------------------------------------------------------- */

typedef struct box {
    ptrdiff_t there[3], here[3];
    size_t there_base, here_base;
    size_t elem_len, counts[3], levels;
} box;

static const box boxes[] = {
    { { 0 }, { 0 }, 0, 0, 100, { 0 }, 0 },                               /* one element */
    { { 64 }, { 64 }, 0, 0, 64, { 64 }, 1 },                             /* contiguous */
    { { 100 }, { 64 }, 3, 5, 64, { 64 }, 1 },                            /* scatter */
    { { 16 }, { 40 }, 0, 1, 16, { 33 }, 1 },                             /* gather */
    { { 8, 80 }, { 80, 8 }, 0, 0, 8, { 10, 10 }, 2 },                    /* transposed */
    { { -8 }, { 8 }, 800, 0, 8, { 101 }, 1 },                            /* reversed */
    { { -72, 8, 1000 }, { 4, -400, 20 }, 288, 3200, 4, { 5, 9, 7 }, 3 }, /* all of it */
    { { 1000, 3, 30 }, { 1, 7, 100 }, 1, 0, 1, { 4, 7, 9 }, 3 },
};

static void move_box(int form, gex_Rank_t peer, char *there, char *here, const box *b)
{
    const size_t *counts = b->counts, len = b->elem_len, levels = b->levels;
    if (form == 0) {
        done(0, gex_VIS_StridedPutBlocking(ex_tm, peer, there, b->there, here, b->here, len, counts,
                                           levels, 0));
    } else if (form == 1) {
        done(1, gex_VIS_StridedPutNBI(ex_tm, peer, there, b->there, here, b->here, len, counts,
                                      levels, 0));
    } else {
        gex_Event_t event =
            gex_VIS_StridedPutNB(ex_tm, peer, there, b->there, here, b->here, len, counts, levels,
                                 form == 3 ? GEX_FLAG_ENABLE_LEAF_LC : 0);
        if (form == 3)
            wait_leaf(event);
        else
            gex_Event_Wait(event);
    }
}

static void fetch_box(int form, gex_Rank_t peer, char *there, char *here, const box *b)
{
    const size_t *counts = b->counts, len = b->elem_len, levels = b->levels;
    if (form == 0)
        done(0, gex_VIS_StridedGetBlocking(ex_tm, here, b->here, peer, there, b->there, len, counts,
                                           levels, 0));
    else if (form == 1)
        done(1, gex_VIS_StridedGetNBI(ex_tm, here, b->here, peer, there, b->there, len, counts,
                                      levels, 0));
    else
        gex_Event_Wait(gex_VIS_StridedGetNB(ex_tm, here, b->here, peer, there, b->there, len,
                                            counts, levels, 0));
}

/* Whether every element of the box is the same in two memories of these strides; marks the compared
 * bytes in the first. */
static int same_elements(char *one, const ptrdiff_t *one_strides, const char *other,
                         const ptrdiff_t *other_strides, const box *b)
{
    size_t total = 1;
    for (size_t i = 0; i < b->levels; i++)
        total *= b->counts[i];
    for (size_t e = 0; e < total; e++) {
        ptrdiff_t one_at = 0, other_at = 0;
        size_t rest = e;
        for (size_t i = 0; i < b->levels; i++) {
            ptrdiff_t index = (ptrdiff_t)(rest % b->counts[i]);
            one_at += index * one_strides[i];
            other_at += index * other_strides[i];
            rest /= b->counts[i];
        }
        if (memcmp(one + one_at, other + other_at, b->elem_len) != 0)
            return 0;
        memset(one + one_at, 0, b->elem_len);
    }
    return 1;
}

static void strided(gex_Rank_t peer, char *remote, int form)
{
    static char whole[LEN];
    for (size_t k = 0; k < sizeof boxes / sizeof boxes[0]; k++) {
        const box *b = &boxes[k];
        const unsigned seed = (unsigned)(k * 7) + (unsigned)form;
        memset(whole, 0, LEN);
        gex_RMA_PutBlocking(ex_tm, peer, remote, whole, LEN, 0);
        check_fill(source, LEN, seed);
        move_box(form, peer, remote + b->there_base, source + b->here_base, b);
        gex_RMA_GetBlocking(ex_tm, whole, peer, remote, LEN, 0);
        memset(back, 0, LEN);
        fetch_box(form, peer, remote + b->there_base, back + b->here_base, b);
        check_fill(source, LEN, seed);
        CHECK(same_elements(whole + b->there_base, b->there, source + b->here_base, b->here, b),
              "GASNet-EX VIS: a strided put moves each element to its place");
        CHECK(check_all(whole, LEN, 0), "GASNet-EX VIS: ... and writes nothing else");
        CHECK(same_elements(back + b->here_base, b->here, source + b->here_base, b->here, b),
              "GASNet-EX VIS: a strided get moves each element to its place");
        CHECK(check_all(back, LEN, 0), "GASNet-EX VIS: ... and writes nothing else");
    }
}

/* One element, read many times. */
static void zero_strides(gex_Rank_t peer, char *remote)
{
    const ptrdiff_t still[] = { 0 }, on[] = { 8 };
    const size_t counts[] = { 100 };
    check_fill(source, 8, 9);
    gex_VIS_StridedPutBlocking(ex_tm, peer, remote, on, source, still, 8, counts, 1, 0);
    gex_RMA_GetBlocking(ex_tm, back, peer, remote, 800, 0);
    for (int i = 0; i < 100; i++)
        CHECK(memcmp(back + 8 * i, source, 8) == 0,
              "GASNet-EX VIS: the stride of a source may be 0: sources may overlap");
}

/* ---- empty transfers, regions, immediate calls ----------------------------------------------- */

static void empty(gex_Rank_t peer, char *remote)
{
    static const char rule[] = "GASNet-EX VIS: nothing to move is legal and done";
    const gex_Memvec_t none[] = { { NULL, 0 }, { remote, 0 } };
    const ptrdiff_t strides[] = { 8, 8 };
    const size_t counts[] = { 3, 0 };
    void *places[] = { remote };
    CHECK_EQ(gex_VIS_VectorPutBlocking(ex_tm, peer, 2, none, 0, NULL, 0), 0, rule);
    gex_Event_t event = gex_VIS_VectorGetNB(ex_tm, 0, NULL, peer, 0, NULL, 0);
    CHECK_EQ(gex_Event_Test(event), GASNET_OK, rule);
    event = gex_VIS_IndexedPutNB(ex_tm, peer, 1, places, 0, 0, NULL, 8, 0);
    CHECK_EQ(gex_Event_Test(event), GASNET_OK, rule);
    event = gex_VIS_StridedGetNB(ex_tm, back, strides, peer, remote, strides, 8, counts, 2, 0);
    CHECK_EQ(gex_Event_Test(event), GASNET_OK, rule);
    CHECK_EQ(gex_VIS_StridedPutNBI(ex_tm, peer, remote, strides, source, strides, 0, counts, 1, 0),
             0, rule);
    gex_NBI_Wait(GEX_EC_PUT, 0);
}

static void access_region(gex_Rank_t peer, char *remote)
{
    const ptrdiff_t near_strides[] = { 8 }, far_strides[] = { 24 };
    const size_t counts[] = { 100 };
    check_fill(source, 2400, 3);
    memset(back, 0, LEN);
    gex_NBI_BeginAccessRegion(0);
    gex_VIS_StridedPutNBI(ex_tm, peer, remote, far_strides, source, near_strides, 8, counts, 1, 0);
    gex_Event_Wait(gex_VIS_StridedPutNB(ex_tm, peer, remote + 8, far_strides, source + 800,
                                        near_strides, 8, counts, 1, 0));
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    for (int which = 0; which < 2; which++) {
        gex_VIS_StridedGetBlocking(ex_tm, back, near_strides, peer, remote + 8 * which, far_strides,
                                   8, counts, 1, 0);
        CHECK(memcmp(back, source + 800 * which, 800) == 0,
              "GASNet-EX VIS: implicit operations count in the access region");
    }
}

static void immediate(gex_Rank_t peer, char *remote)
{
    const ptrdiff_t near_strides[] = { 32 }, far_strides[] = { 56 };
    const size_t counts[] = { 300 };
    for (unsigned i = 0; i < 20; i++) {
        check_fill(source, 9600, i);
        while (gex_VIS_StridedPutBlocking(ex_tm, peer, remote, far_strides, source, near_strides,
                                          32, counts, 1, GEX_FLAG_IMMEDIATE) != 0)
            gasnet_AMPoll();
        gex_Event_t event;
        while ((event = gex_VIS_StridedGetNB(ex_tm, back, near_strides, peer, remote, far_strides,
                                             32, counts, 1, GEX_FLAG_IMMEDIATE)) == GEX_EVENT_NO_OP)
            gasnet_AMPoll();
        gex_Event_Wait(event);
        CHECK(check_filled(back, 9600, i), "GASNet-EX VIS: an immediate call does all or nothing");
    }
}

/* ---- telling the target ---------------------------------------------------------------------- */

static check_count arrivals;
static int tells;
static char *mine;

static void arrived(gex_Token_t token, void *payload, size_t len)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_ALL);
    const unsigned seed = info.gex_srcrank + 50;
    CHECK(!info.gex_is_req && !info.gex_is_long && info.gex_entry->gex_index == HANDLER,
          "GASNet-EX VIS: the peer completion handler runs as for a Medium reply");
    CHECK((uintptr_t)payload % 16 == 0, "GASNet-EX AM: a payload is aligned for any type");
    CHECK(len == GEX_VIS_MAX_PEERCOMPLETION && check_filled(payload, len, seed),
          "GASNet-EX VIS: the peer completion handler gets its payload");
    for (int i = 0; i < 100; i++)
        for (size_t k = 0; k < 8; k++)
            CHECK_EQ((unsigned char)mine[24 * i + (int)k], check_byte(seed, (size_t)i * 8 + k),
                     "GASNet-EX VIS: ... when all of the put has arrived");
    check_add(&arrivals, 1);
}

static void tell_target(gex_Rank_t peer, char *remote)
{
    const ptrdiff_t near_strides[] = { 8 }, far_strides[] = { 24 };
    const size_t counts[] = { 100 };
    char payload[GEX_VIS_MAX_PEERCOMPLETION];
    const unsigned seed = (unsigned)check_rank + 50;
    check_fill(payload, sizeof payload, seed);
    check_fill(source, 800, seed);
    gex_VIS_SetPeerCompletionHandler(HANDLER, payload, sizeof payload, 0);
    memset(payload, 0, sizeof payload);
    gex_Event_Wait(gex_VIS_StridedPutNB(ex_tm, peer, remote, far_strides, source, near_strides, 8,
                                        counts, 1, 0));
    const int told = ++tells;
    CHECK_WAIT(arrivals, told);
    ex_barrier();
    gex_VIS_StridedPutBlocking(ex_tm, peer, remote, far_strides, source, near_strides, 8, counts, 1,
                               0);
    ex_barrier();
    CHECK_EQ(check_counted(&arrivals), told, "GASNet-EX VIS: ... once, for the next put");
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    gex_AM_Entry_t entries[] = { { HANDLER, (gex_AM_Fn_t)arrived,
                                   GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0, NULL, NULL } };
    ex_register(entries, 1);
    mine = ex_attach(LEN);
    for (unsigned step = 0; step < 2; step++) { /* oneself, then the neighbour */
        gex_Rank_t peer = check_next(step);
        char *remote = ex_base(peer);
        for (int form = 0; form < FORMS; form++) {
            vector(peer, remote, form);
            indexed(peer, remote, form);
            strided(peer, remote, form);
        }
        zero_strides(peer, remote);
        empty(peer, remote);
        access_region(peer, remote);
        immediate(peer, remote);
        ex_barrier();
    }
    tell_target(check_next(1), ex_base(check_next(1)));
    ex_barrier();
    tell_target((gex_Rank_t)check_rank, mine);
    return check_end();
}
