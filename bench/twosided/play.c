/* SPDX-License-Identifier: BSD-3-Clause */
/* play.c: options and opening for programs over the two-sided library. */
#include "twosided/play.h"

#include <stdio.h>

int play_read(ranks_options *options, pen_credit_params *params, const char *program, int argc,
              char **argv)
{
    int next = ranks_options_read(options, argc, argv);
    const pen_credit_settings settings = { .policy = next < argc ? argv[next] : "static",
                                           .quota = 56,
                                           .control = 2,
                                           .step = 4,
                                           .hysteresis = 1.5,
                                           .epoch = 1024 };
    const char *wrong =
        options->count < 2
            ? "it needs 2 ranks or more"
            : pen_credit_params_make(&settings, (uint32_t)options->count - 1, true, params);
    if (wrong != NULL) {
        (void)fprintf(stderr, "%s: %s\n", program, wrong);
        return -1;
    }
    options->config.mailbox_slots = (uint32_t)twosided_mailbox_slots(params);
    return next + 1;
}

twosided *play_open(ranks *r, const pen_credit_params *params)
{
    twosided *t = twosided_open(&r->velo, r->to, r->rma, r->rma_to, r->rank, r->count, params);
    if (t == NULL)
        ranks_fail(r, "twosided_open", "out of memory");
    return t;
}

void play_close(ranks *r, twosided *t)
{
    twosided_counts counts;
    twosided_count(t, &counts);
    if (counts.overflows != 0 || counts.protocol != 0)
        ranks_fail(r, "twosided", "a mailbox overflowed, or a packet came from a stranger");
    twosided_close(t);
}
