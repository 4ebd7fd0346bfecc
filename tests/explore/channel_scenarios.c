/* SPDX-License-Identifier: BSD-3-Clause */
/* channel_scenarios.c: rings with one sender and one receiver: laps, long heads, bodies, credits.
 */
#include "world.h"

/* Positions of slots wrap in a few frames, as numbers and as sequences (not in the first lap: an
 * untouched slot has the sequence 0). With bodies, their byte positions wrap too, which are
 * multiples of a line. */
enum { START_SLOTS = -9, START_BODIES = -128 };

static struct channel_state {
    world_job *world;
    uint32_t frames; /* frames that rank 0 sends to rank 1 */
    uint32_t head_len, body_len;
} state;

static void setup(uint32_t frames, uint32_t head_len, uint32_t body_len)
{
    shm_config eager = { .channels = 4, .eager = 4 };
    eager.position_start = (uint32_t)(body_len == 0 ? START_SLOTS : START_BODIES);
    state = (struct channel_state){ world_open(2, &eager, 0), frames, head_len, body_len };
}

static world_frame frame_of(uint32_t number)
{
    return (world_frame){ .to = 1,
                          .lane = PEN_LANE_REQUEST,
                          .number = number,
                          .head_len = state.head_len,
                          .body_len = state.body_len };
}

static void run(uint32_t thread)
{
    if (thread == 1) {
        world_receive(state.world, 1, state.frames);
        return;
    }
    for (uint32_t i = 0; i < state.frames; i++) {
        world_frame frame = frame_of(i);
        world_send(state.world, 0, &frame);
    }
}

static void judge(void)
{
    world_judge_ended(2);
    world_judge_got(state.world, 1, 0, (UINT64_C(1) << state.frames) - 1);
    world_judge_room(state.world, 0, 1, PEN_LANE_REQUEST);
}

static void setup_ring(bool is_long) { setup(is_long ? 21 : 12, 8, 0); }
static void setup_long_heads(bool is_long) { setup(is_long ? 9 : 6, PEN_FRAME_HEAD_MAX, 0); }
static void setup_slot_bodies(bool is_long) { setup(is_long ? 17 : 11, 8, 32); }
static void setup_ring_bodies(bool is_long) { setup(is_long ? 13 : 9, 8, 64); }
static void setup_chunks(bool is_long) { setup(is_long ? 10 : 7, 8, 200); }

/* ---- requests with replies ---- */

/* Rank 1 has answered as many requests as the ring of replies holds, and rank 0 has not looked
 * yet. The next answer waits in rank 1's backlog until the credits of replies come back. */
static void setup_replies(bool is_long)
{
    setup(SHM_RING_SLOTS + (is_long ? 4 : 2), 8, 0);
    state.world->ranks[1].answers = true;
    for (uint32_t i = 0; i < SHM_RING_SLOTS; i++) {
        world_frame frame = frame_of(i);
        (void)world_post(state.world, 0, &frame);
    }
    (void)pen_progress_poll(&state.world->ranks[1].progress);
}

/* Polls as the engine does: a request that finds no room polls, a rank that waits polls. */
static void run_replies(uint32_t thread)
{
    if (thread == 1) {
        world_receive(state.world, 1, state.frames);
        return;
    }
    for (uint32_t i = SHM_RING_SLOTS; i < state.frames; i++) {
        world_frame frame = frame_of(i);
        while (world_post(state.world, 0, &frame) == PEN_POST_AGAIN)
            world_poll(state.world, 0, i + 1);
    }
    world_receive(state.world, 0, state.frames);
}

static void judge_replies(void)
{
    uint64_t all = (UINT64_C(1) << state.frames) - 1;
    world_judge_ended(2);
    world_judge_got(state.world, 1, 0, all);
    world_judge_got(state.world, 0, 1, all);
    world_judge_room(state.world, 0, 1, PEN_LANE_REQUEST);
    world_judge_room(state.world, 1, 0, PEN_LANE_REPLY);
}

const explore_scenario explore_channel_scenarios[] = {
    { .name = "ring",
      .what = "1 sender, 1 receiver, ring of 8 slots: 12 short frames (long: 21), positions wrap",
      .threads = 2,
      .setup = setup_ring,
      .run = run,
      .judge = judge },
    { .name = "long_heads",
      .what = "the same with 6 (9) heads of two slots each",
      .threads = 2,
      .setup = setup_long_heads,
      .run = run,
      .judge = judge },
    { .name = "slot_bodies",
      .what = "the same with 11 (17) bodies that lie in the slot",
      .threads = 2,
      .setup = setup_slot_bodies,
      .run = run,
      .judge = judge },
    { .name = "ring_bodies",
      .what = "the same with 9 (13) bodies in a body ring that holds four",
      .threads = 2,
      .setup = setup_ring_bodies,
      .run = run,
      .judge = judge },
    { .name = "chunks",
      .what = "the same with 7 (10) bodies in chunks, of which there are two",
      .threads = 2,
      .setup = setup_chunks,
      .run = run,
      .judge = judge },
    { .name = "replies",
      .what = "2 (4) requests whose answers find the ring of replies full and wait in the backlog",
      .threads = 2,
      .setup = setup_replies,
      .run = run_replies,
      .judge = judge_replies },
    { 0 },
};
