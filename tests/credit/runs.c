/* SPDX-License-Identifier: BSD-3-Clause */
/* runs.c: `runs RUNS PACKETS [SEED]` plays RUNS runs of the network of net.h, each of at least
 * PACKETS packets, with the seeds SEED, SEED + 1 and so on. The first run that fails ends the
 * program, which prints the command that repeats it. */
#include "credit/net.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Text to print when an invariant ends the process. */
static char repeat[160];

static void on_abort(int signal)
{
    (void)signal;
    if (write(STDERR_FILENO, repeat, strlen(repeat)) < 0)
        _exit(2);
    _exit(1);
}

enum { ENOUGH_RUNS = 200 };

/* For each policy some runs must have the least quota, four ranks or more, replies longer than a
 * quota, and patterns that change. */
static bool is_hardest(const net_params *params)
{
    return params->credit.quota == PEN_CREDIT_QUOTA_MIN(params->credit.control) &&
           params->ranks >= 4 && params->reply_max > params->credit.quota && params->phases > 1;
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
    uint64_t hardest[PEN_CREDIT_POLICIES] = { 0 };
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
        hardest[params.credit.policy] += is_hardest(&params);
    }
    for (unsigned i = 0; i < PEN_CREDIT_POLICIES && runs >= ENOUGH_RUNS; i++) {
        if (hardest[i] == 0) {
            fprintf(stderr,
                    "%s: no run at the least quota with long replies among 4 ranks: draw "
                    "such in net.c\n",
                    pen_credit_policy_name((pen_credit_policy)i));
            return 1;
        }
    }
    printf("%" PRIu64 " runs, %" PRIu64 " packets: no overflow, no deadlock\n"
           "hardest: static %" PRIu64 ", activity %" PRIu64 ", loan %" PRIu64 "\n",
           runs, all, hardest[PEN_CREDIT_STATIC], hardest[PEN_CREDIT_ACTIVITY],
           hardest[PEN_CREDIT_LOAN]);
    return 0;
}
