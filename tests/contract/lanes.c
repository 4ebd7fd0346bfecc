/* SPDX-License-Identifier: BSD-3-Clause */
/* lanes.c: full lanes. AGAIN changes nothing, a reply finds room behind any number of requests,
 * control behind both, and poll delivers only the requested lanes. */
#include "contract.h"

#include "conduit/conduit.h"
#include "os/os.h"

enum { FULL_MAX = 100000 }; /* a conduit that takes more without a poll is not bounded */

static void fill(struct job *job, pen_peer to, pen_lane lane, uint32_t head_len, uint32_t body_len)
{
    for (pen_peer from = 0; from < job->size; from++) {
        uint32_t count = 0;
        while (job_post(&job->ranks[from], to, lane, head_len, body_len) == PEN_POST_DONE)
            CHECK(++count < FULL_MAX);
        for (unsigned i = 0; i < 100; i++) /* refused frames must not arrive after all */
            (void)job_post(&job->ranks[from], to, lane, head_len, body_len);
    }
}

static void fill_with_all(struct job *job, pen_peer to, pen_lane lane)
{
    uint32_t max = job->ranks[0].link->caps.frame_max;
    fill(job, to, lane, 8, max);
    fill(job, to, lane, 8, 1000);
    fill(job, to, lane, PEN_FRAME_HEAD_MAX, 0);
    fill(job, to, lane, 8, 0);
}

static bool is_bounded(const struct job *job) { return job->ranks[0].link->caps.inbox_len == 0; }

static void a_full_lane_answers_again_and_loses_nothing(struct job *job)
{
    static const uint32_t bodies[] = { 0, 40, 100, 2000, 9000 };
    if (!is_bounded(job))
        return;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        for (unsigned i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
            if (bodies[i] > job->ranks[0].link->caps.frame_max)
                continue;
            fill(job, 0, (pen_lane)lane, 16, bodies[i]);
            job_settle(job);
            fill(job, job->size - 1, (pen_lane)lane, 72, bodies[i]);
            job_settle(job);
        }
        fill_with_all(job, 0, (pen_lane)lane);
        job_settle(job);
    }
}

/* Senders poll, too: a frame that was taken may continue in packets as the receiver makes room. */
static void poll_senders(struct job *job, unsigned lanes)
{
    for (pen_peer self = 1; self < job->size; self++)
        (void)job_poll(&job->ranks[self], lanes, 32);
}

static void a_reply_finds_room_when_requests_are_full(struct job *job)
{
    uint32_t max = job->ranks[0].link->caps.frame_max;
    if (!is_bounded(job))
        return;
    fill_with_all(job, 0, PEN_LANE_REQUEST);
    for (pen_peer from = 0; from < job->size; from++)
        CHECK(job_post(&job->ranks[from], 0, PEN_LANE_REPLY, 16, 0) == PEN_POST_DONE);
    CHECK(job_post(&job->ranks[job->size - 1], 0, PEN_LANE_REPLY, PEN_FRAME_HEAD_MAX, max) ==
          PEN_POST_DONE);
    /* Replies are delivered while the requests wait. */
    uint64_t requests = job->ranks[0].delivered[PEN_LANE_REQUEST];
    uint64_t until = pen_now_ns() + UINT64_C(10000000000);
    while (job->ranks[0].delivered[PEN_LANE_REPLY] < job->size + 1) {
        (void)job_poll(&job->ranks[0], PEN_LANE_BIT(PEN_LANE_REPLY), 32);
        poll_senders(job, PEN_LANE_BIT(PEN_LANE_REPLY));
        CHECK(pen_now_ns() < until);
    }
    CHECK(job->ranks[0].delivered[PEN_LANE_REQUEST] == requests);
    job_settle(job);
}

static void control_finds_room_when_all_else_is_full(struct job *job)
{
    uint32_t max = job->ranks[0].link->caps.frame_max;
    if (!is_bounded(job))
        return;
    for (pen_peer to = 0; to < job->size; to += 7) {
        fill_with_all(job, to, PEN_LANE_REQUEST);
        fill_with_all(job, to, PEN_LANE_REPLY);
    }
    for (pen_peer from = 0; from < job->size; from++)
        CHECK(job_post(&job->ranks[from], 0, PEN_LANE_CONTROL, 24, 0) == PEN_POST_DONE);
    CHECK(job_post(&job->ranks[job->size - 1], 0, PEN_LANE_CONTROL, 24, max) == PEN_POST_DONE);
    uint64_t until = pen_now_ns() + UINT64_C(10000000000);
    while (job->ranks[0].delivered[PEN_LANE_CONTROL] < job->size + 1) {
        (void)job_poll(&job->ranks[0], PEN_LANE_BIT(PEN_LANE_CONTROL), 32);
        poll_senders(job, PEN_LANE_BIT(PEN_LANE_CONTROL));
        CHECK(pen_now_ns() < until);
    }
    job_settle(job);
}

