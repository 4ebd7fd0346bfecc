/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_endpoint.c: GASNet-EX endpoints: 33 of a process, each with a segment of its own, half of them
 * in the client's memory, made known in parts; every rank puts to and gets from each of them over
 * pairs with several of its own endpoints. What cannot be made, bound and published.
 *
 * TESTS: gex_EP_Create gex_EP_BindSegment gex_EP_PublishBoundSegment gex_EP_QueryIndex
 * TESTS: gex_EP_QueryClient gex_EP_QueryFlags gex_EP_QuerySegment gex_EP_SetCData gex_EP_QueryCData
 * TESTS: gex_EP_QueryBoundSegmentNB gex_TM_Pair gex_Segment_Create gex_Segment_Destroy
 * GASNET_MAXEPS
 */
#include <gasnet.h>
#include <gasnet_mk.h>

#include "conformance/check.h"
#include "conformance/ex.h"

#include <gasnet_vis.h>

enum { EPS = 33, LOCALS = 3, PART = 600, ROWS = 10, UNBOUND = EPS };

#if GASNET_MAXEPS <= 33
#    error GASNet-EX Endpoints: clients rely on 33 endpoints
#endif

static gex_EP_t eps[EPS + 1]; /* and one that is never bound */
static gex_Segment_t segments[EPS];
static const gex_EP_Index_t locals[LOCALS] = { 0, 7, 32 };

/* Each rank has a part of each segment for each of a peer's local endpoints, at an odd address. */
static size_t part_at(int writer, int local_i)
{
    return ((size_t)writer * LOCALS + (size_t)local_i) * (PART + 8) + 3;
}

static uintptr_t segment_len(int rank, int index)
{
    return part_at(check_size, 0) + (uintptr_t)(rank * 100 + index * 16 + 1);
}

static unsigned seed_of(int writer, int owner, int index, int local_i)
{
    return (unsigned)(writer * 7 + owner * 31 + index * 3 + local_i * 101);
}

/* ---- making and binding ---------------------------------------------------------------------- */

static void make(int index)
{
    CHECK_EQ(gex_EP_Create(&eps[index], ex_client, GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_VIS,
                           GEX_FLAG_HINT_ACCEL_AD),
             GASNET_OK, "GASNet-EX Endpoints: gex_EP_Create");
    CHECK_EQ(gex_EP_QueryIndex(eps[index]), index,
             "GASNet-EX Endpoints: numbers follow one another");
    CHECK(gex_EP_QueryClient(eps[index]) == ex_client &&
              gex_EP_QueryFlags(eps[index]) == GEX_FLAG_HINT_ACCEL_AD &&
              gex_EP_QuerySegment(eps[index]) == GEX_SEGMENT_INVALID,
          "GASNet-EX Endpoints: what a new endpoint answers");
    CHECK(gex_EP_QueryCData(eps[index]) == NULL, "GASNet-EX CData: initially NULL");
    gex_EP_SetCData(eps[index], &eps[index]);
    CHECK(gex_EP_QueryCData(eps[index]) == &eps[index], "GASNet-EX CData: what was set");
}

static void bind(int index)
{
    uintptr_t len = segment_len(check_rank, index);
    void *own = index % 2 != 0 ? malloc(len) : NULL;
    CHECK_EQ(gex_Segment_Create(&segments[index], ex_client, own, len, GEX_MK_HOST, 0), GASNET_OK,
             "GASNet-EX Segments: many segments of one process");
    memset(gex_Segment_QueryAddr(segments[index]), 0xa5, len);
    CHECK_EQ(gex_EP_BindSegment(eps[index], segments[index], 0), GASNET_OK,
             "GASNet-EX Endpoints: gex_EP_BindSegment");
    CHECK(gex_EP_QuerySegment(eps[index]) == segments[index],
          "GASNet-EX Endpoints: the bound segment");
}

static void refuse_absent_kinds(void)
{
    static const gex_MK_Class_t absent[] = { GEX_MK_CLASS_CUDA_UVA, GEX_MK_CLASS_HIP,
                                             GEX_MK_CLASS_ZE };
    for (unsigned i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        gex_MK_t kind = GEX_MK_INVALID;
        gex_MK_Create_args_t args = { .gex_class = absent[i] };
        CHECK_EQ(gex_MK_Create(&kind, ex_client, &args, 0), GASNET_ERR_BAD_ARG,
                 "GASNet-EX Memory Kinds: a class that this job lacks");
        CHECK(kind == GEX_MK_INVALID, "GASNet-EX Memory Kinds: an error has no result");
    }
}

