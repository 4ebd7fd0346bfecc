/* SPDX-License-Identifier: BSD-3-Clause */
/* played.c: the whole ucx conduit, from open to close, over the UCX of fake_ucp.h.
 *
 *     ucx.played [SEED]    plays one seed of the random test */
#include "conduits/ucx/ucx.h"
#include "diag/counters.h"
#include "ucx/fake_ucp.h"
#include "ucx/job.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 10000, STEPS = 120 };

/* ---- opening, connecting, closing ------------------------------------------------------------ */

static void a_call_that_fails_leaves_nothing_behind(void **state)
{
    (void)state;
    static const char *const calls[] = { "config_read", "config_modify", "init_version",
                                         "worker_create", "set_am_handler" };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        pen_link *link;
        fake_init();
        fake.failing = calls[i];
        assert_int_equal(open_link(&link), PEN_ERR_UNUSABLE);
        assert_int_equal(fake.logged, 1);
        expect_nothing_left();
    }
}

static void an_address_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    pen_link *link;
    ucx_address blob;
    fake_init();
    assert_int_equal(open_link(&link), PEN_OK);
    assert_string_equal(fake.tls, "tcp,self");
    fake.address_len = UCX_ADDRESS_MAX + 1;
    assert_int_equal(link->ops->address(link, &blob), PEN_ERR_RESOURCE);
    fake.address_len = UCX_ADDRESS_MAX;
    assert_int_equal(link->ops->address(link, &blob), PEN_OK);
    fake.failing = "worker_get_address";
    assert_int_equal(link->ops->address(link, &blob), PEN_ERR_UNUSABLE);
    link->ops->close(link);
    expect_nothing_left();
}

static void peers_must_have_the_same_settings(void **state)
{
    (void)state;
    pen_link *link;
    fake_init();
    assert_int_equal(open_link(&link), PEN_OK);
    assert_int_equal(connect_link(link, 1), PEN_ERR_PROTOCOL);
    differs_in_rma = true;
    assert_int_equal(connect_link(link, 0), PEN_ERR_PROTOCOL);
    differs_in_rma = false;
    fake.failing = "ep_create";
    assert_int_equal(connect_link(link, 0), PEN_ERR_UNUSABLE);
    assert_int_equal(fake.logged, 3);
    link->ops->close(link);
    expect_nothing_left();
}

static void what_has_come_goes_back_at_the_end(void **state)
{
    (void)state;
    pen_link *link = start();
    for (unsigned i = 0; i < 40; i++)
        arrive(1, PEN_LANE_REQUEST, 100);
    while (fake.coming_first < fake.coming_count)
        assert_int_equal(poll_lanes(link, PEN_LANE_BIT(PEN_LANE_REPLY), 9), 0);
    assert_true(fake.held > 20); /* most stay in UCX's memory, without a copy */
    link->ops->close(link);
    expect_nothing_left();
}

static void a_worker_with_unsent_frames_stays(void **state)
{
    (void)state;
    pen_link *link = start();
    fake.late_in_8 = 8;
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(post(link, 1, PEN_LANE_CONTROL, 100), PEN_POST_DONE);
    link->ops->close(link);
    assert_int_equal(fake.contexts, 1);
    assert_int_equal(fake.workers, 1);
    for (unsigned i = 0; i < fake.late_count; i++) { /* UCX may still read them */
        assert_memory_equal(fake.late[i]->bytes, fake.late[i]->copy, fake.late[i]->len);
        free(fake.late[i]);
    }
}