/* After posting, a rank polls once more: a link may delay a frame until then, to send it with
 * later ones. */
static void senders_poll(struct job *job)
{
    for (pen_peer self = 1; self < job->size; self++)
        (void)job_poll(&job->ranks[self], 0, 32);
}

/* host_deliver checks the lanes. This test checks that a poll for some lanes loses no frame of the
 * rest. */
static void poll_brings_only_the_lanes_asked_for(struct job *job)
{
    for (unsigned lanes = 0; lanes <= PEN_LANES_ALL; lanes++) {
        for (unsigned lane = 0; lane < PEN_LANES; lane++)
            for (pen_peer from = 0; from < job->size; from++)
                for (unsigned i = 0; i < 3; i++)
                    job_post_sure(&job->ranks[from], 0, (pen_lane)lane, 16, i * 30);
        for (unsigned i = 0; i < 50; i++)
            (void)job_poll(&job->ranks[0], lanes, 32);
        job_settle(job);
    }
}

static void poll_keeps_to_its_budget(struct job *job)
{
    for (unsigned budget = 1; budget <= 16; budget *= 2) {
        for (unsigned lane = 0; lane < PEN_LANES; lane++)
            for (unsigned i = 0; i < 12; i++)
                job_post_sure(&job->ranks[i % job->size], 0, (pen_lane)lane, 16, i % 3 * 30);
        senders_poll(job);
        uint64_t until = pen_now_ns() + UINT64_C(10000000000);
        while (job_delivered(job) < job_posted(job)) {
            uint64_t before = job_delivered(job);
            unsigned events = job_poll(&job->ranks[0], PEN_LANES_ALL, budget);
            CHECK(job_delivered(job) - before <= budget + budget / 2);
            CHECK(events >= job_delivered(job) - before);
            poll_senders(job, 0);
            CHECK(pen_now_ns() < until);
        }
        job_settle(job);
    }
}

/* However much one peer sends, the frames of all peers arrive. */
static void a_busy_peer_does_not_starve_the_others(struct job *job)
{
    pen_peer quiet = job->size - 1;
    struct rank *target = &job->ranks[0];
    if (job->size < 3)
        return;
    for (unsigned lane = 0; lane < 2; lane++) {
        for (unsigned i = 0; i < 200; i++) /* past any first contact */
            job_post_sure(&job->ranks[i % job->size], 0, (pen_lane)lane, 16, 0);
        job_settle(job);
        uint32_t mine = job->ranks[quiet].serial_count;
        job_post_sure(&job->ranks[quiet], 0, (pen_lane)lane, 16, 0);
        for (unsigned i = 0; i < 50 * job->size && !job->ranks[quiet].ledger[mine].arrived; i++) {
            for (unsigned k = 0; k < 4; k++)
                (void)job_post(&job->ranks[1], 0, (pen_lane)lane, 16, 0);
            (void)job_poll(target, PEN_LANES_ALL, 2);
            (void)job_poll(&job->ranks[quiet], 0, 2); /* in case its frame had to wait */
        }
        CHECK(job->ranks[quiet].ledger[mine].arrived);
        job_settle(job);
    }
}

static void links_close_with_frames_in_them(struct job *job)
{
    uint32_t max = job->ranks[0].link->caps.frame_max;
    for (pen_peer from = 0; from < job->size; from++)
        for (unsigned lane = 0; lane < PEN_LANES; lane++)
            for (unsigned i = 0; i < 8; i++)
                (void)job_post(&job->ranks[from], (from + i) % job->size, (pen_lane)lane,
                               i % 2 ? 16 : 80, i == 7 ? max : i * 33);
}

const contract_test lane_tests[] = {
    { "a_full_lane_answers_again_and_loses_nothing", a_full_lane_answers_again_and_loses_nothing, 0,
      false },
    { "a_reply_finds_room_when_requests_are_full", a_reply_finds_room_when_requests_are_full, 0,
      false },
    { "control_finds_room_when_all_else_is_full", control_finds_room_when_all_else_is_full, 0,
      false },
    { "poll_brings_only_the_lanes_asked_for", poll_brings_only_the_lanes_asked_for, 0, false },
    { "poll_keeps_to_its_budget", poll_keeps_to_its_budget, 0, false },
    { "a_busy_peer_does_not_starve_the_others", a_busy_peer_does_not_starve_the_others, 0, false },
    { "links_close_with_frames_in_them", links_close_with_frames_in_them, 0, true },
    { 0 },
};
