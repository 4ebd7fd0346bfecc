/* SPDX-License-Identifier: BSD-3-Clause */
/* lock_scenarios.c: data that threads of one rank share: locks, counts of operations in flight,
 * events that one thread takes and another gives back. */
#include "explore.h"
#include "os/lock.h"
#include "rma/rma_internal.h"

enum { EVENTS = 2 };

typedef struct lock_world {
    pen_lock lock;
    PEN_CACHE_ALIGNED uint64_t data[EVENTS + 1];
    pen_job job;
    pen_op op;
    pen_event_pool pool;
    PEN_CACHE_ALIGNED _Atomic(pen_event_root *) handed[2][EVENTS]; /* by round */
} lock_world;

static struct lock_state {
    lock_world *world;
    uint32_t rounds;
} state;

static lock_world *setup(uint32_t rounds)
{
    lock_world *world = explore_alloc(sizeof *world, 64);
    state = (struct lock_state){ world, rounds };
    explore_declare(world->data, sizeof world->data, EXPLORE_DATA, "data");
    return world;
}

static void judge_ended(uint32_t threads)
{
    for (uint32_t i = 0; i < threads; i++)
        EXPLORE_CHECK(explore_has_ended(i), "thread %c waits for ever", 'A' + (int)i);
}

/* ---- a lock ---- */

static void setup_lock(bool is_long)
{
    lock_world *world = setup(is_long ? 2 : 1);
    pen_lock_init(&world->lock, PEN_CONCURRENT);
    world->lock.spins = 1;
    explore_declare(&world->lock.word, sizeof world->lock.word, EXPLORE_WORD, "lock.word");
    explore_declare(&world->lock.sleepers, sizeof world->lock.sleepers, EXPLORE_WORD,
                    "lock.sleepers");
}

static void run_lock(uint32_t thread)
{
    for (uint32_t i = 0; i < state.rounds; i++) {
        pen_lock_take(&state.world->lock);
        state.world->data[0]++;
        pen_lock_drop(&state.world->lock);
    }
    (void)thread;
}

static void judge_lock(void)
{
    judge_ended(3);
    EXPLORE_CHECK(state.world->data[0] == 3 * (uint64_t)state.rounds, "the lock let in two");
}

/* ---- an operation in two parts ---- */

/* The thread that ends the last part sees the data of both. */
static void sum_up(pen_op *op)
{
    lock_world *world = pen_container_of(op, lock_world, op);
    world->data[2] = world->data[0] + world->data[1];
}

static uint64_t no_digest(const void *what)
{
    (void)what;
    return 0;
}

static void setup_count(bool is_long)
{
    (void)is_long;
    lock_world *world = setup(1);
    atomic_init(&world->op.incomplete, 2);
    world->op.shared = true;
    world->op.then = sum_up;
    explore_declare(&world->op.incomplete, sizeof world->op.incomplete, EXPLORE_WORD, "incomplete");
}

static void run_count(uint32_t thread)
{
    lock_world *world = state.world;
    if (thread < 2) {
        world->data[thread] = 7 + thread;
        pen_op_done(&world->op);
        return;
    }
    while (!pen_count_is_zero(&world->op.incomplete)) {
        explore_idle();
        explore_settle(no_digest, NULL, 0); /* the thread learnt nothing */
    }
    EXPLORE_CHECK(world->data[0] == 7 && world->data[1] == 8, "an operation is done too early");
}

static void judge_count(void)
{
    judge_ended(3);
    EXPLORE_CHECK(state.world->data[2] == 15, "what follows an operation was not done once");
}

/* ---- events ---- */

static void declare_event(pen_event_root *root)
{
    char *start = (char *)root;
    size_t at = offsetof(pen_event_root, op.shared);
    explore_declare(&root->op.source_busy, 4, EXPLORE_WORD, "source_busy");
    explore_declare(&root->op.incomplete, 4, EXPLORE_WORD, "incomplete");
    explore_declare(start + at, sizeof *root - at, EXPLORE_DATA, "event");
}

static void setup_events(bool is_long)
{
    (void)is_long;
    lock_world *world = setup(2);
    pen_event_root *roots[EVENTS];
    world->job.concurrency = PEN_CONCURRENT;
    world->pool.job = &world->job;
    for (uint32_t i = 0; i < EVENTS; i++)
        roots[i] = pen_event_take(&world->pool);
    for (uint32_t i = 0; i < EVENTS; i++) {
        declare_event(roots[i]);
        pen_event_give(roots[i]);
    }
    explore_declare(&world->pool.returned, sizeof world->pool.returned, EXPLORE_WORD, "returned");
    explore_declare(world->handed, sizeof world->handed, EXPLORE_WORD, "handed");
}

/* Thread 0 takes an event for each other thread, twice; they give them back. */
static void run_events(uint32_t thread)
{
    lock_world *world = state.world;
    for (uint32_t round = 0; round < state.rounds; round++) {
        for (uint32_t i = 0; thread == 0 && i < EVENTS; i++) {
            pen_event_root *root = pen_event_take(&world->pool);
            EXPLORE_CHECK(root->parent == NULL, "an event is taken that is in use");
            root->parent = &world->op;
            atomic_store_explicit(&world->handed[round][i], root, memory_order_release);
        }
        if (thread == 0)
            continue;
        pen_event_root *root;
        while ((root = atomic_exchange_explicit(&world->handed[round][thread - 1], NULL,
                                                memory_order_acquire)) == NULL)
            explore_idle();
        root->parent = NULL;
        pen_event_give(root);
    }
}

static void judge_events(void) { judge_ended(EVENTS + 1); }

const explore_scenario explore_lock_scenarios[] = {
    { .name = "lock",
      .what = "3 threads take and drop a lock once (twice)",
      .threads = 3,
      .naps = true,
      .setup = setup_lock,
      .run = run_lock,
      .judge = judge_lock },
    { .name = "count",
      .what = "2 threads end the two parts of an operation, a third waits for it",
      .threads = 3,
      .setup = setup_count,
      .run = run_count,
      .judge = judge_count },
    { .name = "events",
      .what = "1 thread takes events, 2 give them back, twice",
      .threads = 3,
      .setup = setup_events,
      .run = run_events,
      .judge = judge_events },
    { 0 },
};
