/* SPDX-License-Identifier: BSD-3-Clause */
/* express_scenarios.c: heads that go from registers into a slot, and the words that show a rank
 * without a poll that nothing has arrived. */
#include "world.h"

/* The view belongs to the rank. It is in the arena, so that it is restored when a run begins. */
static pen_poll_view *express_view;
#define GASNET_PAR 1
#define pen_poll   (*express_view)
#include <gasnetex.h>

enum { START_SLOTS = -9 }; /* as in channel_scenarios.c */

static struct express_state {
    world_job *world;
    uint32_t sent, frames; /* frames that rank 0 sends to rank 1: before, and in the scenario */
    uint32_t body_len;
    pen_lane lane;
} state;

static void setup(const shm_config *config, uint32_t frames, uint32_t happens)
{
    state = (struct express_state){ .world = world_open(2, config, happens), .frames = frames };
    express_view = &state.world->ranks[1].view;
}

/* Heads of one to four words, in turn. */
static void run_sender(void)
{
    for (uint32_t i = state.sent; i < state.sent + state.frames; i++) {
        world_frame frame = { .to = 1,
                              .lane = state.lane,
                              .number = i,
                              .head_len = 8 * (1 + i % 4),
                              .body_len = state.body_len,
                              .is_express = state.lane != PEN_LANE_CONTROL };
        world_send(state.world, 0, &frame);
    }
}

static void judge(void)
{
    world_judge_ended(2);
    world_judge_got(state.world, 1, 0, (UINT64_C(1) << (state.sent + state.frames)) - 1);
}

static void judge_room(void)
{
    judge();
    world_judge_room(state.world, 0, 1, PEN_LANE_REQUEST);
}

static const shm_config eager = { .channels = 4, .eager = 4, .position_start = START_SLOTS };

/* ---- express ---- */

static void setup_express(bool is_long) { setup(&eager, is_long ? 21 : 12, 0); }

static void setup_bodies(bool is_long)
{
    setup(&eager, is_long ? 13 : 9, 0);
    state.body_len = 64;
}

static void run_express(uint32_t thread)
{
    if (thread == 0)
        run_sender();
    else
        world_receive(state.world, 1, state.frames);
}

static void setup_sleep(bool is_long) { setup(&eager, is_long ? 3 : 2, WORLD_SLEEPS); }

static uint64_t waiter_digest(const void *what)
{
    return explore_digest(what, sizeof(pen_waiter)) + world_digest(&state.world->ranks[1]);
}

/* The digest of sleep_scenarios.c. */
static void run_sleep(uint32_t thread)
{
    world_rank *rank = &state.world->ranks[1];
    if (thread == 0) {
        run_sender();
        return;
    }
    pen_waiter waiter = pen_waiter_of(&rank->progress, true);
    while (rank->got_count < state.frames) {
        waiter.naps = 1;
        waiter.fruitless = 0;
        explore_settle(waiter_digest, &waiter, 0);
        pen_wait_step(&waiter);
    }
}

/* Two polls park the channel, as in sleep_scenarios.c. */
static void setup_park(bool is_long)
{
    static const shm_config parking = { .channels = 4, .eager = 0, .park_polls = 2 };
    setup(&parking, is_long ? 3 : 1, WORLD_RINGS);
    world_frame frame = { .to = 1, .head_len = 8 };
    (void)world_post(state.world, 0, &frame);
    for (uint32_t i = 0; i < 2; i++)
        (void)pen_progress_poll(&state.world->ranks[1].progress);
    state.sent = 1;
}

static void run_park(uint32_t thread)
{
    const world_rank *rank = &state.world->ranks[1];
    if (thread == 0) {
        run_sender();
        return;
    }
    for (uint32_t i = 0; i < 2; i++) {
        explore_settle(world_digest, rank, i);
        (void)shm_poll_parking(rank->link, PEN_LANES_ALL, PEN_POLL_BUDGET);
    }
    while (rank->got_count < state.sent + state.frames) {
        explore_settle(world_digest, rank, 2);
        if (shm_poll(rank->link, PEN_LANES_ALL, PEN_POLL_BUDGET) == 0)
            explore_idle();
    }
}

/* ---- polls that are not made ---- */

static uint64_t view_digest(const void *what)
{
    const world_rank *rank = what;
    return world_digest(rank) + explore_digest(&rank->view, offsetof(pen_poll_view, patience));
}

/* A rank that polls only while its view says that a frame may have arrived. Patience, which adds
 * polls, is left out. */
static void run_view(uint32_t thread)
{
    world_rank *rank = &state.world->ranks[1];
    if (thread == 0) {
        run_sender();
        return;
    }
    while (rank->got_count < state.frames) {
        rank->view.patience = INT32_MAX;
        explore_settle(view_digest, rank, 0);
        if (pen_poll_is_idle() || pen_progress_poll(&rank->progress) == 0)
            explore_idle();
    }
}

static void setup_view(bool is_long) { setup(&eager, is_long ? 21 : 12, WORLD_VIEWS); }

static void setup_view_bell(bool is_long)
{
    setup(&eager, is_long ? 3 : 2, WORLD_VIEWS | WORLD_RINGS);
    state.lane = PEN_LANE_CONTROL;
    explore_inbox_slack_set(1);
}

const explore_scenario explore_express_scenarios[] = {
    { .name = "express",
      .what = "1 sender, 1 receiver, ring of 8 slots: 12 (21) heads from registers, positions wrap",
      .threads = 2,
      .setup = setup_express,
      .run = run_express,
      .judge = judge_room },
    { .name = "express_bodies",
      .what = "the same with 9 (13) bodies in a body ring that holds four",
      .threads = 2,
      .setup = setup_bodies,
      .run = run_express,
      .judge = judge_room },
    { .name = "express_sleep",
      .what = "2 (3) heads from registers while the receiver goes to sleep between them",
      .threads = 2,
      .fences = true,
      .setup = setup_sleep,
      .run = run_sleep,
      .judge = judge },
    { .name = "express_park",
      .what = "1 (3) heads from registers while the receiver parks the channel",
      .threads = 2,
      .fences = true,
      .setup = setup_park,
      .run = run_park,
      .judge = judge },
    { .name = "view",
      .what = "12 (21) frames to a receiver that polls only where its view does not say idle",
      .threads = 2,
      .setup = setup_view,
      .run = run_view,
      .judge = judge_room },
    { .name = "view_bell",
      .what = "2 (3) frames through the inbox to such a receiver",
      .threads = 2,
      .setup = setup_view_bell,
      .run = run_view,
      .judge = judge },
    { 0 },
};
