/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_segment_largest.c: GASNet-1 Core, segments of the LARGE configuration: the largest that every
 * rank can have may be asked for, and its ends can be reached. Little of it is touched.
 *
 * PEN_RANKS: 1 2 3
 * TESTS: GASNET_SEGMENT_LARGE gasnet_getMaxGlobalSegmentSize gasnet_attach
 */
#define GASNET_SEGMENT_LARGE 1
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

int main(int argc, char **argv)
{
    CHECK_EQ(gasnet_init(&argc, &argv), GASNET_OK, "GASNet-1 Core, job control: init succeeds");
    check_begin();
    const uintptr_t len = gasnet_getMaxGlobalSegmentSize();
    CHECK(len > 0 && len != (uintptr_t)-1, "GASNet-1 Core, segments: LARGE has a limit");
    CHECK_EQ(gasnet_attach(NULL, 0, len, 0), GASNET_OK,
             "GASNet-1 Core, segments: the global maximum can be had by all");
    g1_segments = (gasnet_seginfo_t *)calloc((size_t)check_size, sizeof(*g1_segments));
    gasnet_getSegmentInfo(g1_segments, check_size);

    const unsigned to = check_next(1);
    CHECK_EQ(g1_segments[to].size, len, "GASNet-1 Core, segments: of the size asked for");
    unsigned char near = (unsigned char)(check_rank + 1), far = (unsigned char)(check_rank + 101);
    gasnet_put(to, g1_at(to, 0), &near, 1);
    gasnet_put(to, g1_at(to, len - 1), &far, 1);
    check_barrier();
    const unsigned from = check_previous(1);
    CHECK_EQ((unsigned char)*g1_mine(0), (unsigned char)(from + 1),
             "GASNet-1 Core, segments: the first byte can be reached");
    CHECK_EQ((unsigned char)*g1_mine(len - 1), (unsigned char)(from + 101),
             "GASNet-1 Core, segments: the last byte can be reached");
    return check_end();
}
