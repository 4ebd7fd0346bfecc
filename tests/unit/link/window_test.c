/* SPDX-License-Identifier: BSD-3-Clause */
/* window_test.c: worlds of many ranks over a network that never says "full": no inbox is overrun,
 * nothing is lost, and nothing waits without end, whatever the delays, refusals and lengths. */
#include "link/window.h"
#include "support/bounded.h"
#include "unit/link/window_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- tests ----------------------------------------------------------------------------------- */

static uint32_t sum_of(const world *w, pen_lane lane)
{
    uint32_t sum = 0;
    for (pen_peer self = 0; self < w->size; self++)
        sum += w->ranks[self].got[lane];
    return sum;
}

/* One rank makes one step: it posts a request if it has one left, or polls. */
static void step(world *w, uint32_t hot)
{
    test_rank *rank = &w->ranks[roll(w, w->size)];
    pen_peer to = roll(w, 100) < hot ? 0 : roll(w, w->size);
    uint32_t body_len = roll(w, 4) == 0 ? roll(w, w->body_max + 1) : 0;
    if (rank->requests_left != 0 && roll(w, 3) != 0 &&
        post(rank, to, PEN_LANE_REQUEST, 16 + 8 * roll(w, 12), body_len) == PEN_POST_DONE)
        rank->requests_left--;
    else if (rank != &w->ranks[0] || roll(w, 8) == 0) /* rank 0 is slow */
        (void)poll_as_the_engine(rank);
}

static void run_world(uint64_t seed, bool lends)
{
    enum { REQUESTS = 120 };
    uint64_t dice = seed * UINT64_C(0x9e3779b97f4a7c15);
    world picker = { .dice = dice };
    const bounded_config config = {
        .frame_max = 512 + roll(&picker, 8000),
        .grain = 1u << roll(&picker, 11),
        .overhead = roll(&picker, 700),
        .units = 0,
        .late = roll(&picker, 3) * roll(&picker, 12),
        .refuses = roll(&picker, 2) * (2 + roll(&picker, 9)),
        .lends = lends,
        .counts = true,
    };
    bounded_config sized = config;
    pen_peer size = 1 + roll(&picker, RANKS_MAX);
    sized.units = (9 * 1024 + roll(&picker, 20000)) / config.grain + 9;
    world *w = open_world(size, &sized, dice);
    uint32_t hot = roll(w, 2) * 90;
    w->answers = true;
    for (pen_peer self = 0; self < size; self++)
        w->ranks[self].requests_left = REQUESTS;
    for (uint32_t steps = 0; sum_of(w, PEN_LANE_REPLY) < REQUESTS * size; steps++) {
        if (steps == STEPS_MAX)
            fail_msg("seed %llu: %u of %u requests, %u replies", (unsigned long long)seed,
                     sum_of(w, PEN_LANE_REQUEST), REQUESTS * size, sum_of(w, PEN_LANE_REPLY));
        step(w, hot);
    }
    assert_int_equal(sum_of(w, PEN_LANE_REQUEST), REQUESTS * size);
    close_world(w);
}

static void no_world_overruns_an_inbox_or_waits_without_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++)
        for (unsigned lends = 0; lends < 2; lends++)
            run_world(seed, lends != 0);
}

/* Every sender fills every lane with the longest frames, then with the shortest. The inbox counts,
 * so that a frame charged with one unit too few is found. */
static void a_flood_to_a_rank_that_does_not_poll_is_bounded(void **state)
{
    (void)state;
    bounded_config config = bounded_defaults;
    config.counts = true;
    config.units = 512; /* 128 KiB for each peer */
    world *w = open_world(4, &config, 1);
    size_t before = w->memory;
    for (pen_peer from = 0; from < 4; from++) {
        uint32_t requests = fill(w, from, 0, PEN_LANE_REQUEST, w->body_max);
        assert_true(requests > 0 && requests * w->body_max < 1u << 20);
        assert_true(fill(w, from, 0, PEN_LANE_REQUEST, 0) < 1000);
        assert_true(fill(w, from, 0, PEN_LANE_REPLY, w->body_max) > 0);
        (void)fill(w, from, 0, PEN_LANE_REPLY, 0);
        assert_true(fill(w, from, 0, PEN_LANE_CONTROL, w->body_max) > 0);
        (void)fill(w, from, 0, PEN_LANE_CONTROL, 0);
    }
    assert_int_equal(w->memory, before); /* the window keeps no frame */
    close_world(w);
}

