/* SPDX-License-Identifier: BSD-3-Clause */
/* traffic.c: every rank sends to every rank, and answers from inside deliver. The test does not
 * end if the lanes depend on each other. */
#include "contract.h"

#include "conduit/conduit.h"
#include "os/os.h"

static const uint32_t reply_bodies[] = { 0, 0, 24, 700, 0, 9000, 60, 0 };

static uint32_t bounded(const struct rank *rank, uint32_t len)
{
    return len < rank->link->caps.frame_max ? len : rank->link->caps.frame_max;
}

static void answer(struct rank *rank, pen_peer from, pen_lane lane, uint32_t body_len)
{
    if (lane != PEN_LANE_REQUEST)
        return;
    uint32_t kind = (uint32_t)(rank->delivered_total + body_len) % 8;
    job_reply(rank, from, 8 + kind * 8, bounded(rank, reply_bodies[kind]));
}

static void send_storm(struct job *job, uint32_t requests, uint32_t body_max)
{
    uint64_t random = 42 + body_max;
    for (pen_peer self = 0; self < job->size; self++)
        job->ranks[self].on_deliver = answer;
    for (uint32_t i = 0; i < requests; i++) {
        for (pen_peer self = 0; self < job->size; self++) {
            struct rank *rank = &job->ranks[self];
            uint32_t head_len = 8 + 8 * job_random(&random, PEN_FRAME_HEAD_MAX / 8);
            uint32_t body_len = bounded(rank, job_random(&random, body_max + 1));
            /* Half of the time without a poll in between, so that lanes fill. */
            if (job_post(rank, job_random(&random, job->size), PEN_LANE_REQUEST, head_len,
                         body_len) == PEN_POST_AGAIN ||
                job_random(&random, 64) == 0)
                job_poll_all(job);
        }
    }
    job_settle(job);
}

static void requests_answered_from_deliver_never_block(struct job *job)
{
    send_storm(job, 8000 / job->size, 0);
    send_storm(job, 4000 / job->size, 200);
}

static void large_requests_and_replies_never_block(struct job *job)
{
    send_storm(job, 1000 / job->size + 10, 5000);
    send_storm(job, 200 / job->size + 10, job->ranks[0].link->caps.frame_max);
}

/* All ranks send to one, the pattern that runs out of room first. */
static void all_to_one_never_blocks(struct job *job)
{
    for (pen_peer self = 0; self < job->size; self++)
        job->ranks[self].on_deliver = answer;
    for (unsigned round = 0; round < 100; round++) {
        for (pen_peer from = 0; from < job->size; from++)
            for (unsigned i = 0; i < 10; i++)
                (void)job_post(&job->ranks[from], 0, PEN_LANE_REQUEST, 24, i % 4 * 300);
        if (round % 4 == 0)
            job_poll_all(job);
    }
    job_settle(job);
}

static void serve_all_but_requests_of(struct job *job, struct rank *busy)
{
    for (pen_peer peer = 1; peer < job->size; peer++) {
        (void)job_flush(&job->ranks[peer]);
        (void)job_poll(&job->ranks[peer], PEN_LANES_ALL, 32);
    }
    (void)job_poll(busy, PEN_LANES_ALL & ~PEN_LANE_BIT(PEN_LANE_REQUEST), 32);
}

/* The target polls only replies and control for a while, as with a full backlog. */
static void a_rank_that_takes_no_requests_still_gets_replies(struct job *job)
{
    struct rank *busy = &job->ranks[0];
    for (pen_peer self = 0; self < job->size; self++)
        job->ranks[self].on_deliver = answer;
    for (unsigned round = 0; round < 200; round++) {
        for (pen_peer peer = 0; peer < job->size; peer++) {
            (void)job_post(&job->ranks[peer], 0, PEN_LANE_REQUEST, 16, 0);
            (void)job_post(busy, peer, PEN_LANE_REQUEST, 16, 100);
        }
        serve_all_but_requests_of(job, busy);
    }
    uint64_t until = pen_now_ns() + UINT64_C(10000000000);
    while (job->size != 1 && busy->delivered[PEN_LANE_REPLY] == 0) { /* a long one, in packets */
        serve_all_but_requests_of(job, busy);
        CHECK(pen_now_ns() < until);
    }
    CHECK(busy->delivered[PEN_LANE_REQUEST] == 0);
    job_settle(job);
}

const contract_test traffic_tests[] = {
    { "requests_answered_from_deliver_never_block", requests_answered_from_deliver_never_block, 0,
      false },
    { "large_requests_and_replies_never_block", large_requests_and_replies_never_block, 0, false },
    { "all_to_one_never_blocks", all_to_one_never_blocks, 0, false },
    { "a_rank_that_takes_no_requests_still_gets_replies",
      a_rank_that_takes_no_requests_still_gets_replies, 0, false },
    { 0 },
};
