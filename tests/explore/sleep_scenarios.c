/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep_scenarios.c: threads that store and then look: parked channels and sleeping ranks. */
#include "world.h"

static struct sleep_state {
    world_job *world;
    uint32_t senders, sent, frames; /* as in inbox_scenarios.c */
    pen_lane lane;
} state;

static void post(pen_peer from, uint32_t number)
{
    world_frame frame = {
        .to = state.senders, .lane = state.lane, .number = number, .head_len = 8
    };
    world_send(state.world, from, &frame);
}

static void send_all(pen_peer from)
{
    for (uint32_t i = 0; i < state.frames; i++)
        post(from, (from == 0 ? state.sent : 0) + i);
}

static void judge(void)
{
    world_judge_ended(state.senders + 1);
    for (pen_peer from = 0; from < state.senders; from++) {
        uint32_t count = state.frames + (from == 0 ? state.sent : 0);
        world_judge_got(state.world, state.senders, from, (UINT64_C(1) << count) - 1);
    }
}

static uint32_t expected(void) { return state.sent + state.senders * state.frames; }

/* ---- parking ---- */

/* One frame has been read, and the channel has been idle since: two polls park it. The occasional
 * look at parked channels is left out, since it would find lost frames. */
static void setup_parking(uint32_t frames)
{
    static const shm_config parking = { .channels = 4, .eager = 0, .park_polls = 2 };
    state = (struct sleep_state){
        .world = world_open(2, &parking, WORLD_RINGS), .senders = 1, .sent = 1, .frames = frames
    };
    world_frame frame = { .to = 1, .head_len = 8 };
    (void)world_post(state.world, 0, &frame);
    for (uint32_t i = 0; i < 2; i++)
        (void)pen_progress_poll(&state.world->ranks[1].progress);
}

static void run_park(uint32_t thread)
{
    if (thread == 0) {
        send_all(0);
        return;
    }
    const world_rank *rank = &state.world->ranks[1];
    pen_link *link = rank->link;
    for (uint32_t i = 0; i < 2; i++) {
        explore_settle(world_digest, rank, i);
        (void)shm_poll_parking(link, PEN_LANES_ALL, PEN_POLL_BUDGET);
    }
    while (rank->got_count < expected()) {
        explore_settle(world_digest, rank, 2);
        if (shm_poll(link, PEN_LANES_ALL, PEN_POLL_BUDGET) == 0)
            explore_idle();
    }
}

static void setup_park(bool is_long) { setup_parking(is_long ? 3 : 1); }
static void setup_unpark(bool is_long) { setup_parking(is_long ? 4 : 2); }

static void setup_park_fenced(bool is_long)
{
    explore_refuse_membarrier(true);
    setup_park(is_long);
}

/* ---- sleeping ---- */

static uint64_t waiter_digest(const void *what)
{
    return explore_digest(what, sizeof(pen_waiter)) +
           world_digest(&state.world->ranks[state.senders]);
}

/* Leaves out the policy's patience before it sleeps, and its counters. */
static void sleep_until_all(world_rank *rank)
{
    pen_waiter waiter = pen_waiter_of(&rank->progress, true);
    while (rank->got_count < expected()) {
        waiter.naps = 1;
        waiter.fruitless = 0;
        explore_settle(waiter_digest, &waiter, 0);
        pen_wait_step(&waiter);
    }
}

static void run_sleep(uint32_t thread)
{
    if (thread < state.senders)
        send_all(thread);
    else
        sleep_until_all(&state.world->ranks[thread]);
}

static void setup_sleep_of(uint32_t senders, uint32_t frames, pen_lane lane, uint32_t happens)
{
    static const shm_config eager = { .channels = 4, .eager = 4 };
    state = (struct sleep_state){ .world = world_open(senders + 1, &eager, WORLD_SLEEPS | happens),
                                  .senders = senders,
                                  .frames = frames,
                                  .lane = lane };
    explore_inbox_slack_set(2 * senders);
}

static void setup_sleep(bool is_long) { setup_sleep_of(1, is_long ? 3 : 2, PEN_LANE_REQUEST, 0); }

static void setup_sleep_fenced(bool is_long)
{
    explore_refuse_membarrier(true);
    setup_sleep(is_long);
}

static void setup_sleep_inbox(bool is_long)
{
    setup_sleep_of(1, is_long ? 3 : 2, PEN_LANE_CONTROL, WORLD_RINGS);
    explore_inbox_slack_set(1);
}

static void setup_sleep_two(bool is_long)
{
    setup_sleep_of(2, is_long ? 2 : 1, PEN_LANE_REQUEST, 0);
}

const explore_scenario explore_sleep_scenarios[] = {
    { .name = "park",
      .what = "1 sender posts 1 (3) frames while the receiver parks the channel",
      .threads = 2,
      .fences = true,
      .setup = setup_park,
      .run = run_park,
      .judge = judge },
    { .name = "unpark",
      .what = "the same with 2 (4) frames",
      .threads = 2,
      .fences = true,
      .setup = setup_unpark,
      .run = run_park,
      .judge = judge },
    { .name = "park_fenced",
      .what = "the same where the kernel has no membarrier",
      .threads = 2,
      .fences = true,
      .setup = setup_park_fenced,
      .run = run_park,
      .judge = judge },
    { .name = "sleep",
      .what = "1 sender posts 2 (3) frames while the receiver goes to sleep between them",
      .threads = 2,
      .fences = true,
      .setup = setup_sleep,
      .run = run_sleep,
      .judge = judge },
    { .name = "sleep_fenced",
      .what = "the same where the kernel has no membarrier",
      .threads = 2,
      .fences = true,
      .setup = setup_sleep_fenced,
      .run = run_sleep,
      .judge = judge },
    { .name = "sleep_inbox",
      .what = "the same through the inbox",
      .threads = 2,
      .fences = true,
      .setup = setup_sleep_inbox,
      .run = run_sleep,
      .judge = judge },
    { .name = "sleep_two",
      .what = "2 senders post 1 (2) frames each while the receiver goes to sleep",
      .threads = 3,
      .fences = true,
      .setup = setup_sleep_two,
      .run = run_sleep,
      .judge = judge },
    { 0 },
};
