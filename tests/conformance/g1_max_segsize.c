/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_max_segsize.c: a program may preset the largest segment by defining variables of the library;
 * the string wins over the number, and a local variable may have that name.
 *
 * PEN_RANKS: 1 2
 * TESTS: gasnet_max_segsize_str gasnet_max_segsize gasnet_getMaxLocalSegmentSize
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

const char *gasnet_max_segsize_str = "3MB/P";
uint64_t gasnet_max_segsize = 64 * 1024;

int main(int argc, char **argv)
{
    if (getenv("GASNET_MAX_SEGSIZE") != NULL)
        return 77; /* the environment wins: nothing to see */
    CHECK_EQ(gasnet_init(&argc, &argv), GASNET_OK, "GASNet-1 Core, job control: init succeeds");
    check_begin();
    const uintptr_t limit = gasnet_getMaxLocalSegmentSize();
    CHECK_EQ(limit, 3 << 20, "GASNet-EX, segments: the client's string presets the maximum");
    CHECK_EQ(gasnet_attach(NULL, 0, limit, 0), GASNET_OK, "GASNet-1 Core: attach succeeds");
    return check_end();
}
