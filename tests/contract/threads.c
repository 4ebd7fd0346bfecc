/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.c: a thread for each rank, and one more that posts for the rank while it polls. Under
 * ThreadSanitizer this shows whether all data is handed over properly. */
#include "contract.h"

#include "conduit/conduit.h"
#include "os/os.h"

#include <sched.h>

enum {
    THREADS_SECONDS = 100
}; /* seconds after which the test hangs, also if many ranks share few cores */

struct crew {
    struct rank *rank;
    uint32_t frames, body_max;
    pen_lane (*lane_of)(uint32_t i);
    _Atomic uint64_t *missing; /* frames that have not arrived, of all ranks */
};

static pen_lane mostly_requests(uint32_t i)
{
    return i % 16 == 0 ? PEN_LANE_CONTROL : PEN_LANE_REQUEST;
}

/* Sends without answers: only the conduit tells a sender that its slots and buffers are free. */
static pen_lane only_replies(uint32_t i)
{
    (void)i;
    return PEN_LANE_REPLY;
}

static pen_lane only_control(uint32_t i)
{
    (void)i;
    return PEN_LANE_CONTROL;
}

static void answer(struct rank *rank, pen_peer from, pen_lane lane, uint32_t body_len)
{
    if (lane == PEN_LANE_REQUEST)
        job_reply(rank, from, 8 + body_len % 13 * 8, body_len % 5 == 0 ? body_len / 2 : 0);
}

/* Polls once as the engine would; the backlog belongs to the poller. */
static void serve(struct rank *rank)
{
    unsigned lanes = PEN_LANES_ALL;
    if (job_flush(rank) != 0)
        lanes &= ~PEN_LANE_BIT(PEN_LANE_REQUEST);
    if (job_poll(rank, lanes, 32) == 0)
        sched_yield(); /* there may be more threads than cores */
}

static bool post_one(struct crew *crew, uint32_t i, pen_peer to, uint32_t head_len,
                     uint32_t body_len)
{
    if (i % 7 == 0 && body_len != 0 && crew->rank->link->zcopy != NULL)
        return job_post_in_place(crew->rank, to, crew->lane_of(i), head_len, body_len);
    return job_post(crew->rank, to, crew->lane_of(i), head_len, body_len) == PEN_POST_DONE;
}

static void *post_frames(void *arg)
{
    struct crew *crew = (struct crew *)arg;
    struct rank *rank = crew->rank;
    uint64_t random = 99 + rank->self;
    uint64_t until = pen_now_ns() + THREADS_SECONDS * UINT64_C(1000000000);
    for (uint32_t i = 0; i < crew->frames; i++) {
        pen_peer to = job_random(&random, rank->job->size);
        uint32_t head_len = 8 + 8 * job_random(&random, PEN_FRAME_HEAD_MAX / 8);
        uint32_t body_len = i % 3 == 0 ? job_random(&random, crew->body_max + 1) : 0;
        while (!post_one(crew, i, to, head_len, body_len)) {
            sched_yield();
            CHECK(pen_now_ns() < until);
        }
    }
    return NULL;
}

/* Serves until all frames of all ranks have arrived, since peers may wait for room that only this
 * rank can free. */
static void *serve_rank(void *arg)
{
    struct crew *crew = (struct crew *)arg;
    struct rank *rank = crew->rank;
    uint64_t told = rank->delivered_total;
    uint64_t until = pen_now_ns() + THREADS_SECONDS * UINT64_C(1000000000);
    while (atomic_load_explicit(crew->missing, memory_order_relaxed) != 0) {
        serve(rank);
        atomic_fetch_sub_explicit(crew->missing, rank->delivered_total - told,
                                  memory_order_relaxed);
        told = rank->delivered_total;
        CHECK(pen_now_ns() < until);
    }
    return NULL;
}

static void run_crews(struct job *job, uint32_t frames, uint32_t body_max,
                      pen_lane (*lane_of)(uint32_t))
{
    struct crew crews[33];
    pthread_t servers[33], posters[33];
    uint64_t total = 0;
    CHECK(job->size <= 33);
    for (uint32_t i = 0; i < frames; i++) /* each request is answered */
        total += (lane_of(i) == PEN_LANE_REQUEST ? 2 : 1) * job->size;
    _Atomic uint64_t missing = total;
    for (pen_peer self = 0; self < job->size; self++) {
        struct rank *rank = &job->ranks[self];
        rank->on_deliver = answer;
        /* Expects its own frames, and answers to all ranks' requests. */
        job_expect(rank, rank->serial_count + frames * (job->size + 1));
        crews[self] = (struct crew){ .rank = rank,
                                     .frames = frames,
                                     .body_max = body_max,
                                     .lane_of = lane_of,
                                     .missing = &missing };
    }
    for (pen_peer self = 0; self < job->size; self++) {
        CHECK(pthread_create(&servers[self], NULL, serve_rank, &crews[self]) == 0);
        CHECK(pthread_create(&posters[self], NULL, post_frames, &crews[self]) == 0);
    }
    for (pen_peer self = 0; self < job->size; self++) {
        CHECK(pthread_join(posters[self], NULL) == 0);
        CHECK(pthread_join(servers[self], NULL) == 0);
    }
    job_settle(job);
}

static void threads_exchange_short_frames(struct job *job)
{
    run_crews(job, 6000 / job->size, 40, mostly_requests);
}

static void threads_exchange_bodies(struct job *job)
{
    run_crews(job, 3000 / job->size, 3000, mostly_requests);
}

static void threads_exchange_large_bodies(struct job *job)
{
    run_crews(job, 200 / job->size + 4, job->ranks[0].link->caps.frame_max, mostly_requests);
}

static void threads_send_without_answer(struct job *job)
{
    run_crews(job, 9000 / job->size, 0, only_replies);
    run_crews(job, 9000 / job->size, 0, only_control);
    run_crews(job, 3000 / job->size, 1500, only_replies);
    run_crews(job, 3000 / job->size, 1500, only_control);
}

const contract_test thread_tests[] = {
    { "threads_exchange_short_frames", threads_exchange_short_frames, 0, false },
    { "threads_exchange_bodies", threads_exchange_bodies, 0, false },
    { "threads_exchange_large_bodies", threads_exchange_large_bodies, 0, false },
    { "threads_send_without_answer", threads_send_without_answer, 0, false },
    { 0 },
};