/* The frame that a handler reads still takes its room. */
static void room_is_granted_after_the_frame_was_read(void **state)
{
    (void)state;
    bounded_config config = bounded_defaults;
    config.counts = true;
    config.units = 81; /* shared out without a rest */
    world *w = open_world(2, &config, 1);
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        for (pen_peer from = 0; from < 2; from++)
            (void)fill(w, from, 1, (pen_lane)lane, 0);
    w->refills = true;
    for (unsigned i = 0; i < 300; i++)
        (void)w->ranks[1].link->ops->poll(w->ranks[1].link, PEN_LANES_ALL, 1);
    w->refills = false;
    assert_true(w->ranks[1].got[PEN_LANE_CONTROL] > 100);
    close_world(w);
}

/* Replies and control come and go while requests stay unread. */
static void a_lane_flows_while_the_lanes_before_it_are_full(void **state)
{
    (void)state;
    bounded_config config = bounded_defaults;
    config.counts = true;
    world *w = open_world(3, &config, 1);
    for (pen_peer from = 0; from < 3; from++)
        (void)fill(w, from, 0, PEN_LANE_REQUEST, w->body_max);
    for (unsigned round = 0; round < 200; round++) {
        for (pen_peer from = 0; from < 3; from++) {
            assert_int_equal(post(&w->ranks[from], 0, PEN_LANE_REPLY, 104, w->body_max),
                             PEN_POST_DONE);
            assert_int_equal(post(&w->ranks[from], 0, PEN_LANE_CONTROL, 104, w->body_max),
                             PEN_POST_DONE);
        }
        (void)drain_all(w, PEN_LANE_BIT(PEN_LANE_REPLY) | PEN_LANE_BIT(PEN_LANE_CONTROL));
    }
    assert_int_equal(w->ranks[0].got[PEN_LANE_REQUEST], 0);
    assert_int_equal(w->ranks[0].got[PEN_LANE_REPLY], 600);
    assert_int_equal(w->ranks[0].got[PEN_LANE_CONTROL], 600);
    close_world(w);
}

/* A grant was about to ride on a frame that the network refused. It goes in a note, although the
 * rank has nothing to post. */
static void grants_of_a_refused_frame_are_not_forgotten(void **state)
{
    (void)state;
    pen_peer_counters before, after;
    bounded_config config = bounded_defaults;
    config.counts = true;
    world *w = open_world(2, &config, 1);
    for (unsigned i = 0; i < 6; i++) /* worth a ride, and not due */
        assert_int_equal(post(&w->ranks[0], 1, PEN_LANE_REQUEST, 16, 0), PEN_POST_DONE);
    (void)drain_all(w, PEN_LANES_ALL);
    assert_true(w->ranks[0].link->count->peer(w->ranks[0].link, 1, &before));
    bounded_refuse(w->ranks[1].inner, true);
    assert_int_equal(post(&w->ranks[1], 0, PEN_LANE_REPLY, 16, 0), PEN_POST_AGAIN);
    (void)drain_all(w, PEN_LANES_ALL);
    assert_int_equal(w->ranks[1].link->due->due_ns(w->ranks[1].link), 0);
    bounded_refuse(w->ranks[1].inner, false);
    (void)drain_all(w, PEN_LANES_ALL);
    assert_true(w->ranks[0].link->count->peer(w->ranks[0].link, 1, &after));
    assert_int_equal(after.hand, before.hand + 6);
    close_world(w);
}

/* A rank asks for requests only. It still hears grants, which come in CONTROL, and the engine's
 * frames of CONTROL wait. */
