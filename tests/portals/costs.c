/* SPDX-License-Identifier: BSD-3-Clause */
/* costs.c: `costs LEAST MOST`: rank 0 puts from memory outside of its segment, and the shortest of
 * a number of blocking puts must take LEAST to MOST microseconds: the card's cost model is on. */
#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PUTS = 12, SEGMENT_LEN = 65536 };

static double now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double shortest_put(void *target)
{
    static uint64_t source[8];
    double shortest = 1e12;
    for (unsigned i = 0; i < PUTS; i++) {
        const double begin = now_us();
        gasnet_put(1, target, source, sizeof source);
        const double took = now_us() - begin;
        shortest = took < shortest ? took : shortest;
    }
    return shortest;
}

int main(int argc, char **argv)
{
    gasnet_seginfo_t segments[2];
    if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_nodes() != 2 || argc != 3 ||
        gasnet_attach(NULL, 0, SEGMENT_LEN, 0) != GASNET_OK ||
        gasnet_getSegmentInfo(segments, 2) != GASNET_OK)
        return 2;
    int status = 0;
    if (gasnet_mynode() == 0) {
        const double took = shortest_put(segments[1].addr);
        status = took < strtod(argv[1], NULL) || took > strtod(argv[2], NULL);
        printf("the shortest put took %.1f us\n", took);
    }
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(status);
}
