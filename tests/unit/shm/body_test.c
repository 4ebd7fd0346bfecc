/* SPDX-License-Identifier: BSD-3-Clause */
/* body_test.c: long bodies go past the caches where their reader is far, whichever memory of its
 * takes them; short ones are not even timed. */
#include "shm_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { FROM = 0, NEAR = 1, FAR = 2, RANKS = 3, ROUNDS = 3 };

static const shm_config config = { .channels = 32, .eager = 8, .park_polls = 4096 };
static shm_job job;

static pen_copy_pace *pace_to(pen_peer to) { return &job.ranks[FROM].link->to[to].pace; }

/* All its bytes arrive. */
static void send(pen_peer to, uint32_t body_len)
{
    static unsigned char body[SHM_BODY_MAX];
    static const uint64_t head[3];
    pen_link *link = &job.ranks[FROM].link->base;
    pen_frame frame = { .head = head, .head_len = sizeof head, .body = body, .body_len = body_len };
    uint64_t sum = job.ranks[to].sum;
    for (uint32_t i = 0; i < body_len; i++)
        sum += body[i] = (unsigned char)(i * 7 + body_len % 251 + 1);
    assert_int_equal(link->ops->post(link, to, PEN_LANE_REQUEST, &frame, NULL), PEN_POST_DONE);
    assert_int_equal(shm_job_poll(&job, to), 1);
    assert_true(job.ranks[to].sum == sum);
}

static void long_bodies_keep_the_pace_of_their_reader(void **state)
{
    static const uint32_t lens[] = { PEN_COPY_OUT_MIN, SHM_BODY_MAX }; /* two lengths */
    (void)state;
    shm_job_open(&job, RANKS, &config);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        for (unsigned i = 0; i < sizeof lens / sizeof *lens; i++)
            send(FAR, lens[i]);
        const size_t sent = PEN_COPY_PACED ? round * (sizeof lens / sizeof *lens) : 0;
        assert_int_equal(pace_to(FAR)->count, sent);
    }
    assert_int_equal(pace_to(NEAR)->count, 0);
    shm_job_close(&job);
}

static pen_post post(pen_lane lane, uint32_t body_len)
{
    return shm_job_post(&job, FROM, NEAR, lane, 16, body_len);
}

static const shm_layout *layout(void) { return &job.ranks[FROM].link->layout; }

static uint32_t ring_offset(pen_lane lane)
{
    return job.ranks[FROM].link->to[NEAR].lanes[lane].ring_next & (layout()->ring_len - 1);
}

static void a_few_bodies_of_any_length_fit_and_stay_in_their_window(void **state)
{
    (void)state;
    shm_job_open(&job, RANKS, &config);
    for (uint32_t len = 4096; len <= SHM_BODY_MAX; len += 4096) {
        const uint32_t record = shm_ring_record(len);
        const uint32_t window = shm_ring_window(layout(), record), fitting = window / record;
        assert_true(fitting >= SHM_RING_RECORDS);
        for (uint32_t round = 0; round < 5; round++) {
            uint32_t sent = 0;
            while (post(PEN_LANE_REQUEST, len) == PEN_POST_DONE) {
                assert_true(ring_offset(PEN_LANE_REQUEST) <= window);
                sent++;
            }
            assert_in_range(sent, 1, fitting);
            assert_int_equal(shm_job_poll(&job, NEAR), sent);
        }
    }
    for (pen_lane lane = PEN_LANE_REQUEST; lane <= PEN_LANE_REPLY; lane++)
        assert_int_equal(job.ranks[NEAR].link->page->lanes[lane].chunks_taken, 0);
    shm_job_close(&job);
}

static void replies_go_on_behind_their_window(void **state)
{
    enum { LEN = 16000 };
    (void)state;
    shm_job_open(&job, RANKS, &config);
    uint32_t requests = 0, replies = 0;
    while (post(PEN_LANE_REQUEST, LEN) == PEN_POST_DONE)
        requests++;
    while (post(PEN_LANE_REPLY, LEN) == PEN_POST_DONE)
        replies++;
    assert_int_equal(requests, SHM_RING_RECORDS);
    assert_int_equal(replies, layout()->ring_len / shm_ring_record(LEN));
    while (shm_job_poll(&job, NEAR) != 0)
        ;
    assert_int_equal(job.ranks[NEAR].delivered, requests + replies);
    shm_job_close(&job);
}

static void the_reader_gives_back_each_long_body(void **state)
{
    (void)state;
    shm_job_open(&job, RANKS, &config);
    for (uint32_t i = 0; i < 50; i++) { /* full, but for one body that has been read */
        while (post(PEN_LANE_REQUEST, 10000) == PEN_POST_DONE)
            ;
        assert_int_equal(
            job.ranks[NEAR].link->base.ops->poll(&job.ranks[NEAR].link->base, PEN_LANES_ALL, 1), 1);
        assert_int_equal(post(PEN_LANE_REQUEST, 10000), PEN_POST_DONE);
    }
    shm_job_close(&job);
}

static void link_copies_as_its_host_says(void **state)
{
    (void)state;
    shm_job_open(&job, RANKS, &config);
    for (pen_peer rank = 0; rank < RANKS; rank++)
        assert_memory_equal(&job.ranks[rank].link->copies, &shm_job_copies, sizeof shm_job_copies);
    shm_job_close(&job);
}

static void short_ones_have_none(void **state)
{
    (void)state;
    shm_job_open(&job, RANKS, &config);
    for (uint32_t len = 1; len < PEN_COPY_OUT_MIN; len = len * 2 + 1)
        send(FAR, len);
    send(FAR, PEN_COPY_OUT_MIN - 1);
    assert_int_equal(pace_to(FAR)->count, 0);
    shm_job_close(&job);
}

static void what_goes_past_the_caches_arrives(void **state)
{
    (void)state;
    shm_job_open(&job, RANKS, &config);
    for (uint32_t len = PEN_COPY_OUT_MIN; len <= SHM_BODY_MAX; len += 1021) {
        pace_to(FAR)->count = 1; /* the next is not timed */
        pace_to(FAR)->streams = true;
        send(FAR, len);
    }
    shm_job_close(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_bodies_keep_the_pace_of_their_reader),
        cmocka_unit_test(a_few_bodies_of_any_length_fit_and_stay_in_their_window),
        cmocka_unit_test(replies_go_on_behind_their_window),
        cmocka_unit_test(the_reader_gives_back_each_long_body),
        cmocka_unit_test(link_copies_as_its_host_says),
        cmocka_unit_test(short_ones_have_none),
        cmocka_unit_test(what_goes_past_the_caches_arrives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