static void control_that_nobody_asks_for_is_kept(void **state)
{
    (void)state;
    bounded_config config = bounded_defaults;
    config.counts = true;
    world *w = open_world(2, &config, 1);
    assert_int_equal(post(&w->ranks[0], 1, PEN_LANE_CONTROL, 24, 100), PEN_POST_DONE);
    assert_int_equal(post(&w->ranks[0], 1, PEN_LANE_CONTROL, 32, 0), PEN_POST_DONE);
    for (unsigned i = 0; i < 1000; i++) {
        if (post(&w->ranks[0], 1, PEN_LANE_REQUEST, 16, 500) == PEN_POST_DONE)
            continue;
        (void)drain_all(w, PEN_LANE_BIT(PEN_LANE_REQUEST));
        assert_int_equal(post(&w->ranks[0], 1, PEN_LANE_REQUEST, 16, 500), PEN_POST_DONE);
    }
    (void)drain_all(w, PEN_LANE_BIT(PEN_LANE_REQUEST));
    pen_link *link = w->ranks[1].link;
    assert_int_equal(w->ranks[1].got[PEN_LANE_REQUEST], 1000);
    assert_int_equal(w->ranks[1].got[PEN_LANE_CONTROL], 0);
    assert_int_equal(link->due->due_ns(link), 0);
    (void)link->ops->poll(link, PEN_LANES_ALL, 1);
    assert_int_equal(w->ranks[1].got[PEN_LANE_CONTROL], 1);
    (void)drain_all(w, PEN_LANES_ALL);
    assert_int_equal(w->ranks[1].got[PEN_LANE_CONTROL], 2);
    assert_true(link->due->due_ns(link) == UINT64_MAX);
    close_world(w);
}

/* A frame without credit, a word of no kind, and a grant of too much: the peer is lost once, and
 * its frames are dropped. */
static void a_peer_that_breaks_the_rules_is_lost(void **state)
{
    (void)state;
    static const unsigned char words[][PEN_WINDOW_WORD_LEN] = {
        { 1, 0, 0, 0, 0, 0, 0, 0 },       /* a frame, with a body that needs more credits */
        { 3, 0, 0, 0, 0, 0, 0, 0 },       /* no kind */
        { 2, 0, 0, 0, 0, 0, 0, 0 },       /* a note with a head */
        { 1, 0, 0xff, 0xff, 0, 0, 0, 0 }, /* a grant of 65535 credits */
        { 1, 200, 0, 0, 0, 0, 0, 0 },     /* a need that cannot be */
    };
    static const char body[50000];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        bounded_config config = bounded_defaults;
        config.units *= 4; /* the inbox itself has room, as far as it knows */
        config.counts = true;
        world *w = open_world(2, &config, 1);
        pen_link *inner = w->ranks[1].inner;
        unsigned char head[24] = { 0 };
        memcpy(head + 8, &(uint64_t){ 16 }, 8);
        memcpy(head + 16, words[i], PEN_WINDOW_WORD_LEN);
        const pen_frame frame = { head, body, sizeof head, i == 0 ? sizeof body : 0 };
        for (unsigned count = 0; count < 2; count++)
            assert_int_equal(inner->ops->post(inner, 0, PEN_LANE_REQUEST, &frame, NULL),
                             PEN_POST_DONE);
        assert_int_equal(post(&w->ranks[0], 1, PEN_LANE_REQUEST, 16, 0), PEN_POST_DONE);
        (void)drain_all(w, PEN_LANES_ALL);
        assert_int_equal(w->ranks[0].lost, 1);
        assert_int_equal(w->ranks[0].got[PEN_LANE_REQUEST], 0);
        assert_int_equal(post(&w->ranks[0], 1, PEN_LANE_REQUEST, 16, 0), PEN_POST_FAILED);
        assert_int_equal(post(&w->ranks[0], 0, PEN_LANE_REQUEST, 16, 0), PEN_POST_DONE);
        close_world(w);
    }
}

