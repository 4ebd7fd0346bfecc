/* SPDX-License-Identifier: BSD-3-Clause */
/* line.c: how long a line takes to another core and back just now, in nanoseconds, which on a
 * shared machine may change several times within a few seconds, with where the host runs our cores.
 * bench/alike.py asks about each job, so as to compare only what met the same machine. */
#include "blocks.h"
#include "place.h"
#include "raw.h"

#include <pthread.h>

enum { LINE_ROUNDS = 4000, LINE_BLOCKS = 15 };

static raw_line line;

static void exchange(unsigned side, double *times_ns)
{
    raw_pair pair = { .turn = &line.value, .side = side };
    place_rank(side);
    for (unsigned i = 0; i < LINE_BLOCKS; i++) {
        const double start_ns = block_now_ns();
        raw_exchange_turns(&pair, LINE_ROUNDS, false);
        if (times_ns != NULL)
            times_ns[i] = (block_now_ns() - start_ns) / LINE_ROUNDS;
    }
}

static void *answer(void *nothing)
{
    exchange(1, NULL);
    return nothing;
}

int main(void)
{
    double times_ns[LINE_BLOCKS];
    cpu_set_t cores;
    pthread_t answering;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) < 2) {
        fprintf(stderr, "line: there is one core only, so no line goes to another\n");
        return 2;
    }
    if (pthread_create(&answering, NULL, answer, NULL) != 0) {
        fprintf(stderr, "line: cannot create a thread\n");
        return 1;
    }
    exchange(0, times_ns);
    pthread_join(answering, NULL);
    printf("{\"metric\":\"line\",\"value\":%.1f,\"unit\":\"ns\"}\n",
           block_median(times_ns, LINE_BLOCKS));
    return 0;
}
