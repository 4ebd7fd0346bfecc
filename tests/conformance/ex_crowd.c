/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_crowd.c: more ranks than cores: waiting ranks give their core to those that have work, so a
 * thousand barriers of sixteen ranks take far less processor time than ranks that spin until their
 * time slice ends. Processor time does not depend on other programs of the machine. Over a network
 * a barrier takes four rounds of messages, each of which may have to be sent again.
 *
 * PEN_RANKS: 16
 * TESTS: gex_Coll_BarrierNB gex_Event_Wait gasnet_barrier_notify gasnet_barrier_wait
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

#include <time.h>

enum { ROUNDS = 1000 };
/* Seconds of one rank's processor time. Sixteen ranks that spin on two cores, in slices of 3 ms,
 * take 1.5 s over shared memory, and 10 s over a network. */
#define MEMORY_S_MAX  0.25
#define NETWORK_S_MAX 2.5

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    ex_barrier();
    double begin = processor_s();
    for (int round = 0; round < ROUNDS; round++)
        ex_barrier();
    double ex_s = processor_s() - begin;
    check_barrier();
    begin = processor_s();
    for (int round = 0; round < ROUNDS; round++)
        check_barrier();
    double g1_s = processor_s() - begin;
    if (check_rank == 0)
        printf("%d barriers: GASNet-EX %.3f s, GASNet-1 %.3f s\n", ROUNDS, ex_s, g1_s);
    gex_Rank_t near_count = 0;
    gex_System_QueryNbrhdInfo(NULL, &near_count, NULL);
    const double s_max = near_count == (gex_Rank_t)check_size ? MEMORY_S_MAX : NETWORK_S_MAX;
    CHECK(ex_s < s_max && g1_s < s_max,
          "waiting: oversubscribed ranks hand their cores over instead of spinning");
    return check_end();
}
