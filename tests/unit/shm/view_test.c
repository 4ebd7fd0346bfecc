/* SPDX-License-Identifier: BSD-3-Clause */
/* view_test.c: the view says that a poll would find nothing exactly then, where it can say so at
 * all; express entries take what they promise. */
#include "shm_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const shm_config defaults = { .channels = 32, .eager = 8, .park_polls = 4096 };

static shm_job job;

/* Posted, seen, polled for, and idle again. */
static void send_and_see(pen_peer from, pen_peer to, pen_lane lane, uint32_t head_len,
                         uint32_t body_len)
{
    uint32_t before = job.ranks[to].delivered;
    assert_true(shm_job_is_idle(&job, to));
    assert_int_equal(shm_job_post(&job, from, to, lane, head_len, body_len), PEN_POST_DONE);
    assert_false(shm_job_is_idle(&job, to));
    assert_int_equal(shm_job_poll(&job, to), 1);
    assert_int_equal(job.ranks[to].delivered, before + 1);
    assert_true(shm_job_is_idle(&job, to));
}

static void a_view_shows_whatever_comes(void **state)
{
    static const uint32_t bodies[] = { 0, 40, 300, 9000 };
    (void)state;
    for (pen_peer size = 2; size <= 3; size++) {
        shm_job_open(&job, size, &defaults);
        for (unsigned round = 0; round < 100; round++)
            for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++)
                for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++) {
                    send_and_see(size - 1, 0, lane, 8 + 8 * (round % 13), bodies[i]);
                    send_and_see(0, 1, lane, 24, bodies[i]);
                }
        shm_job_close(&job);
    }
}

static void what_one_poll_leaves_is_still_shown(void **state)
{
    (void)state;
    shm_job_open(&job, 2, &defaults);
    for (unsigned i = 0; i < 40; i++)
        assert_int_equal(shm_job_post(&job, 1, 0, PEN_LANE_REQUEST, 24, 0), PEN_POST_DONE);
    assert_int_equal(shm_job_poll(&job, 0), 32);
    assert_false(shm_job_is_idle(&job, 0));
    assert_int_equal(shm_job_poll(&job, 0), 8);
    assert_true(shm_job_is_idle(&job, 0));
    shm_job_close(&job);
}

static void a_view_with_too_many_rings_is_never_idle(void **state)
{
    (void)state;
    shm_job_open(&job, 4, &defaults);
    assert_false(shm_job_is_idle(&job, 0));
    shm_job_close(&job);
    shm_job_open(&job, 9, &defaults);
    assert_false(shm_job_is_idle(&job, 0));
    shm_job_close(&job);
    shm_job_open(&job, 3, &defaults); /* two peers, and then ourselves */
    assert_true(shm_job_is_idle(&job, 0));
    assert_int_equal(shm_job_post(&job, 0, 0, PEN_LANE_REQUEST, 24, 0), PEN_POST_DONE);
    assert_false(shm_job_is_idle(&job, 0));
    assert_int_equal(shm_job_poll(&job, 0), 1);
    assert_false(shm_job_is_idle(&job, 0));
    shm_job_close(&job);
}

static void a_ring_that_is_given_up_is_shown_as_silent(void **state)
{
    (void)state;
    shm_job_open(&job, 3, &defaults);
    shm_tx *tx = &job.ranks[1].link->to[0].lanes[PEN_LANE_REQUEST];
    atomic_store(&tx->slots[0].word, shm_word(0, 0)); /* no head */
    assert_false(shm_job_is_idle(&job, 0));
    (void)shm_job_poll(&job, 0);
    assert_int_equal(job.ranks[0].lost, 1);
    send_and_see(2, 0, PEN_LANE_REQUEST, 24, 0);
    shm_job_close(&job);
}

static pen_express *entry_of(pen_peer from, pen_peer to, pen_lane lane)
{
    return pen_express_of(&job.ranks[from].link->base.express, to, lane);
}

static void an_express_entry_takes_what_it_promises(void **state)
{
    (void)state;
    shm_job_open(&job, 2, &defaults);
    const pen_express_ops *ops = &job.ranks[0].link->base.express.ops;
    for (unsigned lap = 0; lap < 5; lap++) {
        pen_express *entry = entry_of(0, 1, PEN_LANE_REPLY);
        uint32_t before = job.ranks[1].delivered, count = 0;
        for (; entry->room != 0; count++)
            assert_int_equal(count % 2 == 0 ? ops->one(entry, 1) : ops->four(entry, 1, 2, 3, 4), 0);
        assert_int_equal(count, lap == 0 ? SHM_RING_SLOTS : SHM_RING_SLOTS - 1);
        assert_int_equal(shm_job_post(&job, 0, 1, PEN_LANE_REPLY, 8, 0), PEN_POST_AGAIN);
        assert_int_equal(shm_job_poll(&job, 1) + shm_job_poll(&job, 1), SHM_RING_SLOTS);
        assert_int_equal(job.ranks[1].delivered - before, lap == 0 ? count : count + 1);
        assert_int_equal(entry->room, 0); /* until a sender asks for room */
        assert_int_equal(shm_job_post(&job, 0, 1, PEN_LANE_REPLY, 8, 0), PEN_POST_DONE);
        assert_int_equal(entry->room, SHM_RING_SLOTS - 1);
    }
    shm_job_close(&job);
}

static void an_express_frame_to_oneself_is_found(void **state)
{
    (void)state;
    shm_job_open(&job, 2, &defaults);
    const pen_express_ops *ops = &job.ranks[0].link->base.express.ops;
    assert_true(shm_job_is_idle(&job, 0));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ops->two(entry_of(0, 0, PEN_LANE_REQUEST), 1, 2), 0);
        assert_false(shm_job_is_idle(&job, 0));
        assert_int_equal(shm_job_poll(&job, 0), 1);
        assert_true(shm_job_is_idle(&job, 0));
    }
    shm_job_close(&job);
}

static void without_membarrier_there_are_no_express_entries(void **state)
{
    shm_config config = defaults;
    (void)state;
    config.fenced = true;
    shm_job_open(&job, 2, &config);
    assert_null(job.ranks[0].link->base.express.first);
    shm_job_close(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_shows_whatever_comes),
        cmocka_unit_test(what_one_poll_leaves_is_still_shown),
        cmocka_unit_test(a_view_with_too_many_rings_is_never_idle),
        cmocka_unit_test(a_ring_that_is_given_up_is_shown_as_silent),
        cmocka_unit_test(an_express_entry_takes_what_it_promises),
        cmocka_unit_test(an_express_frame_to_oneself_is_found),
        cmocka_unit_test(without_membarrier_there_are_no_express_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
