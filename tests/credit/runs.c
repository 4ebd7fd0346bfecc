/* SPDX-License-Identifier: BSD-3-Clause */
/* runs.c: runs RUNS PACKETS [SEED]: so many runs of the network of net.h, each of at least so many
 * packets, with seeds from SEED on. The first that goes wrong ends it and is named, with the
 * command that repeats it. */
#include "credit/net.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What to say when an invariant ends the process. */
static char repeat[160];

static void on_abort(int signal)
{
    (void)signal;
    if (write(STDERR_FILENO, repeat, strlen(repeat)) < 0)
        _exit(2);
    _exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: runs RUNS PACKETS [SEED]\n");
        return 2;
    }
    uint64_t runs = strtoull(argv[1], NULL, 10), all = 0;
    uint32_t packets = (uint32_t)strtoul(argv[2], NULL, 10);
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    signal(SIGABRT, on_abort);
    for (uint64_t seed = first; seed - first < runs; seed++) {
        net_params params;
        uint64_t went = 0;
        net_draw(&params, seed, packets);
        snprintf(repeat, sizeof repeat, "again: %s 1 %" PRIu32 " %" PRIu64 "\n", argv[0], packets,
                 seed);
        const char *wrong = net_run(&params, &went);
        if (wrong != NULL) {
            fprintf(stderr, "%s: %" PRIu32 " ranks, quota %" PRIu32 ", %" PRIu32 " control: %s\n%s",
                    pen_credit_policy_name(params.credit.policy), params.ranks, params.credit.quota,
                    params.credit.control, wrong, repeat);
            return 1;
        }
        all += went;
    }
    printf("%" PRIu64 " runs, %" PRIu64 " packets: no overflow, no deadlock\n", runs, all);
    return 0;
}
