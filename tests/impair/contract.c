/* SPDX-License-Identifier: BSD-3-Clause */
/* contract.c: the conduit contract again, through an impairing link: one that does nothing has to
 * be as good as the link inside it, and one that only holds frames up still delivers each of them
 * once.
 *
 *     impair_contract <conduit> clear | held [threads]
 */
#include "contract/contract.h"

#include "wrap/impair.h"

#include <stdio.h>
#include <string.h>

static const pen_impair_config clear_config = { .seed = 1 };
static const pen_impair_config held_config = {
    .reorder = 0.05, .delay = 0.05, .delay_s = 50e-6, .seed = 1
};

static struct wrapping {
    const pen_conduit *inner;
    const pen_impair_config *config;
} wrapping;

static pen_status wrapped_open(const pen_link_params *params, pen_link **out)
{
    pen_link *inner;
    pen_status status = wrapping.inner->open(params, &inner);
    if (status != PEN_OK)
        return status;
    return pen_impair_open(inner, wrapping.config, PEN_CONCURRENT, out);
}

/* What a link that holds frames up cannot do: have what was posted before seen by the next poll. */
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
        bool holds = wrapping.config == &held_config;
        if ((test->ranks_max != 0 && setup->ranks > test->ranks_max) ||
            (holds && (is_at_once(test->name) || test->leaves_frames)))
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
    /* Where lanes are filled only the receiver polls, so what is held up would never come. */
    return wrapping.config == &held_config ? count : count + run_list(setup, lane_tests);
}

int main(int argc, char **argv)
{
    static const pen_peer sizes[] = { 1, 3, 8 };
    unsigned count = 0;
    wrapping.inner = argc >= 3 ? pen_conduit_find(argv[1]) : NULL;
    if (wrapping.inner == NULL) {
        fprintf(stderr, "usage: impair_contract <conduit> clear | held [threads]\n");
        return 2;
    }
    wrapping.config = strcmp(argv[2], "held") == 0 ? &held_config : &clear_config;
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
