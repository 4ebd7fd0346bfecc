/* SPDX-License-Identifier: BSD-3-Clause */
/* inbox_scenarios.c: frames of many senders in one ring, and the change from there to a channel. */
#include "world.h"

static struct inbox_state {
    world_job *world;
    uint32_t senders;
    uint32_t sent;   /* frames that rank 0 sends before the threads begin */
    uint32_t frames; /* frames of each sender's thread ... */
    uint32_t more;   /* ... and additional frames of rank 0's */
    uint32_t unread; /* frames at the end that no rank waits for */
    pen_lane lane;
    uint32_t head_len, body_len;
} state;

static void setup(uint32_t senders, uint32_t frames, pen_lane lane, const shm_config *config)
{
    state = (struct inbox_state){ .world = world_open(senders + 1, config, WORLD_RINGS),
                                  .senders = senders,
                                  .frames = frames,
                                  .lane = lane,
                                  .head_len = 8 };
    explore_inbox_slack_set(2 * senders);
}

static world_frame frame_of(uint32_t number)
{
    return (world_frame){ .to = state.senders,
                          .lane = state.lane,
                          .number = number,
                          .head_len = state.head_len,
                          .body_len = state.body_len };
}

static void send_before(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        world_frame frame = frame_of(state.sent++);
        (void)world_post(state.world, 0, &frame);
    }
}

static uint32_t frames_of(pen_peer from) { return state.frames + (from == 0 ? state.more : 0); }

static void run(uint32_t thread)
{
    if (thread == state.senders) {
        uint32_t count = state.sent + frames_of(0) + (state.senders > 1 ? frames_of(1) : 0);
        world_receive(state.world, thread, count - state.unread);
        return;
    }
    uint32_t first = thread == 0 ? state.sent : 0;
    for (uint32_t i = 0; i < frames_of(thread); i++) {
        world_frame frame = frame_of(first + i);
        world_send(state.world, thread, &frame);
    }
}

static void judge(void)
{
    world_judge_ended(state.senders + 1);
    for (pen_peer from = 0; from < state.senders && state.unread == 0; from++) {
        uint32_t count = frames_of(from) + (from == 0 ? state.sent : 0);
        world_judge_got(state.world, state.senders, from, (UINT64_C(1) << count) - 1);
    }
}

static const shm_config one_each = { .channels = 4, .eager = 4, .position_start = UINT32_MAX - 20 };
static const shm_config one_for_all = { .channels = 1 };

static void setup_inbox(bool is_long) { setup(2, is_long ? 3 : 2, PEN_LANE_CONTROL, &one_each); }

static void setup_inbox_bodies(bool is_long)
{
    setup(2, is_long ? 2 : 1, PEN_LANE_CONTROL, &one_each);
    state.head_len = PEN_FRAME_HEAD_MAX;
    state.body_len = 200;
}

/* The number of slots that stay free is the least possible one, so that few frames reach the end:
 * one look for each sender, of one slot. */
static void setup_inbox_lap(bool is_long)
{
    setup(1, is_long ? 6 : 4, PEN_LANE_CONTROL, &one_each);
    explore_inbox_slack_set(1);
    send_before(4);
}

/* Two of eight frames have been read. Rank 1 may look; it takes a ticket only after rank 0 has
 * taken some for which it saw room later. The read position that rank 0 saw makes room for rank 1,
 * too. */
static void setup_inbox_full(bool is_long)
{
    setup(2, is_long ? 2 : 1, PEN_LANE_CONTROL, &one_each);
    explore_inbox_slack_set(2);
    state.more = is_long ? 2 : 1;
    state.unread = 6;
    send_before(7);
    pen_link *link = state.world->ranks[2].link;
    (void)link->ops->poll(link, PEN_LANES_ALL, 2);
    send_before(1);
}

static void setup_promotion(bool is_long)
{
    setup(2, is_long ? 3 : 2, PEN_LANE_REQUEST, &one_for_all);
}

static void setup_promotion_lap(bool is_long)
{
    setup(1, is_long ? 5 : 4, PEN_LANE_REQUEST, &one_for_all);
    send_before(SHM_RING_SLOTS);
    (void)pen_progress_poll(&state.world->ranks[1].progress);
}

const explore_scenario explore_inbox_scenarios[] = {
    { .name = "inbox",
      .what = "2 senders, 1 receiver, 2 (3) frames each through the inbox; positions wrap",
      .threads = 3,
      .setup = setup_inbox,
      .run = run,
      .judge = judge },
    { .name = "inbox_bodies",
      .what = "the same, 1 (2) each with a head of two slots and a body in a chunk",
      .threads = 3,
      .setup = setup_inbox_bodies,
      .run = run,
      .judge = judge },
    { .name = "inbox_lap",
      .what = "1 sender, 1 receiver, a full inbox of 4 slots, 4 (6) frames more",
      .threads = 2,
      .setup = setup_inbox_lap,
      .run = run,
      .judge = judge },
    { .name = "inbox_full",
      .what = "2 senders, 1 receiver, a full inbox of 8 slots, 2 and 1 (4 and 2) frames more",
      .threads = 3,
      .setup = setup_inbox_full,
      .run = run,
      .judge = judge },
    { .name = "promotion",
      .what = "2 senders, 1 receiver with 1 channel, 2 (3) frames each: who asks first gets it",
      .threads = 3,
      .setup = setup_promotion,
      .run = run,
      .judge = judge },
    { .name = "promotion_lap",
      .what = "1 sender: a frame through the inbox, then 11 (12) round the channel's ring, 4 (5) "
              "explored",
      .threads = 2,
      .setup = setup_promotion_lap,
      .run = run,
      .judge = judge },
    { 0 },
};