static void refuse(void)
{
    gex_EP_t none = GEX_EP_INVALID;
    gex_Segment_t other = GEX_SEGMENT_INVALID;
    gex_TM_t pair = gex_TM_Pair(ex_ep, 0);
    gex_System_SetVerboseErrors(0);
    CHECK_EQ(gex_EP_Create(&none, ex_client, 0, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: an endpoint can do something");
    CHECK_EQ(gex_EP_Create(&none, ex_client, 1u << 20, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: capabilities exist");
    CHECK_EQ(gex_EP_Create(&none, ex_client, GEX_EP_CAPABILITY_RMA, 1u << 20), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: flags exist");
    CHECK_EQ(gex_EP_Create(&none, GEX_CLIENT_INVALID, GEX_EP_CAPABILITY_RMA, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: a client is needed");
    CHECK_EQ(gex_EP_Create(&none, ex_client, GEX_EP_CAPABILITY_ALL, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: active messages are the primordial one's");
    CHECK(none == GEX_EP_INVALID, "GASNet-EX Endpoints: an error has no result");
    refuse_absent_kinds();
    CHECK_EQ(gex_Segment_Create(&other, ex_client, NULL, 4096, GEX_MK_HOST, 0), GASNET_OK,
             "GASNet-EX Segments: gex_Segment_Create");
    CHECK_EQ(gex_EP_BindSegment(eps[5], other, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: binding is once");
    CHECK_EQ(gex_EP_BindSegment(eps[UNBOUND], other, 1), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: binding takes no flags");
    CHECK_EQ(gex_EP_BindSegment(eps[UNBOUND], GEX_SEGMENT_INVALID, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: a segment is needed");
    CHECK_EQ(gex_EP_PublishBoundSegment(pair, &ex_ep, 1, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: a pair is no team");
    CHECK_EQ(gex_EP_PublishBoundSegment(ex_tm, &none, 1, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: every entry is an endpoint");
    CHECK_EQ(gex_EP_PublishBoundSegment(ex_tm, NULL, 1, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: the list is needed");
    gex_System_SetVerboseErrors(1);
    gex_Segment_Destroy(other, 0);
}

/* In three parts, the second of which has nothing on odd ranks, whose third has it; and all of it
 * once more. */
static void publish(void)
{
    int odd = check_rank % 2;
    CHECK_EQ(gex_EP_PublishBoundSegment(ex_tm, NULL, 0, 0), GASNET_OK,
             "GASNet-EX Endpoints: nobody has anything to publish");
    CHECK_EQ(gex_EP_PublishBoundSegment(ex_tm, eps, 10, 0), GASNET_OK,
             "GASNet-EX Endpoints: some are published");
    CHECK_EQ(gex_EP_PublishBoundSegment(ex_tm, eps + 10, odd ? 0 : 5, 0), GASNET_OK,
             "GASNet-EX Endpoints: the number differs between ranks");
    CHECK_EQ(gex_EP_PublishBoundSegment(ex_tm, eps + (odd ? 10 : 15),
                                        (size_t)(EPS + 1 - (odd ? 10 : 15)), 0),
             GASNET_OK, "GASNet-EX Endpoints: unbound ones may be among them");
    CHECK_EQ(gex_EP_PublishBoundSegment(ex_tm, eps, EPS, 0), GASNET_OK,
             "GASNet-EX Endpoints: publishing may be repeated");
}

/* ---- using ----------------------------------------------------------------------------------- */

static char *query(gex_TM_t pair, gex_Rank_t peer, int index)
{
    void *owner = NULL, *local = &owner;
    uintptr_t len = 77;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, peer, &owner, &local, &len, 0));
    if (index == UNBOUND) {
        CHECK_EQ(len, 0, "GASNet-EX Endpoints: the length of no segment");
        return NULL;
    }
    CHECK_EQ(len, segment_len((int)peer, index), "GASNet-EX Endpoints: the length of a segment");
    if ((int)peer == check_rank)
        CHECK(owner == gex_Segment_QueryAddr(segments[index]) && local == owner,
              "GASNet-EX Endpoints: one's own segment is where it is");
    else if (local != NULL)
        CHECK(((volatile unsigned char *)local)[len - 1] == 0xa5,
              "GASNet-EX Endpoints: the local address shows the peer's memory");
    return (char *)owner;
}

static void put_by(int form, gex_TM_t pair, gex_Rank_t peer, char *dest, const char *source)
{
    static const ptrdiff_t strides[] = { PART / ROWS };
    static const size_t counts[] = { ROWS };
    gex_Event_t leaf = GEX_EVENT_INVALID;
    switch (form % 4) {
    case 0:
        gex_RMA_PutBlocking(pair, peer, dest, source, PART, 0);
        break;
    case 1: {
        gex_Event_t event = gex_RMA_PutNB(pair, peer, dest, source, PART, &leaf, 0);
        gex_Event_Wait(leaf);
        gex_Event_Wait(event);
        break;
    }
    case 2:
        gex_RMA_PutNBI(pair, peer, dest, source, PART, GEX_EVENT_DEFER, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        break;
    default:
        gex_VIS_StridedPutBlocking(pair, peer, dest, strides, source, strides, PART / ROWS, counts,
                                   1, 0);
    }
}

static void get_by(int form, gex_TM_t pair, gex_Rank_t peer, char *dest, char *source)
{
    const gex_Memvec_t to = { dest, PART }, from = { source, PART };
    switch (form % 4) {
    case 0:
        gex_RMA_GetBlocking(pair, dest, peer, source, PART, 0);
        break;
    case 1:
        gex_Event_Wait(gex_RMA_GetNB(pair, dest, peer, source, PART, 0));
        break;
    case 2:
        gex_RMA_GetNBI(pair, dest, peer, source, PART, 0);
        gex_NBI_Wait(GEX_EC_GET, 0);
        break;
    default:
        gex_Event_Wait(gex_VIS_VectorGetNB(pair, 1, &to, peer, 1, &from, 0));
    }
}

static void use(gex_Rank_t peer, int index, int local_i)
{
    gex_TM_t pair = gex_TM_Pair(eps[locals[local_i]], (gex_EP_Index_t)index);
    CHECK(pair == gex_TM_Pair(eps[locals[local_i]], (gex_EP_Index_t)index),
          "GASNet-EX Teams: a pair is the same each time");
    char source[PART], back[PART];
    unsigned seed = seed_of(check_rank, (int)peer, index, local_i);
    char *remote = query(pair, peer, index);
    char *part = remote + part_at(check_rank, local_i);
    int form = index + local_i + check_rank;
    check_fill(source, PART, seed);
    put_by(form, pair, peer, part, source);
    get_by(form + 1, pair, peer, back, part);
    CHECK(check_filled(back, PART, seed), "GASNet-EX RMA: over a pair of endpoints");
    gex_RMA_Value_t value = gex_RMA_GetBlockingVal(pair, peer, part, 4, 0);
    CHECK(memcmp(&value, source, 4) == 0, "GASNet-EX RMA: a value over a pair of endpoints");
    gex_RMA_PutBlockingVal(pair, peer, part, value, 4, 0);
}

/* Checks the data that all ranks put here. */
static void verify(int index)
{
    const char *base = (const char *)gex_Segment_QueryAddr(segments[index]);
    uintptr_t len = segment_len(check_rank, index);
    for (int writer = 0; writer < check_size; writer++)
        for (int local_i = 0; local_i < LOCALS; local_i++)
            CHECK(check_filled(base + part_at(writer, local_i), PART,
                               seed_of(writer, check_rank, index, local_i)),
                  "GASNet-EX RMA: each segment has what was put there");
    CHECK(check_all(base, 3, 0xa5) &&
              check_all(base + part_at(check_size, 0) - 8, len - part_at(check_size, 0) + 8, 0xa5),
          "GASNet-EX RMA: and nothing else");
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    eps[0] = ex_ep;
    for (int index = 1; index <= EPS; index++)
        make(index);
    for (int index = 0; index < EPS; index++)
        bind(index);
    refuse();
    publish();
    for (int step = 0; step < check_size; step++) {
        gex_Rank_t peer = check_next((unsigned)step);
        for (int index = 0; index < EPS; index++)
            for (int local_i = 0; local_i < LOCALS; local_i++)
                use(peer, index, local_i);
        (void)query(gex_TM_Pair(ex_ep, UNBOUND), peer, UNBOUND);
    }
    ex_barrier();
    for (int index = 0; index < EPS; index++)
        verify(index);
    ex_barrier();
    return check_end();
}
