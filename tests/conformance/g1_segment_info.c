/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_segment_info.c: GASNet-1 Core, job environment: the table of segments and the table of nodes;
 * every byte of a segment belongs to its rank and can be reached by all ranks.
 *
 * TESTS: gasnet_getSegmentInfo gasnet_getNodeInfo gasnet_seginfo_t gasnet_nodeinfo_t
 * TESTS: gasnet_getMaxLocalSegmentSize gasnet_getMaxGlobalSegmentSize
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

enum { PAGES = 16 };

static void check_nodes(void)
{
    gasnet_nodeinfo_t *nodes = (gasnet_nodeinfo_t *)calloc((size_t)check_size, sizeof(*nodes));
    gasnet_nodeinfo_t only_first;
    CHECK(nodes != NULL, "the system gives us memory");
    CHECK_EQ(gasnet_getNodeInfo(nodes, check_size), GASNET_OK,
             "GASNet-1 Core, job environment: getNodeInfo succeeds");
    for (int rank = 0; rank < check_size; rank++) {
        CHECK(nodes[rank].host < (unsigned)check_size &&
                  nodes[rank].supernode < (unsigned)check_size,
              "GASNet-1 Core, job environment: hosts and supernodes are numbered from 0");
        for (int other = 0; other < rank; other++)
            if (nodes[rank].supernode == nodes[other].supernode)
                CHECK_EQ(nodes[rank].host, nodes[other].host,
                         "GASNet-1 Core, job environment: a supernode lies within one host");
    }
    CHECK_EQ(gasnet_getNodeInfo(&only_first, 1), GASNET_OK,
             "GASNet-1 Core, job environment: a part of the node table can be had");
    CHECK_EQ(only_first.host, nodes[0].host,
             "GASNet-1 Core, job environment: the part is the beginning");
    free(nodes);
}

static void check_segments(uintptr_t len)
{
    gasnet_seginfo_t first = { NULL, 0 };
    for (int rank = 0; rank < check_size; rank++) {
        CHECK(g1_segments[rank].addr != NULL, "GASNet-1 Core, segments: every rank has one");
        CHECK((uintptr_t)g1_segments[rank].addr % GASNET_PAGESIZE == 0,
              "GASNet-1 Core, segments: they begin at a page");
        CHECK_EQ(g1_segments[rank].size, len, "GASNet-1 Core, segments: of the size asked for");
        if (GASNET_ALIGNED_SEGMENTS)
            CHECK(g1_segments[rank].addr == g1_segments[0].addr,
                  "GASNet-1 Core, segments: aligned if that is promised");
    }
    CHECK_EQ(gasnet_getSegmentInfo(&first, 1), GASNET_OK,
             "GASNet-1 Core, job environment: a part of the segment table can be had");
    CHECK(first.addr == g1_segments[0].addr && first.size == g1_segments[0].size,
          "GASNet-1 Core, job environment: the part is the beginning");
}

/* Our own segment is ordinary memory, from the first byte to the last; peers see what we store. */
static void check_bytes(uintptr_t len)
{
    const unsigned to = check_next(1);
    char *copy = (char *)malloc(len);
    CHECK(copy != NULL, "the system gives us memory");
    check_fill(g1_mine(0), len, (unsigned)check_rank);
    check_barrier();
    gasnet_get_bulk(copy, to, g1_at(to, 0), len);
    CHECK(check_filled(copy, len, to), "GASNet-1 Core, segments: every byte can be reached");
    check_barrier();
    const char last = 'z';
    gasnet_put(to, g1_at(to, len - 1), (void *)(uintptr_t)&last, 1);
    check_barrier();
    CHECK_EQ(*g1_mine(len - 1), 'z', "GASNet-1 Core, segments: the last byte can be reached");
    free(copy);
}

/* A rank of our supernode shares its memory with us: at its address and the offset of its row. */
static void check_offsets(uintptr_t len)
{
    gasnet_nodeinfo_t *nodes = (gasnet_nodeinfo_t *)calloc((size_t)check_size, sizeof(*nodes));
    CHECK(nodes != NULL, "the system gives us memory");
    check_fill(g1_mine(0), len, (unsigned)check_rank + 7);
    check_barrier();
    gasnet_getNodeInfo(nodes, check_size);
    CHECK_EQ(nodes[check_rank].offset, 0,
             "GASNet-1 Core, job environment: our own segment is where we know it");
    for (int rank = 0; rank < check_size; rank++) {
        if (nodes[rank].supernode != nodes[check_rank].supernode)
            continue;
        const char *here = (const char *)((uintptr_t)g1_segments[rank].addr + nodes[rank].offset);
        CHECK(check_filled(here, len, (unsigned)rank + 7),
              "GASNet-1 Core, job environment: the offset leads to a neighbour's segment");
    }
    check_barrier();
    free(nodes);
}

int main(int argc, char **argv)
{
    CHECK_EQ(gasnet_init(&argc, &argv), GASNET_OK, "GASNet-1 Core, job control: init succeeds");
    check_begin();
    check_nodes(); /* legal before attach */
    const uintptr_t len = (uintptr_t)PAGES * GASNET_PAGESIZE;
    CHECK(gasnet_getMaxGlobalSegmentSize() >= len, "GASNet-1 Core, segments: a few pages fit");
    CHECK(gasnet_getMaxLocalSegmentSize() >= len, "GASNet-1 Core, segments: a few pages fit");
    CHECK_EQ(gasnet_attach(NULL, 0, len, 0), GASNET_OK,
             "GASNet-1 Core, job control: attach takes an empty table");
    g1_segments = (gasnet_seginfo_t *)calloc((size_t)check_size, sizeof(*g1_segments));
    CHECK_EQ(gasnet_getSegmentInfo(g1_segments, check_size), GASNET_OK,
             "GASNet-1 Core, job environment: getSegmentInfo succeeds after attach");
    check_nodes();
    check_segments(len);
    check_bytes(len);
    check_offsets(len);
    return check_end();
}
