/* SPDX-License-Identifier: BSD-3-Clause */
/* line_scenarios.c: barriers through flag lines. A rank's earlier stores are seen by all ranks
 * after the barrier, no rank passes before all have come, and a rank that sleeps meanwhile is
 * woken. */
#include "coll/coll_internal.h"
#include "explore.h"

enum { RANKS_MAX = 3, PHASES_MAX = 3 };

typedef struct line_rank {
    pen_job job;
    pen_meet meet;
} line_rank;

typedef struct line_world {
    line_rank ranks[RANKS_MAX];
    PEN_CACHE_ALIGNED uint64_t data[2][RANKS_MAX]; /* by parity of the phase */
    struct line_words {
        PEN_CACHE_ALIGNED _Atomic uint32_t sleeping, wake, polling_total;
    } words[RANKS_MAX];
    PEN_CACHE_ALIGNED char lines[RANKS_MAX * PEN_HOST_LINES * PEN_CACHE_LINE];
} line_world;

static struct line_state {
    line_world *world;
    uint32_t ranks, phases;
    bool sleeps, tree;
} state;

/* The copies of the sources ask for the least number of ranks with a tree. */
uint32_t explore_flat_max(void) { return state.tree ? 1 : RANKS_MAX; }

/* Combines values as barrier.c does. */
uint64_t pen_word_combine(uint64_t a, uint64_t b) { return a | b; }

static void host_wake(void *ctx, pen_peer peer)
{
    const pen_job *job = ctx;
    if (!state.sleeps)
        return;
    pen_progress_wake_fence(&job->progress);
    pen_progress_wake(&state.world->words[peer].sleeping, &state.world->words[peer].wake);
}

static unsigned look(void *ctx)
{
    pen_meet *meet = ctx;
    if (!meet->met)
        pen_lines_look(meet);
    return meet->met ? 1 : 0;
}

static void open_rank(uint32_t self)
{
    line_rank *rank = &state.world->ranks[self];
    struct line_words *words = &state.world->words[self];
    pen_progress_config wait = { .sleep = true };
    pen_sleeper sleeper = { &words->sleeping, &words->wake, &words->polling_total, NULL, 1, NULL };
    rank->job.rank = self;
    rank->job.size = state.ranks;
    rank->job.host = (pen_host){ .ctx = &rank->job, .wake = host_wake };
    rank->meet = (pen_meet){ .job = &rank->job, .lines = state.world->lines };
    pen_progress_init(&rank->job.progress, PEN_ALONE, &wait, &sleeper, &pen_machine_clock,
                      &rank->job.counters);
    pen_progress_add_source(&rank->job.progress, look, &rank->meet);
    atomic_store_explicit(&rank->job.progress.source_work, 1, memory_order_relaxed);
    if (!state.sleeps)
        return;
    explore_declare(&words->sleeping, sizeof words->sleeping, EXPLORE_WORD, "sleeping");
    explore_declare(&words->wake, sizeof words->wake, EXPLORE_WORD, "wake");
}

static void setup(uint32_t ranks, uint32_t phases, bool sleeps, bool tree)
{
    line_world *world = explore_alloc(sizeof *world, 64);
    state = (struct line_state){ world, ranks, phases, sleeps, tree };
    for (uint32_t self = 0; self < ranks; self++)
        open_rank(self);
    explore_declare(world->data, sizeof world->data, EXPLORE_DATA, "data");
    explore_declare(world->lines, sizeof world->lines, tree ? EXPLORE_WORD : EXPLORE_ONE, "line");
}

static uint64_t digest_of(const void *what)
{
    const line_rank *rank = what;
    return explore_digest(&rank->meet, sizeof rank->meet);
}

static void wait_for_end(line_rank *rank)
{
    pen_waiter waiter = pen_waiter_of(&rank->job.progress, true);
    while (!rank->meet.met) {
        waiter.naps = 1; /* the policy's patience is left out */
        explore_settle(digest_of, rank, waiter.armed ? waiter.wake + 1 : 0);
        if (state.sleeps) {
            pen_wait_step(&waiter);
        } else {
            pen_lines_look(&rank->meet);
            if (!rank->meet.met)
                explore_idle();
        }
    }
}

static void run(uint32_t self)
{
    line_rank *rank = &state.world->ranks[self];
    for (uint64_t phase = 1; phase <= state.phases; phase++) {
        state.world->data[phase & 1][self] = 10 * phase + self;
        rank->meet.phase++;
        rank->meet.underway = true;
        rank->meet.met = false;
        pen_lines_arrive(&rank->meet, UINT64_C(1) << self);
        wait_for_end(rank);
        EXPLORE_CHECK(rank->meet.result == (UINT64_C(1) << state.ranks) - 1,
                      "a barrier ends with the words of %#llx",
                      (unsigned long long)rank->meet.result);
        for (uint32_t i = 0; i < state.ranks; i++)
            EXPLORE_CHECK(state.world->data[phase & 1][i] == 10 * phase + i,
                          "rank %u passed before rank %u came", self, i);
    }
}

static void judge(void)
{
    for (uint32_t i = 0; i < state.ranks; i++)
        EXPLORE_CHECK(explore_has_ended(i), "rank %u waits for ever", i);
}

static void setup_two(bool is_long) { setup(2, is_long ? 5 : 3, false, false); }
static void setup_three(bool is_long) { setup(3, is_long ? 3 : 2, false, false); }
static void setup_tree(bool is_long) { setup(3, is_long ? 3 : 2, false, true); }
static void setup_two_sleep(bool is_long) { setup(2, is_long ? 3 : 2, true, false); }
static void setup_three_sleep(bool is_long) { setup(3, is_long ? 2 : 1, true, false); }
static void setup_tree_sleep(bool is_long) { setup(2, is_long ? 3 : 2, true, true); }

static void setup_two_sleep_fenced(bool is_long)
{
    explore_refuse_membarrier(true);
    setup_two_sleep(is_long);
}

const explore_scenario explore_line_scenarios[] = {
    { "barrier2", "2 ranks, 3 (5) phases", 2, false, false, setup_two, run, judge },
    { "barrier3", "3 ranks, 2 (3) phases", 3, false, false, setup_three, run, judge },
    { "barrier_tree", "3 ranks in a tree of radix 2, 2 (3) phases", 3, false, false, setup_tree,
      run, judge },
    { "barrier2_sleep", "2 ranks that sleep, 2 (3) phases", 2, true, false, setup_two_sleep, run,
      judge },
    { "barrier2_fenced", "the same without membarrier", 2, true, false, setup_two_sleep_fenced, run,
      judge },
    { "barrier3_sleep", "3 ranks that sleep, 1 (2) phases", 3, true, false, setup_three_sleep, run,
      judge },
    { "barrier_tree_sleep", "2 ranks of a tree that sleep, 2 (3) phases", 2, true, false,
      setup_tree_sleep, run, judge },
    { 0 },
};
