/* SPDX-License-Identifier: BSD-3-Clause */
/* window_loan_test.c: a window that lends: peers that stall borrow from the reserve and from peers
 * that are idle, the longest frame always passes, and lies about loans are found. */
#include "link/window.h"

#include "unit/link/window_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static pen_peer_counters counts_of(const world *w, pen_peer self, pen_peer peer)
{
    pen_peer_counters counts;
    pen_link *link = w->ranks[self].link;
    assert_true(link->count->peer(link, peer, &counts));
    return counts;
}

/* Polls until rank 0 has answered all that came. */
static void settle(world *w)
{
    bool is_done = false;
    for (unsigned round = 0; round < 1000 && !is_done; round++) {
        for (pen_peer self = 0; self < w->size; self++)
            (void)w->ranks[self].link->ops->poll(w->ranks[self].link, PEN_LANES_ALL, 1000);
        is_done = send_backlog(&w->ranks[0]) && round > 3;
    }
    assert_true(is_done);
}

/* Rank `from` sends as fast as rank 0 reads, which answers each request. */
static void flood(world *w, pen_peer from, uint32_t frames)
{
    w->answers = true;
    w->body_max = 0;
    for (uint32_t sent = 0; sent < frames;) {
        sent += fill(w, from, 0, PEN_LANE_REQUEST, 0);
        settle(w);
    }
}

static world *open_lending_world(pen_peer size, uint32_t units)
{
    bounded_config config = bounded_defaults;
    config.counts = true;
    config.lends = true;
    config.units = units;
    return open_world(size, &config, 1);
}

/* The sum of the quotas that rank 0 gives. */
static uint64_t given_by_0(const world *w)
{
    uint64_t sum = 0;
    for (pen_peer peer = 0; peer < w->size; peer++)
        sum += counts_of(w, 0, peer).quota_given;
    return sum;
}

static void a_peer_that_stalls_borrows(void **state)
{
    (void)state;
    world *w = open_lending_world(4, 400);
    const uint64_t start = counts_of(w, 1, 0).quota, idle = counts_of(w, 2, 0).quota;
    flood(w, 1, 60000);
    const uint64_t now = counts_of(w, 1, 0).quota;
    assert_true(now >= start + 60);
    assert_int_equal(counts_of(w, 2, 0).quota, idle);
    /* Both sides agree about what was lent. */
    assert_int_equal(now, counts_of(w, 0, 1).quota_given);
    close_world(w);
}

/* The reserve is small, so rank 2 gets what rank 1 needs no longer. Rank 1 learns from rank 0 that
 * epochs have ended; otherwise it would keep what it once used. */
static void credits_move_from_a_peer_that_is_idle(void **state)
{
    (void)state;
    world *w = open_lending_world(3, 200);
    const uint64_t start = counts_of(w, 1, 0).quota;
    flood(w, 1, 100000);
    const uint64_t before = counts_of(w, 1, 0).quota, sum = given_by_0(w);
    assert_true(before > start + 30);
    for (unsigned i = 0; i < 40; i++) { /* rank 1 sends little, so that it hears of epochs */
        flood(w, 2, 2000);
        assert_int_equal(post(&w->ranks[1], 0, PEN_LANE_REQUEST, 16, 0), PEN_POST_DONE);
        (void)drain_all(w, PEN_LANES_ALL);
    }
    const pen_peer_counters idle = counts_of(w, 1, 0), busy = counts_of(w, 2, 0);
    assert_true(idle.quota < before);
    assert_true(busy.quota > start + 30);
    assert_true(idle.recalls_answered > 0);
    assert_true(counts_of(w, 0, 1).recalls >= idle.recalls_answered);
    assert_true(given_by_0(w) <= sum + 400); /* the reserve */
    close_world(w);
}

/* Peers give nothing back while they stall. */
static void two_busy_peers_share_without_end(void **state)
{
    (void)state;
    world *w = open_lending_world(3, 200);
    for (unsigned i = 0; i < 200; i++) {
        flood(w, 1, 200);
        flood(w, 2, 200);
    }
    assert_true(counts_of(w, 1, 0).stalls > 0 && counts_of(w, 2, 0).stalls > 0);
    for (pen_peer peer = 1; peer < 3; peer++)
        assert_int_equal(counts_of(w, peer, 0).quota, counts_of(w, 0, peer).quota_given);
    close_world(w);
}

/* After any loans, the longest frame still passes in each lane. */
static void the_longest_frame_passes_after_loans(void **state)
{
    (void)state;
    world *w = open_lending_world(3, 200);
    const uint32_t longest = w->body_max;
    flood(w, 1, 50000);
    flood(w, 2, 50000);
    w->answers = false;
    for (unsigned i = 0; i < 300; i++) {
        const pen_peer from = 1 + i % 2;
        const pen_lane lane = (pen_lane)(i % PEN_LANES);
        for (unsigned k = 0; k < i % 37; k++)
            (void)post(&w->ranks[from], 0, lane, 16, 0);
        (void)drain_all(w, PEN_LANES_ALL);
        assert_int_equal(post(&w->ranks[from], 0, lane, 104, longest), PEN_POST_DONE);
        (void)drain_all(w, PEN_LANES_ALL);
    }
    close_world(w);
}

/* Answers without a recall, recalls that ask for nothing, and loans beyond all room. */
static void a_peer_that_lies_about_loans_is_lost(void **state)
{
    (void)state;
    static const struct {
        unsigned char word[PEN_WINDOW_WORD_LEN];
        bool is_lost;
    } notes[] = {
        { { 4, 1, 1, 0, 0, 0, 0, 0 }, true },         /* an answer */
        { { 4, 2, 0, 0, 0, 0, 0, 0 }, true },         /* an answer of nothing */
        { { 3, 1, 0, 0, 0, 0, 0, 0 }, true },         /* a recall of nothing */
        { { 3, 4, 0, 0, 0, 0, 1, 0 }, true },         /* CONTROL has no loans */
        { { 2 | 0x80, 0, 0, 0, 0, 0, 0, 0 }, true },  /* an epoch of no lane */
        { { 2, 0, 0xff, 0xff, 0, 0, 0, 0 }, true },   /* 511 credits that are not there */
        { { 5, 0, 0, 0, 0, 0, 0, 0 }, true },         /* no kind */
        { { 3, 1, 1, 0, 0, 0, 0, 0 }, false },        /* a recall */
        { { 2 | 0x10, 0, 0, 0, 0, 0, 0, 0 }, false }, /* an epoch */
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        world *w = open_lending_world(2, 200);
        pen_link *inner = w->ranks[1].inner;
        uint64_t word;
        memcpy(&word, notes[i].word, sizeof word);
        const pen_frame note = { &word, NULL, sizeof word, 0 };
        assert_int_equal(inner->ops->post(inner, 0, PEN_LANE_CONTROL, &note, NULL), PEN_POST_DONE);
        (void)w->ranks[0].link->ops->poll(w->ranks[0].link, PEN_LANES_ALL, 64);
        assert_int_equal(w->ranks[0].lost, notes[i].is_lost);
        close_world(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_that_stalls_borrows),
        cmocka_unit_test(credits_move_from_a_peer_that_is_idle),
        cmocka_unit_test(two_busy_peers_share_without_end),
        cmocka_unit_test(the_longest_frame_passes_after_loans),
        cmocka_unit_test(a_peer_that_lies_about_loans_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
