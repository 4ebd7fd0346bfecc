/* SPDX-License-Identifier: BSD-3-Clause */
/* contract.c: the conduit contract again, through an impairing link: one that does nothing has to
 * be as good as the link inside it, one that only holds frames up still delivers each of them once,
 * and so does one that loses, doubles and damages frames with the reliable link around it (mended),
 * which round a good one is as good (covered).
 *
 *     impair_contract <conduit> clear | held | covered | mended [threads]
 */
#include "contract/contract.h"

#include "link/impair.h"
#include "reliable/reliable.h"

#include <stdio.h>
#include <string.h>

static const pen_impair_config clear_config = { .seed = 1 };
static const pen_impair_config held_config = {
    .reorder = 0.05, .delay = 0.05, .delay_s = 50e-6, .seed = 1
};

static const pen_impair_config covered_config = { .seed = 1 };
static const pen_impair_config mended_config = {
    .drop = 0.05, .duplicate = 0.05, .reorder = 0.05, .corrupt = 0.02, .seed = 1
};

enum { RANKS_MAX = 8 };

static struct wrapping {
    const pen_conduit *inner;
    const pen_impair_config *config;
    pen_host lent[RANKS_MAX]; /* hosts of the inner links */
} wrapping;

static bool is_reliable(void)
{
    return wrapping.config == &mended_config || wrapping.config == &covered_config;
}

static pen_status wrapped_open(const pen_link_params *params, pen_link **out)
{
    pen_link *link;
    pen_host *lent = &wrapping.lent[params->self];
    pen_link_params inner_params = *params;
    *lent = *params->host;
    if (is_reliable())
        inner_params.host = lent;
    pen_status status = wrapping.inner->open(&inner_params, &link);
    if (status == PEN_OK)
        status = pen_impair_open(link, wrapping.config, PEN_CONCURRENT, &link);
    if (status == PEN_OK && is_reliable())
        status = pen_reliable_open(link, lent, params->host, params->peers, PEN_CONCURRENT, &link);
    if (status == PEN_OK)
        *out = link;
    return status;
}

/* Tests that need the next poll to see earlier posts, which a link that holds frames up cannot do.
 */
static bool is_at_once(const char *name)
{
    static const char *const names[] = {
        "ranks_that_may_sleep_are_woken",
        "one_poll_finds_what_was_posted_before",
        "nothing_comes_when_nothing_was_posted",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static unsigned run_list(const struct setup *setup, const contract_test *tests)
{
    unsigned count = 0;
    for (const contract_test *test = tests; test->name != NULL; test++) {
        struct job job;
        bool holds = wrapping.config != &clear_config;
        if ((test->ranks_max != 0 && setup->ranks > test->ranks_max) ||
            (holds && is_at_once(test->name)) ||
            (wrapping.config == &held_config && test->leaves_frames))
            continue;
        printf("%s %u: %s\n", setup->conduit->name, setup->ranks, test->name);
        fflush(stdout); /* the last line says where a crash was */
        job_open(&job, setup);
        test->run(&job);
        if (!test->leaves_frames)
            CHECK(job_delivered(&job) == job_posted(&job));
        job_close(&job);
        count++;
    }
    return count;
}

static unsigned run_setup(const struct setup *setup, bool threads)
{
    if (threads)
        return run_list(setup, thread_tests);
    unsigned count =
        run_list(setup, frame_tests) + run_list(setup, traffic_tests) + run_list(setup, body_tests);
    /* Where lanes are filled, only the receiver polls, so a held frame would never come. */
    return wrapping.config == &held_config || wrapping.config == &mended_config
               ? count
               : count + run_list(setup, lane_tests);
}

int main(int argc, char **argv)
{
    static const pen_peer sizes[] = { 1, 3, 8 };
    unsigned count = 0;
    wrapping.inner = argc >= 3 ? pen_conduit_find(argv[1]) : NULL;
    if (wrapping.inner == NULL) {
        fprintf(stderr,
                "usage: impair_contract <conduit> clear | held | covered | mended [threads]\n");
        return 2;
    }
    wrapping.config = strcmp(argv[2], "held") == 0      ? &held_config
                      : strcmp(argv[2], "covered") == 0 ? &covered_config
                      : strcmp(argv[2], "mended") == 0  ? &mended_config
                                                        : &clear_config;
    pen_conduit wrapped = *wrapping.inner;
    wrapped.open = wrapped_open;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *why_not = NULL;
        struct setup setup = { .conduit = &wrapped, .name = argv[2], .ranks = sizes[i] };
        if (wrapped.score(sizes[i], &why_not) > 0)
            count += run_setup(&setup, argc > 3);
    }
    printf("%u passed\n", count);
    return count == 0;
}
