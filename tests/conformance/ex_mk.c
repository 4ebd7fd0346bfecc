/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_mk.c: GASNet-EX memory kinds: segments on a device, here the stand-in, whose addresses no rank
 * can load from; puts and gets of every form and size between devices and hosts of every two ranks;
 * kinds that cannot be had.
 *
 * TESTS: gex_MK_Create gex_MK_Destroy gex_MK_QueryClient gex_MK_QueryFlags gex_MK_QueryClass
 * TESTS: gex_MK_SetCData gex_MK_QueryCData gex_Segment_Create gex_EP_BindSegment
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

#include <gasnet_mk.h>
#include <gasnet_vis.h>

/* Endpoints: the primordial one on host memory, one on host memory too, and two devices. */
enum { HOST = 1, HIP = 2, CUDA = 3, EPS = 4, LEN = 1 << 20, EDGE = 64, SLOT = LEN + 2 * EDGE };

static const size_t lengths[] = { 1, 2, 4, 8, 17, 1000, 4095, 65537, LEN };
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static gex_MK_t hip, cuda;
static gex_EP_t eps[EPS];
static gex_Segment_t segments[EPS];
static char *host; /* ordinary memory for patterns */

/* ---- kinds ----------------------------------------------------------------------------------- */

static gex_MK_t make_kind(gex_MK_Class_t class_of)
{
    gex_MK_Create_args_t args;
    gex_MK_t kind = GEX_MK_INVALID;
    memset(&args, 0, sizeof args);
    args.gex_class = class_of;
    CHECK_EQ(gex_MK_Create(&kind, ex_client, &args, 0), GASNET_OK,
             "GASNet-EX Memory Kinds: gex_MK_Create");
    CHECK(gex_MK_QueryClass(kind) == class_of && gex_MK_QueryClient(kind) == ex_client &&
              gex_MK_QueryFlags(kind) == 0 && gex_MK_QueryCData(kind) == NULL,
          "GASNet-EX Memory Kinds: what a new kind answers");
    gex_MK_SetCData(kind, &args);
    CHECK(gex_MK_QueryCData(kind) == &args, "GASNet-EX CData: what was set");
    return kind;
}

static void host_kind(void)
{
    CHECK(gex_MK_QueryClass(GEX_MK_HOST) == GEX_MK_CLASS_HOST &&
              gex_MK_QueryClient(GEX_MK_HOST) == ex_client && gex_MK_QueryFlags(GEX_MK_HOST) == 0 &&
              gex_MK_QueryCData(GEX_MK_HOST) == NULL,
          "GASNet-EX Memory Kinds: host memory is a kind");
    gex_MK_SetCData(GEX_MK_HOST, &host);
    CHECK(gex_MK_QueryCData(GEX_MK_HOST) == &host, "GASNet-EX CData: what was set");
}

