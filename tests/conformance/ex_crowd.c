/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_crowd.c: more ranks than cores: waiting ranks give their core to those that have work, so a
 * thousand barriers of sixteen ranks end long before time slices would let them.
 *
 * PEN_RANKS: 16
 * TESTS: gex_Coll_BarrierNB gex_Event_Wait gasnet_barrier_notify gasnet_barrier_wait
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

#include <time.h>

enum { ROUNDS = 1000 };
#define SECONDS_MAX 2.0

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    ex_barrier();
    double begin = now_s();
    for (int round = 0; round < ROUNDS; round++)
        ex_barrier();
    double ex_s = now_s() - begin;
    check_barrier();
    begin = now_s();
    for (int round = 0; round < ROUNDS; round++)
        check_barrier();
    double g1_s = now_s() - begin;
    if (check_rank == 0)
        printf("%d barriers: GASNet-EX %.3f s, GASNet-1 %.3f s\n", ROUNDS, ex_s, g1_s);
    CHECK(ex_s < SECONDS_MAX && g1_s < SECONDS_MAX,
          "waiting: oversubscribed ranks hand their cores over instead of spinning");
    return check_end();
}
