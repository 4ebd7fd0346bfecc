/* SPDX-License-Identifier: BSD-3-Clause */
/* play.c: options and opening for programs over the two-sided library. */
#include "twosided/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(const char *program, const char *wrong)
{
    (void)fprintf(stderr,
                  "%s: %s\nusage: %s [--ranks N] [--latency] [static|activity|loan [NUMBER]]\n",
                  program, wrong, program);
    return 2;
}

int play_main(int argc, char **argv, const char *program, int number, int ranks_wanted,
              int (*play)(ranks *, void *))
{
    ranks_options options;
    play_options mine = { .number = number };
    int next = ranks_options_read(&options, argc, argv);
    pen_credit_settings settings = { .policy = next < argc ? argv[next] : "static",
                                     .quota = 56,
                                     .control = 2,
                                     .step = 4,
                                     .hysteresis = 1.25,
                                     .epoch = 1024 };
    if (next + 1 < argc)
        mine.number = (int)strtol(argv[next + 1], NULL, 10);
    if (mine.number < 1)
        return usage(program, "the number is not 1 or more");
    if (ranks_wanted != 0 ? options.count != ranks_wanted
                          : options.count < 2 || (options.count & (options.count - 1)) != 0)
        return usage(program, "not for so many ranks");
    const char *wrong =
        pen_credit_params_make(&settings, (uint32_t)options.count - 1, true, &mine.params);
    if (wrong != NULL)
        return usage(program, wrong);
    options.config.mailbox_slots = (uint32_t)twosided_mailbox_slots(&mine.params);
    return ranks_run(&options, program, play, &mine);
}

twosided *play_open(ranks *r, const play_options *options)
{
    twosided *t =
        twosided_open(&r->velo, r->to, r->rma, r->rma_to, r->rank, r->count, &options->params);
    if (t == NULL)
        ranks_fail(r, "twosided_open", "out of memory");
    return t;
}

void play_close(ranks *r, twosided *t)
{
    twosided_counts counts;
    twosided_count(t, &counts);
    if (counts.overflows != 0 || counts.protocol != 0)
        ranks_fail(r, "twosided", "a mailbox overflowed, or a packet was none of ours");
    twosided_close(t);
}
