/* SPDX-License-Identifier: BSD-3-Clause */
/* g1.h: code that the GASNet-1 programs share: start, attach, and each rank's segment address.
 * Included after <gasnet.h> and "check.h". */
#ifndef PEN_TESTS_CONFORMANCE_G1_H
#define PEN_TESTS_CONFORMANCE_G1_H

/* Segments of all ranks. "used": a program that never reads it still keeps the memory that it
 * points at.
 */
static gasnet_seginfo_t *g1_segments __attribute__((used));

CHECK_MAYBE_UNUSED static uintptr_t g1_pages(uintptr_t len)
{
    const uintptr_t page = GASNET_PAGESIZE;
    return (len + page - 1) / page * page;
}

/* Starts the job; the number of ranks is known then. */
CHECK_MAYBE_UNUSED static void g1_start(int *argc, char ***argv)
{
    CHECK_EQ(gasnet_init(argc, argv), GASNET_OK, "GASNet-1 Core, job control: init succeeds");
    check_begin();
}

/* Attaches a segment of at least len bytes at every rank. */
CHECK_MAYBE_UNUSED static void g1_attach(gasnet_handlerentry_t *table, int count, uintptr_t len)
{
    CHECK_EQ(gasnet_attach(table, count, g1_pages(len), 0), GASNET_OK,
             "GASNet-1 Core, job control: attach succeeds");
    g1_segments = (gasnet_seginfo_t *)calloc((size_t)check_size, sizeof(*g1_segments));
    CHECK(g1_segments != NULL, "the system gives us memory");
    CHECK_EQ(gasnet_getSegmentInfo(g1_segments, check_size), GASNET_OK,
             "GASNet-1 Core, job environment: getSegmentInfo succeeds after attach");
}

CHECK_MAYBE_UNUSED static void g1_open(int *argc, char ***argv, gasnet_handlerentry_t *table,
                                       int count, uintptr_t len)
{
    g1_start(argc, argv);
    g1_attach(table, count, len);
}

/* An address in a rank's segment, as that rank sees it. */
CHECK_MAYBE_UNUSED static char *g1_at(unsigned rank, size_t offset)
{
    return (char *)g1_segments[rank].addr + offset;
}

/* Returns the address of this offset in this rank's own segment. */
CHECK_MAYBE_UNUSED static char *g1_mine(size_t offset)
{
    return g1_at((unsigned)check_rank, offset);
}

#endif