static void in_an_orderly_end_the_last_frames_leave(void **state)
{
    (void)state;
    pen_link *link = start();
    is_orderly = true;
    fake.late_in_8 = 8;
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(post(link, i % PEERS, PEN_LANE_CONTROL, 100), PEN_POST_DONE);
    link->ops->close(link);
    expect_nothing_left();
    assert_int_equal(fake.late_count, 0);
    link = start();
    fake.late_in_8 = 8;
    fake.is_stuck = true; /* a peer does not read */
    assert_int_equal(post(link, 1, PEN_LANE_CONTROL, 100), PEN_POST_DONE);
    link->ops->close(link); /* gives up after a second */
    is_orderly = false;
    assert_int_equal(fake.workers, 1);
    assert_memory_equal(fake.late[0]->bytes, fake.late[0]->copy, fake.late[0]->len);
    free(fake.late[0]);
    free(fake.flush);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void a_rank_sleeps_only_if_nothing_has_come(void **state)
{
    (void)state;
    pen_link *link = start();
    assert_true(link->wait->arm(link));
    assert_true(fake.is_armed);
    assert_true(link->due->due_ns(link) == UINT64_MAX);
    arrive(2, PEN_LANE_REPLY, 16); /* after the last poll */
    assert_false(link->wait->arm(link));
    assert_int_equal(poll_lanes(link, 7, 9), 1);
    arrive(2, PEN_LANE_REPLY, 16);
    assert_int_equal(poll_lanes(link, PEN_LANE_BIT(PEN_LANE_REQUEST), 9), 0);
    assert_false(link->wait->arm(link)); /* it lies in the link */
    assert_int_equal(poll_lanes(link, 7, 9), 1);
    fake.late_in_8 = 8;
    assert_int_equal(post(link, 1, PEN_LANE_REQUEST, 100), PEN_POST_DONE);
    assert_true(link->due->due_ns(link) != UINT64_MAX);
    end_one_send(UCS_ERR_CONNECTION_RESET);
    assert_int_equal(poll_lanes(link, 7, 9), 0);
    assert_int_equal(fake.lost[1], 0); /* the launcher has yet to notice it */
    assert_true(link->due->due_ns(link) != UINT64_MAX);
    time_passes();
    assert_int_equal(poll_lanes(link, 7, 9), 0);
    assert_int_equal(fake.lost[1], 1);
    assert_true(link->due->due_ns(link) == UINT64_MAX);
    link->ops->close(link);
    expect_nothing_left();
}

static void frames_of_a_lost_peer_come_before_the_news(void **state)
{
    (void)state;
    pen_link *link = start();
    fake.late_in_8 = 8;
    assert_int_equal(post(link, 1, PEN_LANE_REQUEST, 100), PEN_POST_DONE);
    arrive(1, PEN_LANE_CONTROL, 16);
    arrive(1, PEN_LANE_REQUEST, 16);
    end_one_send(UCS_ERR_CONNECTION_RESET);
    time_passes();
    assert_int_equal(poll_lanes(link, 7, 1), 1);
    assert_int_equal(fake.lost[1], 0);
    assert_false(link->wait->arm(link));
    assert_int_equal(poll_lanes(link, 7, 9), 1);
    assert_int_equal(fake.lost[1], 1);
    link->ops->close(link);
    expect_nothing_left();
}

static void without_a_descriptor_a_rank_naps(void **state)
{
    (void)state;
    pen_link *link;
    fake_init();
    fake.has_fd = false;
    assert_int_equal(open_link(&link), PEN_OK);
    const int fd = link->wait->fd(link);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    assert_true(link->wait->arm(link));
    assert_false(fake.is_armed);
    assert_true(link->due->due_ns(link) != UINT64_MAX);
    link->ops->close(link);
    assert_true(fcntl(fd, F_GETFD) < 0);
    expect_nothing_left();
}

/* ---- all together, by chance ----------------------------------------------------------------- */

static void step(pen_link *link)
{
    static const uint32_t lens[] = { 0, 3, 16, 17, 200, BODY_MAX };
    const pen_peer peer = dice(PEERS);
    const pen_lane lane = (pen_lane)dice(PEN_LANES);
    const uint32_t body_len = lens[dice(6)];
    switch (dice(4)) {
    case 0:
        if (fake.posted < MOST)
            assert_int_not_equal(post(link, peer, lane, body_len), PEN_POST_FAILED);
        break;
    case 1:
        if (fake.coming_count < MOST)
            arrive(peer, lane, body_len);
        break;
    case 2:
        if (link->wait->arm(link))
            assert_true(!is_busy());
        break;
    default: {
        const unsigned budget = 1 + dice(20), lanes = dice(8);
        assert_true(poll_lanes(link, lanes, budget) <= budget);
    }
    }
}

static void play(uint64_t seed)
{
    pen_link *link = start();
    fake.dice = seed;
    fake.refuse_in_8 = dice(8);
    fake.late_in_8 = dice(9);
    for (unsigned i = 0; i < STEPS; i++)
        step(link);
    const bool is_read = dice(2) == 0; /* else the link closes with frames in it */
    for (unsigned i = 0; is_read && i < 3 * STEPS; i++)
        (void)poll_lanes(link, 7, 100);
    while (fake.late_count != 0)
        end_one_send(UCS_OK);
    for (uint32_t i = 0; i < fake.posted; i++)
        assert_int_equal(fake.went[i], 1);
    for (uint32_t i = 0; i < fake.arrivals; i++)
        assert_true(fake.delivered[i] == 1 || (!is_read && fake.delivered[i] == 0));
    assert_true(!is_read || fake.coming_first == fake.coming_count);
    while (fake.coming_first < fake.coming_count) /* nobody reads these */
        free(fake.coming[fake.coming_first++].room);
    link->ops->close(link);
    expect_nothing_left();
    assert_int_equal(counters.net_bad_frame + counters.net_bad_source, 0);
}

static uint64_t first_seed = 1, seeds = SEEDS;

static void each_frame_goes_once_and_comes_once(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++)
        play(seed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_fails_leaves_nothing_behind),
        cmocka_unit_test(an_address_that_does_not_fit_is_refused),
        cmocka_unit_test(peers_must_have_the_same_settings),
        cmocka_unit_test(what_has_come_goes_back_at_the_end),
        cmocka_unit_test(a_worker_with_unsent_frames_stays),
        cmocka_unit_test(in_an_orderly_end_the_last_frames_leave),
        cmocka_unit_test(frames_of_a_lost_peer_come_before_the_news),
        cmocka_unit_test(a_rank_sleeps_only_if_nothing_has_come),
        cmocka_unit_test(without_a_descriptor_a_rank_naps),
        cmocka_unit_test(each_frame_goes_once_and_comes_once),
    };
    if (argc > 1) {
        first_seed = strtoull(argv[1], NULL, 10);
        seeds = 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