static void refused_kinds(void)
{
    gex_MK_Create_args_t args;
    gex_MK_t kind = GEX_MK_INVALID;
    gex_Segment_t segment = GEX_SEGMENT_INVALID;
    memset(&args, 0, sizeof args);
    args.gex_class = GEX_MK_CLASS_HIP;
    gex_System_SetVerboseErrors(0);
    CHECK_EQ(gex_MK_Create(&kind, ex_client, NULL, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Memory Kinds: arguments are needed");
    CHECK_EQ(gex_MK_Create(&kind, ex_client, &args, 1), GASNET_ERR_BAD_ARG,
             "GASNet-EX Memory Kinds: there are no flags");
    args.gex_args.gex_class_hip.gex_hipDevice = -1;
    CHECK_EQ(gex_MK_Create(&kind, ex_client, &args, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Memory Kinds: a device that is there");
    args.gex_class = GEX_MK_CLASS_HOST;
    CHECK_EQ(gex_MK_Create(&kind, ex_client, &args, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Memory Kinds: GEX_MK_HOST is not made");
    CHECK_EQ(gex_Segment_Create(&segment, ex_client, host, 10, hip, 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Segments: host memory is no device memory");
    CHECK_EQ(gex_EP_BindSegment(ex_ep, segments[HIP], 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: the primordial one is for host memory");
    CHECK_EQ(gex_EP_BindSegment(eps[HIP], segments[CUDA], 0), GASNET_ERR_BAD_ARG,
             "GASNet-EX Endpoints: binding is once");
    CHECK(kind == GEX_MK_INVALID && segment == GEX_SEGMENT_INVALID,
          "GASNet-EX Memory Kinds: an error has no result");
    gex_System_SetVerboseErrors(1);
    /* A kind, and a segment on it, that come and go. */
    kind = make_kind(GEX_MK_CLASS_ZE);
    CHECK_EQ(gex_Segment_Create(&segment, ex_client, NULL, 1000, kind, 0), GASNET_OK,
             "GASNet-EX Segments: on a device");
    gex_Segment_Destroy(segment, 0);
    gex_MK_Destroy(kind, 0);
}

static void make_endpoints(void)
{
    hip = make_kind(GEX_MK_CLASS_HIP);
    cuda = make_kind(GEX_MK_CLASS_CUDA_UVA);
    const gex_EP_Capabilities_t capabilities = GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_VIS;
    const gex_MK_t kinds[EPS] = { GEX_MK_HOST, GEX_MK_HOST, hip, cuda };
    eps[0] = ex_ep;
    for (int i = 0; i < EPS; i++) {
        if (i != 0)
            CHECK_EQ(gex_EP_Create(&eps[i], ex_client, capabilities, 0), GASNET_OK,
                     "GASNet-EX Endpoints: gex_EP_Create");
        uintptr_t len = (uintptr_t)SLOT * (unsigned)(check_size + 1);
        CHECK_EQ(gex_Segment_Create(&segments[i], ex_client, NULL, len, kinds[i], 0), GASNET_OK,
                 "GASNet-EX Segments: on every kind");
        CHECK_EQ(gex_EP_BindSegment(eps[i], segments[i], 0), GASNET_OK,
                 "GASNet-EX Endpoints: gex_EP_BindSegment");
    }
}

/* Bytes that also differ from block to block, to notice pieces in the wrong place. */
enum { BLOCK = 4096 };

static void fill(char *to, size_t len, unsigned seed)
{
    for (size_t at = 0; at < len; at += BLOCK)
        check_fill(to + at, len - at < BLOCK ? len - at : BLOCK, seed + (unsigned)(at / BLOCK));
}

static int filled(const char *from, size_t len, unsigned seed)
{
    for (size_t at = 0; at < len; at += BLOCK)
        if (!check_filled(from + at, len - at < BLOCK ? len - at : BLOCK,
                          seed + (unsigned)(at / BLOCK)))
            return 0;
    return 1;
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Our part of a rank's segment: each rank has one in each, its own has one more, for its side. */
static char *part_of(int index, gex_Rank_t rank, int part)
{
    void *base = NULL, *local = &base;
    uintptr_t len = 0;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(gex_TM_Pair(ex_ep, (gex_EP_Index_t)index), rank,
                                              &base, &local, &len, 0));
    CHECK(base != NULL && len >= SLOT, "GASNet-EX Endpoints: a segment on a device can be found");
    CHECK(index < HIP || local == NULL,
          "GASNet-EX Endpoints: device memory is nowhere to be loaded from");
    return (char *)base + (size_t)part * SLOT;
}

/* Between our own memory of an endpoint and ordinary memory. */
static void load(int index, char *to, const char *from, size_t len)
{
    gex_RMA_GetBlocking(gex_TM_Pair(ex_ep, (gex_EP_Index_t)index), to, (gex_Rank_t)check_rank,
                        (void *)(uintptr_t)from, len, 0);
}

static void store(int index, char *to, const char *from, size_t len)
{
    gex_RMA_PutBlocking(gex_TM_Pair(ex_ep, (gex_EP_Index_t)index), (gex_Rank_t)check_rank, to, from,
                        len, 0);
}

static void put_by(int form, gex_TM_t pair, gex_Rank_t peer, char *to, char *from, size_t len)
{
    gex_Event_t leaf = GEX_EVENT_INVALID;
    switch (form % 3) {
    case 0:
        gex_RMA_PutBlocking(pair, peer, to, from, len, 0);
        break;
    case 1: {
        gex_Event_t event = gex_RMA_PutNB(pair, peer, to, from, len, &leaf, 0);
        gex_Event_Wait(leaf);
        gex_Event_Wait(event);
        break;
    }
    default:
        gex_RMA_PutNBI(pair, peer, to, from, len, GEX_EVENT_NOW, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
    }
}

static void get_by(int form, gex_TM_t pair, gex_Rank_t peer, char *to, char *from, size_t len)
{
    switch (form % 3) {
    case 0:
        gex_RMA_GetBlocking(pair, to, peer, from, len, 0);
        break;
    case 1:
        gex_Event_Wait(gex_RMA_GetNB(pair, to, peer, from, len, 0));
        break;
    default:
        gex_RMA_GetNBI(pair, to, peer, from, len, 0);
        gex_NBI_Wait(GEX_EC_GET, 0);
    }
}

/* There and back, at odd addresses; the bytes around it stay unchanged. */
static void one_length(gex_Rank_t peer, int local, int remote, size_t len, int form)
{
    gex_TM_t pair = gex_TM_Pair(eps[local], (gex_EP_Index_t)remote);
    char *mine = part_of(local, (gex_Rank_t)check_rank, check_size);
    char *theirs = part_of(remote, peer, check_rank);
    unsigned seed = (unsigned)(len + (size_t)form);
    memset(host, 0, len + EDGE);
    fill(host + 7, len, seed);
    store(local, mine, host, len + EDGE);
    put_by(form, pair, peer, theirs + 13, mine + 7, len);
    memset(host, 0x77, len + EDGE);
    store(local, mine, host, len + EDGE);
    get_by(form, pair, peer, mine + 3, theirs + 13, len);
    memset(host, 0, len + EDGE);
    load(local, host, mine, len + EDGE);
    CHECK(check_all(host, 3, 0x77) && check_all(host + 3 + len, EDGE - 3, 0x77),
          "GASNet-EX Memory Kinds: nothing but what was moved");
    CHECK(filled(host + 3, len, seed),
          "GASNet-EX Memory Kinds: bytes arrive wherever both sides are");
    if (len <= 8 && remote >= HIP) {
        gex_RMA_Value_t value = gex_RMA_GetBlockingVal(pair, peer, theirs + 13, len, 0);
        CHECK(memcmp(&value, host + 3, len) == 0, "GASNet-EX Memory Kinds: a value from a device");
        gex_RMA_PutBlockingVal(pair, peer, theirs + 13, value + 1, len, 0);
        CHECK((unsigned char)gex_RMA_GetBlockingVal(pair, peer, theirs + 13, 1, 0) ==
                  (unsigned char)(value + 1),
              "GASNet-EX Memory Kinds: a value to a device");
    }
}

enum { ROWS = 20, ROW = 48, PITCH = 101 };

static void in_pieces(gex_Rank_t peer, int local, int remote)
{
    static const ptrdiff_t wide[] = { PITCH }, tight[] = { ROW };
    static const size_t counts[] = { ROWS };
    gex_TM_t pair = gex_TM_Pair(eps[local], (gex_EP_Index_t)remote);
    char *mine = part_of(local, (gex_Rank_t)check_rank, check_size);
    char *theirs = part_of(remote, peer, check_rank);
    unsigned seed = (unsigned)(local * 10 + remote);
    check_fill(host, (size_t)ROWS * ROW, seed);
    store(local, mine, host, (size_t)ROWS * ROW);
    gex_Event_Wait(
        gex_VIS_StridedPutNB(pair, peer, theirs + 5, wide, mine, tight, ROW, counts, 1, 0));
    memset(host, 0, (size_t)ROWS * ROW);
    store(local, mine, host, (size_t)ROWS * ROW);
    gex_Memvec_t to = { mine, (size_t)ROWS * ROW }, from[ROWS];
    for (int row = 0; row < ROWS; row++) {
        from[row].gex_addr = theirs + 5 + row * PITCH;
        from[row].gex_len = ROW;
    }
    gex_VIS_VectorGetBlocking(pair, 1, &to, peer, ROWS, from, 0);
    load(local, host, mine, (size_t)ROWS * ROW);
    CHECK(check_filled(host, (size_t)ROWS * ROW, seed),
          "GASNet-EX Memory Kinds: pieces arrive wherever both sides are");
}

/* The peer's device, after all have put there: what its owner sees. */
static void seen_by_owner(void)
{
    gex_Rank_t next = check_next(1);
    int previous = (int)check_previous(1);
    check_fill(host, 5000, (unsigned)check_rank);
    gex_RMA_PutBlocking(gex_TM_Pair(ex_ep, CUDA), next, part_of(CUDA, next, check_rank) + 1, host,
                        5000, 0);
    ex_barrier();
    load(CUDA, host, part_of(CUDA, (gex_Rank_t)check_rank, previous) + 1, 5000);
    CHECK(check_filled(host, 5000, (unsigned)previous),
          "GASNet-EX Memory Kinds: the owner sees what was put");
    ex_barrier();
}

/* One message of each length is sent, not one for each pair of kinds and peer. */
static int worthwhile(size_t len, int step) { return len < 70000 || step == 1 || check_size == 1; }

int main(int argc, char **argv)
{
    if (setenv("PENSTOCK_DEVICE", "standin", 1) != 0)
        return 1;
    ex_begin(&argc, &argv, 0);
    host = (char *)malloc(SLOT);
    CHECK(host != NULL, "there is memory for a pattern");
    host_kind();
    make_endpoints();
    refused_kinds();
    CHECK_EQ(gex_EP_PublishBoundSegment(ex_tm, eps, EPS, 0), GASNET_OK,
             "GASNet-EX Endpoints: publish");
    int form = 0;
    for (int step = 0; step < check_size && step < 3; step++)
        for (int local = HOST; local < EPS; local++)
            for (int remote = HOST; remote < EPS; remote++) {
                gex_Rank_t peer = check_next((unsigned)step);
                for (int i = 0; i < LENGTHS; i++, form++)
                    if (worthwhile(lengths[i], step))
                        one_length(peer, local, remote, lengths[i], form);
                in_pieces(peer, local, remote);
            }
    ex_barrier();
    seen_by_owner();
    free(host);
    return check_end();
}