static pen_post post_head_behind(pen_link *link, pen_peer to, pen_lane lane, const void *head,
                                 uint32_t head_len)
{
    const pen_frame frame = { head, NULL, head_len, 0 };
    return link->ops->post(link, to, lane, &frame, NULL);
}

/* A frame behind puts takes credits as any frame does. */
static void a_frame_behind_a_put_is_counted(void **state)
{
    (void)state;
    static const pen_behind_ops behind = { post_head_behind };
    world w = { .size = 1 };
    test_rank *rank = &w.ranks[0];
    bounded_config config = bounded_defaults;
    pen_link *twin = NULL;
    unsigned char blob[sizeof(pen_link *)];
    uint64_t head[2] = { 0, sizeof head };
    config.counts = true;
    assert_int_equal(open_rank(&w, 0, &config), PEN_OK);
    assert_null(rank->link->behind);
    rank->link->ops->close(rank->link);
    rank->lent = rank->host;
    pen_link_params params = { .host = &rank->lent, .self = 0, .peers = 1, .config = &config };
    assert_int_equal(pen_conduit_bounded.open(&params, &twin), PEN_OK);
    twin->behind = &behind;
    assert_int_equal(pen_window_open(twin, &rank->lent, &rank->host, 1, PEN_ALONE, &rank->link),
                     PEN_OK);
    assert_int_equal(rank->link->ops->address(rank->link, blob), PEN_OK);
    assert_int_equal(rank->link->ops->connect(rank->link, blob, 1), PEN_OK);
    uint32_t count = 0;
    while (rank->link->behind->post(rank->link, 0, PEN_LANE_REQUEST, head, sizeof head) ==
           PEN_POST_DONE)
        assert_true(++count < 1000);
    assert_int_equal(bounded_overruns(twin), 0);
    (void)drain_all(&w, PEN_LANES_ALL);
    assert_int_equal(rank->got[PEN_LANE_REQUEST], count);
    rank->link->ops->close(rank->link);
}

static void counters_tell_what_is_in_hand(void **state)
{
    (void)state;
    pen_peer_counters counts;
    world *w = open_world(2, &bounded_defaults, 1);
    pen_link *link = w->ranks[0].link;
    assert_true(link->count->peer(link, 1, &counts));
    uint64_t quota = counts.quota;
    assert_int_equal(counts.hand, quota);
    uint32_t count = fill(w, 0, 1, PEN_LANE_REQUEST, 0);
    assert_true(link->count->peer(link, 1, &counts));
    assert_int_equal(counts.packets_sent, count);
    assert_int_equal(counts.hand, quota - count);
    assert_int_equal(counts.stalls, 1);
    (void)drain_all(w, PEN_LANES_ALL);
    assert_true(link->count->peer(link, 1, &counts));
    assert_true(counts.hand > quota - count / 2);
    assert_false(link->count->peer(link, 2, &counts));
    close_world(w);
}

static void an_inbox_that_is_too_short_is_refused(void **state)
{
    (void)state;
    world w = { .size = 4 };
    bounded_config config = bounded_defaults;
    config.units = 8; /* three lanes need nine */
    assert_int_equal(open_rank(&w, 0, &config), PEN_ERR_UNUSABLE);
    w.ranks[0].inner->ops->close(w.ranks[0].inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_world_overruns_an_inbox_or_waits_without_end),
        cmocka_unit_test(a_flood_to_a_rank_that_does_not_poll_is_bounded),
        cmocka_unit_test(room_is_granted_after_the_frame_was_read),
        cmocka_unit_test(a_lane_flows_while_the_lanes_before_it_are_full),
        cmocka_unit_test(grants_of_a_refused_frame_are_not_forgotten),
        cmocka_unit_test(control_that_nobody_asks_for_is_kept),
        cmocka_unit_test(a_peer_that_breaks_the_rules_is_lost),
        cmocka_unit_test(a_frame_behind_a_put_is_counted),
        cmocka_unit_test(counters_tell_what_is_in_hand),
        cmocka_unit_test(an_inbox_that_is_too_short_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
